import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import "./BoardScreen.tsx"; // Before the tests: as a chunk it may take longer than a test has.
import { openApp } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";

it("tells on a card how far its race is, who won, and that one waits for the person", async () => {
  openApp(createSampleHost("races"), "#/board/p1");
  expect((await screen.findByLabelText("Race: 3 of 6 entries finished")).textContent).toBe("3/6");
  expect(screen.getByLabelText("Race: cheap won").textContent).toBe("cheap");
  expect(screen.getByLabelText("Race: none of 2 entries passed")).toBeTruthy();
  expect(screen.getByText("Racing")).toBeTruthy();
  expect(screen.getByText("Choose the winner")).toBeTruthy();
  expect(screen.getByText("No race entry passed")).toBeTruthy();
});

it("says the whole of a winner's name that is too long for its card, and marks it by the crown alone", async () => {
  const host = createSampleHost("races");
  const won = host.tasks.find(({ raced }) => raced?.winner === "cheap");
  if (!won?.raced) throw new Error("no race was won");
  const winner = "a-strategy-with-a-name-that-nobody-would-read-on-a-card-".repeat(5);
  host.change(won.id, { raced: { ...won.raced, winner } });
  openApp(host, "#/board/p1");
  const mark = await screen.findByLabelText(`Race: ${winner} won`);
  expect(mark.title).toBe(`Race: ${winner} won`);
  // What does not fit goes to a line of its own, which the mark hides; the crown stays.
  const css = readFileSync(resolve(import.meta.dirname, "Card.module.css"), "utf8");
  const rule = /\.numbers > \.race \{[^}]*/.exec(css)?.[0] ?? "";
  for (const part of ["flex-wrap: wrap", "height: 1lh", "overflow: hidden"]) {
    expect(rule).toContain(part);
  }
  expect(mark.querySelector("svg")).toBeTruthy();
});

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

import { screen, within } from "@testing-library/react";
import { expect, it } from "vitest";
// Loaded before the tests: as a chunk it may take longer than a test has.
import "./BoardScreen.tsx";
import { openApp } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";

const card = (number: number) => screen.findByRole("button", { name: new RegExp(`^#${number} `) });

it("a card names the issue it was imported from, and says when it differs", async () => {
  openApp(createSampleHost("issues"), "#/board/p1");
  const differs = await card(2);
  expect(
    within(differs).getByTitle("Imported from GitHub octo/app#241, and differs from it"),
  ).toBeTruthy();
  expect(differs.getAttribute("aria-label")).toMatch(/, differs from its issue$/);
  const file = await card(4);
  const mark = within(file).getByTitle("Imported from plan.md: Document the webhook signature");
  expect(mark.hasAttribute("data-differs")).toBe(false);
  expect(within(await card(7)).queryByTitle(/Imported from/)).toBeNull();
});

it("a card says that only a person starts its task", async () => {
  openApp(createSampleHost("issues"), "#/board/p1");
  const waiting = await card(3);
  expect(within(waiting).getByText("Start required")).toBeTruthy();
  expect(waiting.getAttribute("data-pressing")).toBe("warning");
});

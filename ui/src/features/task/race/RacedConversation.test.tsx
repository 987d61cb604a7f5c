import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import "#ui/app/TaskPage.tsx"; // Before the tests: as a chunk it may take longer than a test has.
import "../TaskPanel.tsx";
import { openApp } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";

const open = (number: number) =>
  openApp(createSampleHost("races"), `#/task/p1/${number}?tab=conversation`);

it("shows the winner's session in the conversation of a task whose race is decided", async () => {
  open(4);
  const entry = await screen.findByRole("region", { name: "Entry cheap" });
  expect(entry.textContent).toContain("Winner's session: cheap");
  await within(entry).findByRole("log", { name: "Conversation" });
  expect(screen.queryByText("Work has not started")).toBeNull();
});

it.each([
  [1, "Race in progress"],
  [3, "No winner yet"],
])("leads to the race while task %d has no winner", async (number, title) => {
  open(number);
  await screen.findByText(title);
  const [button] = await screen.findAllByRole("button", { name: "Open race" });
  if (button) await userEvent.click(button);
  expect(await screen.findByRole("tab", { name: "Race", selected: true })).toBeTruthy();
});

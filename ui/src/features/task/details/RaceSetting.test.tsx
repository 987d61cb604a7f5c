import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import "#ui/app/TaskPage.tsx"; // Before the tests: as a chunk it may take longer than a test has.
import "../TaskPanel.tsx";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import { sampleLoopWithoutRaces } from "#ui/test/sampleLoop.ts";

const mark = () => screen.findByRole("switch", { name: /Several strategies do the same work/ });

async function details(number: number) {
  const host = createSampleHost("races");
  const { container } = openApp(host, `#/task/p1/${number}`);
  await screen.findByLabelText("Details", { selector: "section" });
  return { host, container };
}

it("marks a task for a race, after saying what it is likely to cost", async () => {
  const { host } = await details(6);
  host.answer("task_update", () => host.change("t6", { race: { enabled: true } }));
  expect(await screen.findByText("Expected cost: about $0.07 in total")).toBeTruthy();
  await userEvent.click(await mark());
  await waitFor(() =>
    expect(inputsOf(host, "task_update")).toMatchObject([
      { task_id: "t6", race: { enabled: true } },
    ]),
  );
  expect(await screen.findByRole("tab", { name: "Race" })).toBeTruthy();
});

it("gives the task strategies of its own, and limits where it says any", async () => {
  const { host, container } = await details(6);
  host.answer("task_update", () => host.change("t6", { race: { enabled: true } }));
  await userEvent.click(await mark());
  await userEvent.click(await screen.findByRole("button", { name: "Configure…" }));
  const dialog = await screen.findByRole("dialog", { name: "Race for this task" });
  await userEvent.click(within(dialog).getByRole("checkbox", { name: /Custom strategies/ }));
  await userEvent.click(within(dialog).getByRole("button", { name: "Add strategy" }));
  const name = within(dialog).getByRole("textbox", { name: "Name" });
  await userEvent.clear(name);
  await userEvent.type(name, "careful");
  await userEvent.type(within(dialog).getByRole("textbox", { name: "Model" }), "opus");
  await userEvent.type(
    within(dialog).getByRole("textbox", { name: "Extra instructions for careful" }),
    "Tests first.",
  );
  await userEvent.type(within(dialog).getByRole("textbox", { name: "Time limit" }), "600");
  expect(await violationsIn(container)).toEqual([]);
  const careful = { name: "careful", agent_id: "a1", model: "opus", prompt_suffix: "Tests first." };
  host.answer("task_update", () =>
    host.change("t6", { race: { enabled: true, strategies: [careful], timeoutSec: 600 } }),
  );
  await userEvent.click(within(dialog).getByRole("button", { name: "Save" }));
  await waitFor(() => expect(inputsOf(host, "task_update")).toHaveLength(2));
  expect(inputsOf(host, "task_update")[1]).toMatchObject({
    race: {
      enabled: true,
      strategies: [careful],
      timeoutSec: 600,
    },
  });
  expect(await screen.findByText("Custom")).toBeTruthy();
});

it("leads to the settings where races are off", async () => {
  const host = createSampleHost("races");
  host.answer("project_inner_loop", sampleLoopWithoutRaces);
  openApp(host, "#/task/p1/5?tab=race");
  const links = () => screen.getAllByRole("link", { name: "Turn on in settings" });
  // In the tab, and beside the switch.
  await waitFor(() =>
    expect(links().map((link) => link.getAttribute("href"))).toEqual([
      "#/settings/project/p1?tab=innerLoop",
      "#/settings/project/p1?tab=innerLoop",
    ]),
  );
});

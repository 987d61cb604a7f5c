import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import "#ui/app/TaskPage.tsx"; // Before the tests: as a chunk it may take longer than a test has.
import "../TaskPanel.tsx";
import { pageOf, refuseInput } from "#ui/test/answers.ts";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { sampleAgent } from "#ui/test/sample.ts";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import { sampleSettings } from "#ui/test/sampleSettings.ts";

async function details(
  number: number,
  prepare = (_host: ReturnType<typeof createSampleHost>) => {},
) {
  const host = createSampleHost("machines");
  prepare(host);
  const { container } = openApp(host, `#/task/p1/${number}`);
  const section = await screen.findByLabelText("Details", { selector: "section" });
  const heading = await within(section).findByRole("heading", { name: /^Runs on/ });
  return { host, container, text: () => heading.parentElement?.textContent };
}
const edit = async () => {
  await userEvent.click(await screen.findByRole("button", { name: "Edit where it runs" }));
  return screen.findByRole("dialog", { name: "Where this task runs" });
};

it("is the task's own, and is left to agent and project again", async () => {
  const { host, container, text } = await details(4);
  expect(text()).toBe("Runs onCustomgpu");
  const dialog = await edit();
  await within(dialog).findByText("gpu-box fits, but has no free slot.");
  expect(await violationsIn(container)).toEqual([]);
  await userEvent.click(within(dialog).getByRole("combobox", { name: "Runs on" }));
  await userEvent.click(await screen.findByRole("option", { name: "Agent or project setting" }));
  host.answer("task_update", () => host.change("t4", { machines: null }));
  await userEvent.click(within(dialog).getByRole("button", { name: "Save" }));
  await waitFor(() => expect(text()).toBe("Runs onFrom projectThis computer"));
  expect(inputsOf(host, "task_update")).toEqual([{ task_id: "t4", version: 1, machines: null }]);
  expect(screen.queryByRole("dialog")).toBeNull();
});

it("comes from the agent before the project", async () => {
  const settings = sampleSettings({ machines: ["arm"] });
  const { text } = await details(7, (host) => host.answer("project_settings_get", settings));
  await waitFor(() => expect(text()).toBe("Runs onFrom projectarm"));
});

it("says which labels and which machine an agent leads to", async () => {
  const agent = sampleAgent({ id: "a2", config: { machines: ["arm"] } });
  const { text } = await details(7, (host) => host.answer("agent_list", pageOf([agent])));
  await waitFor(() => expect(text()).toBe("Runs onFrom agentarm"));
  await within(await edit()).findByText("arm: attic fits, but is not reachable.");
});

it("says that a task stays where its worktree is, and what is wrong with labels at the field", async () => {
  const { host } = await details(3);
  const dialog = await edit();
  await within(dialog).findByText(/^The worktree is on attic and stays there/);
  host.answer("task_update", () =>
    refuseInput("failed to change the task", "machines[0]", "must be a label"),
  );
  await userEvent.click(within(dialog).getByRole("button", { name: "Save" }));
  await within(dialog).findByText("must be a label");
  expect(within(dialog).queryByText("Could not save")).toBeNull();
});

it("says where it would run and why, machine by machine", async () => {
  const reason = "waits for gpu-box: is at its limit of runs";
  const machines = [
    { machine_id: "m1", name: "gpu-box", fits: false, reason: "is at its limit of runs" },
    { machine_id: "m2", name: "attic", fits: false, reason: "lacks the label gpu" },
  ];
  const placed = { task_id: "t4", verdict: "waits" as const, machine_id: null, machine: null };
  const { container } = await details(4, (host) =>
    host.answer("task_placement_get", { ...placed, reason, waiting: null, machines }),
  );
  await screen.findByText("Waits for gpu-box: is at its limit of runs.");
  const list = await screen.findByRole("list", { name: "Machines" });
  expect([...list.children].map((line) => line.textContent)).toEqual([
    "gpu-box: is at its limit of runs",
    "attic: lacks the label gpu",
  ]);
  expect(await violationsIn(container)).toEqual([]);
});

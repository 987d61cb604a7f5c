import { screen, within } from "@testing-library/react";
import { expect, it } from "vitest";
import type { State, WorkflowView } from "#ui/api/generated.ts";
import { sampleWorkflow, sampleWorkflowView } from "#ui/test/sample.ts";
import { someTask } from "../testing/fixtures.ts";
import { layOut, show, violations } from "../testing/show.tsx";

layOut();

const qa: State = {
  name: "qa",
  display_name: "QA",
  kind: "custom",
  column: "QA",
  triggers: { reject: { to: "in_progress" }, accept: { to: "merging" } },
};
const withQa = (state: State, to: string[]): WorkflowView => ({
  ...sampleWorkflowView,
  workflow: { ...sampleWorkflow, states: [...sampleWorkflow.states, state] },
  moves: [...sampleWorkflowView.moves, { from: "qa", to }],
});
const answers = (view: WorkflowView) => ({
  project_workflow_get: () => view,
  task_transition: () => ({ task: someTask(), review: null, notice: null }),
});

it("says what comes next in a state of the project's own, and does it", async () => {
  const view = withQa(qa, ["merging", "in_progress"]);
  const { sent, user, container } = show({ task: someTask({ status: "qa" }) }, answers(view));
  const banner = await screen.findByRole("status", { name: "QA: waiting for you" });
  expect(
    within(banner)
      .getAllByRole("button")
      .map(({ textContent }) => textContent),
  ).toEqual(["Move to Merging", "Move to In progress"]);
  expect(await violations(container)).toEqual([]);
  await user.click(within(banner).getByRole("button", { name: "Move to Merging" }));
  expect(sent("task_transition")).toEqual([
    { task_id: "t1", to: "merging", version: 7, wait: "none" },
  ]);
});

it("says it of a gate without anything automatic, and not of one with checks", async () => {
  const gate: State = { ...qa, kind: "gate" };
  const shown = show({ task: someTask({ status: "qa" }) }, answers(withQa(gate, ["merging"])));
  await screen.findByText("QA: waiting for you");
  shown.unmount();
  const checked: State = { ...gate, hooks: { before_enter: [{ action: "run_ci_steps" }] } };
  show({ task: someTask({ status: "qa" }) }, answers(withQa(checked, ["merging"])));
  await screen.findByRole("button", { name: "State: QA" });
  expect(screen.queryByText("QA: waiting for you")).toBeNull();
});

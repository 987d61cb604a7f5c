import { expect, it } from "vitest";
import type { ProjectSettings, Workflow } from "#ui/api/generated.ts";
import { sampleWorkflow } from "#ui/test/sample.ts";
import { asksForLessons } from "./asks.ts";

const settings = (hooks: unknown[]) =>
  ({ lifecycle_hooks: { on_task_done: hooks } }) as unknown as ProjectSettings;
const inLoop = (enabled: boolean) =>
  ({ innerLoop: { knowledge: { enabled } } }) as unknown as ProjectSettings;
const plugin = { type: "plugin", name: "knowledge-capture" };
const withAction = {
  ...sampleWorkflow,
  states: sampleWorkflow.states.map((state, index) =>
    index === 0 ? { ...state, hooks: { on_enter: [{ action: "knowledge-capture" }] } } : state,
  ),
} as unknown as Workflow;

it.each([
  ["nothing", settings([]), sampleWorkflow, false],
  ["another plugin", settings([{ ...plugin, name: "run_merge" }]), sampleWorkflow, false],
  ["a plugin that is off", settings([{ ...plugin, enabled: false }]), sampleWorkflow, false],
  ["a plugin", settings([plugin]), sampleWorkflow, true],
  ["an action", settings([]), withAction, true],
  ["the inner loop", inLoop(true), sampleWorkflow, true],
  ["an inner loop that is off", inLoop(false), sampleWorkflow, false],
])("asks by %s", (_, own, workflow, asks) => {
  expect(asksForLessons(own, workflow)).toBe(asks);
});

import { expect, it } from "vitest";
import { sampleTask, sampleWorkflowView, sampleWorkspace } from "#ui/test/sample.ts";
import { closedBecause, taskActionIds, type TaskActionId } from "./taskActions.ts";

const view = sampleWorkflowView;
const held = { coder: { type: "agent" as const, id: "a1" } };
const live = {
  execution_id: "e1",
  agent_id: "a1",
  role: "coder",
  activity: "",
  started_at: "2030-01-01T12:00:00Z",
};
const todo = sampleTask({ id: "a", status: "todo", roles: held, workspace: sampleWorkspace() });
const done = sampleTask({ id: "b", status: "done", live: null, workspace: null });
const busy = sampleTask({ id: "c", status: "in_progress", live });

it.each<[TaskActionId, (typeof todo)[], ReturnType<typeof closedBecause>]>([
  ["start", [done], "noStart"],
  ["start", [done, todo], null],
  ["stop", [done, todo], "noStop"],
  ["stop", [done, busy], null],
  ["move", [todo], null],
  ["assign", [todo, done], null],
  ["link", [todo, done], null],
  ["editor", [todo], null],
  ["editor", [done], "noWorktree"],
  ["editor", [todo, done], "oneEditor"],
  ["delete", [done], null],
  ["delete", [done, todo], "notClosed"],
])("closes %s to tasks of which none can take it", (id, tasks, reason) => {
  expect(closedBecause(id, tasks, view)).toBe(reason);
});

it("closes moving to tasks without a common state", () => {
  const moves = [
    { from: "todo", to: ["in_progress"] },
    { from: "done", to: ["review"] },
  ];
  expect(closedBecause("move", [todo, done], { ...view, moves })).toBe("noMove");
  expect(closedBecause("assign", [todo], undefined)).toBe("noRole");
});

it("opens moving to a state that one of the tasks is in already", () => {
  const moves = [{ from: "done", to: ["todo"] }];
  expect(closedBecause("move", [todo, done], { ...view, moves })).toBeNull();
  expect(closedBecause("move", [todo], { ...view, moves })).toBe("noMove");
});

it.each(taskActionIds)("closes %s to no task at all", (id) => {
  expect(closedBecause(id, [], view)).toBe("noTask");
});

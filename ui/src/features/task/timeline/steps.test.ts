import { describe, expect, it } from "vitest";
import type { Transition, TransitionStep } from "#ui/api/generated.ts";
import { t } from "#ui/i18n/index.ts";
import { someTransition } from "../testing/fixtures.ts";
import { actionText, chainsOf, hookOf, partSteps } from "./steps.ts";

const step = (action: string, change: Partial<TransitionStep> = {}): TransitionStep => ({
  phase: "on_enter",
  action,
  status: "done",
  outcome: "ok",
  reason: null,
  duration_ms: 1,
  log_id: null,
  message: null,
  ...change,
});

describe("a step in words", () => {
  it.each([
    ["before_work[0]", "Hook 1 before work"],
    ["on_task_done[2]", "Hook 3 on done"],
    ["prepare_workspace", "Prepare the worktree"],
    ["knowledge-inject", "Add lessons to the prompt"],
    ["something_new", "something new"],
  ])("%s is “%s”", (action, text) => {
    expect(actionText(step(action), t)).toBe(text);
  });

  it("knows hooks from the engine's own work", () => {
    expect(hookOf(step("before_work[1]"))).toEqual({ event: "before_work", index: 1 });
    expect(hookOf(step("run_before_work_hooks"))).toBeNull();
  });
});

it("shows a hook that was skipped, and folds other skipped steps", () => {
  const steps = [
    step("before_work[0]", { outcome: "skipped", reason: "skipped once by you" }),
    step("run_merge", { outcome: "skipped" }),
    step("admit"),
  ];
  const { ran, skipped } = partSteps(steps);
  expect(ran.map(({ action }) => action)).toEqual(["before_work[0]", "admit"]);
  expect(skipped.map(({ action }) => action)).toEqual(["run_merge"]);
});

describe("chains", () => {
  const move = (minute: number, change: Partial<Transition>) =>
    someTransition({
      id: `x${minute}`,
      at: new Date(Date.UTC(2030, 0, 1, 12, minute)).toISOString(),
      ...change,
    });
  const sends = [step("auto_cascade_on_review_pass", { outcome: "cascade" })];
  const ids = (moves: Transition[]) => chainsOf(moves).map(({ move, depth }) => [move.id, depth]);

  it("put what a move led to below it, and the newest chain first", () => {
    expect(
      ids([
        move(3, { from: "merging", to: "done", actor: "system:merge" }),
        move(0, { from: "todo", to: "in_progress", actor: "user:board" }),
        move(2, { from: "review", to: "merging", actor: "system:review", steps: sends }),
        move(1, { from: "in_progress", to: "review", actor: "agent:a1", steps: sends }),
      ]),
    ).toEqual([
      ["x1", 0],
      ["x2", 1],
      ["x3", 2],
      ["x0", 0],
    ]);
  });

  it("are broken by a person, and by a move that nothing sent on", () => {
    expect(
      ids([
        move(0, { from: "in_progress", to: "review", steps: sends }),
        move(1, { from: "review", to: "in_progress", actor: "user:board" }),
        move(2, { from: "in_progress", to: "blocked", actor: "system:recovery" }),
      ]),
    ).toEqual([
      ["x2", 0],
      ["x1", 0],
      ["x0", 0],
    ]);
  });
});

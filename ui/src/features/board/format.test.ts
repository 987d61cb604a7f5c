import { expect, it } from "vitest";
import type { Task, Waiting } from "#ui/api/generated.ts";
import { statesOf } from "#ui/domain/useStates.ts";
import { sampleTask, sampleWorkflowView } from "#ui/test/sample.ts";
import { agentOf, count, isBusy, kindOf, lineOf, lineTone, money, type Line } from "./format.ts";

const states = statesOf(sampleWorkflowView);
const live = {
  execution_id: "e1",
  agent_id: "a1",
  role: "coder",
  activity: "cargo test",
  started_at: "2030-01-15T11:00:00Z",
};
const waiting: Waiting = { reason: "agent_busy", until: null, files: [], message: "Codex is busy" };
const annotation = {
  type: "executor_failed",
  from_state: "in_progress",
  message: "The agent crashed",
  details: null,
  execution_id: null,
  evidence: null,
  at: "2030-01-15T11:00:00Z",
} as const;
const awaiting = {
  attempt_number: 1,
  status: "awaiting_human",
  verdict: null,
  reviewed_commit: null,
} as const;

it.each<[number, string]>([
  [0, "$0.00"],
  [1, "<$0.01"],
  [9_999, "<$0.01"],
  [420_000, "$0.42"],
  [12_345_678, "$12.35"],
])("reads %d micro-dollars as %s", (micro, text) => {
  expect(money(micro, "en-US")).toBe(text);
});

it("counts lines briefly", () => {
  expect([7, 999, 1_234, 58_000].map((lines) => count(lines, "en-US"))).toEqual([
    "7",
    "999",
    "1.2K",
    "58K",
  ]);
});

it.each<[Partial<Task>, Line["kind"], string]>([
  [{ status: "todo" }, "none", "initial"],
  [{ status: "in_progress", live }, "live", "active"],
  [{ status: "in_progress", waiting }, "waiting", "waiting"],
  [
    {
      status: "in_progress",
      waiting: { ...waiting, reason: "undo", until: "2030-01-15T12:00:05Z" },
    },
    "undo",
    "waiting",
  ],
  [{ status: "blocked", error_annotation: annotation }, "trouble", "blocked"],
  [{ status: "merge_failed", error_annotation: annotation }, "trouble", "failed"],
  [{ status: "review", review: awaiting }, "awaiting", "awaiting"],
  [{ status: "review", review: { ...awaiting, status: "running" } }, "checks", "gate"],
  [{ status: "todo", review: awaiting }, "none", "initial"],
  [{ status: "todo", held: true }, "held", "initial"],
  [{ status: "done" }, "none", "done"],
  [{ status: "cancelled" }, "none", "cancelled"],
])("%j says %s with the glyph %s", (change, kind, glyph) => {
  const task = sampleTask(change);
  const state = states.get(task.status);
  expect(lineOf(task, state).kind).toBe(kind);
  expect(kindOf(task, state)).toBe(glyph);
});

it("shows who works, else who is to", () => {
  expect(agentOf(sampleTask({ live }), "coder")).toBe("a1");
  expect(agentOf(sampleTask({ roles: { coder: { type: "agent", id: "a2" } } }), "coder")).toBe(
    "a2",
  );
  expect(agentOf(sampleTask({ roles: { coder: { type: "user", id: null } } }), "coder")).toBe(
    "user",
  );
  expect(agentOf(sampleTask(), "coder")).toBeNull();
});

it("knows what leaving a state would stop", () => {
  expect(isBusy(sampleTask())).toBe(false);
  expect(isBusy(sampleTask({ live }))).toBe(true);
  expect(isBusy(sampleTask({ review: { ...awaiting, status: "running" } }))).toBe(true);
});

it("says what an agent asks before what it does", () => {
  const line = lineOf(
    sampleTask({ status: "in_progress", live }),
    states.get("in_progress"),
    "rm?",
  );
  expect(line).toEqual({ kind: "asks", title: "rm?" });
  expect(lineTone(line)).toBe("warning");
});

it("stands out where a race waits for the person", () => {
  const line = (reason: Waiting["reason"]) =>
    lineTone(lineOf(sampleTask({ waiting: { ...waiting, reason } }), states.get("in_progress")));
  expect([line("race_running"), line("race_crown")]).toEqual(["neutral", "warning"]);
  const waiter = sampleTask({
    status: "in_progress",
    waiting: { ...waiting, reason: "race_crown" },
  });
  expect(kindOf(waiter, states.get("in_progress"))).toBe("awaiting");
});

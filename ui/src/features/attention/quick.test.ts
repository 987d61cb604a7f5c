import { expect, it } from "vitest";
import type { Offer, State, Task } from "#ui/api/generated.ts";
import { sampleTask, sampleWorkflow, sampleWorkflowView } from "#ui/test/sample.ts";
import { sampleApproval } from "#ui/test/sampleRuns.ts";
import { awaitsStep, evidenceHead, inboxOf, offersFor, stepsOf } from "./quick.ts";

const offer = (verb: Offer["verb"], fields: string[] = []): Offer => ({
  verb,
  label: verb,
  fields,
  why: "",
});
const annotation = (evidence: NonNullable<Task["error_annotation"]>["evidence"]) => ({
  type: "executor_failed" as const,
  from_state: "in_progress",
  message: "It crashed",
  details: null,
  execution_id: null,
  evidence,
  at: "2030-01-15T11:00:00Z",
});
const review = sampleWorkflow.states.find(({ name }) => name === "review");
const awaiting = {
  attempt_number: 1,
  status: "awaiting_human",
  verdict: null,
  reviewed_commit: null,
} as const;
const names = (task: Task) =>
  offersFor(task, review).map((quick) =>
    quick.kind === "approve" ? "approval" : quick.offer.verb,
  );

it("offers what needs no words and does no harm", () => {
  const offers = [
    offer("retry"),
    offer("send_back", ["reason"]),
    offer("cancel"),
    offer("reset_workspace"),
    offer("restart"),
  ];
  expect(names(sampleTask({ offers, error_annotation: annotation(null) }))).toEqual([
    "retry",
    "restart",
  ]);
});

it("offers the approval where a person is asked for one, not where something is broken", () => {
  expect(names(sampleTask({ status: "review", review: awaiting }))).toEqual(["approval"]);
  expect(
    names(sampleTask({ status: "review", review: awaiting, error_annotation: annotation(null) })),
  ).toEqual([]);
});

it("shows the command, its exit code and the end of what it said", () => {
  const evidence = { command: "npm test", exit_code: 1, output: "a\nb\nc\nd\n", log_id: null };
  expect(evidenceHead(sampleTask({ error_annotation: annotation(evidence) }))).toBe(
    "$ npm test  → 1\nb\nc\nd",
  );
  expect(evidenceHead(sampleTask({ error_annotation: annotation(null) }))).toBeNull();
  const waiting = {
    reason: "target_checkout_dirty" as const,
    until: null,
    files: ["a.rs", "b.rs"],
    message: "Local changes",
  };
  expect(evidenceHead(sampleTask({ waiting }))).toBe("a.rs\nb.rs");
});

it("lets the question of a race's entry stand for the raced task", () => {
  const raced = sampleTask({ id: "t1" });
  const asked = sampleApproval({ task_id: "t1-cheap", raced: { task_id: "t1", name: "cheap" } });
  expect(inboxOf([raced], [asked]).map(({ kind }) => kind)).toEqual(["ask"]);
});

it("lets questions stand for a task that waits for nothing else", () => {
  // A message that waits for the end of the run needs nobody.
  const asks = sampleTask({
    id: "t1",
    status_since: "2030-01-01T00:00:00Z",
    waiting: { reason: "workspace_locked", until: null, files: [], message: "It waits" },
  });
  const broken = sampleTask({
    id: "t2",
    status_since: "2030-01-03T00:00:00Z",
    error_annotation: annotation(null),
  });
  const approvals = ["t1", "t2"].map((task_id) =>
    sampleApproval({ id: `q-${task_id}`, task_id, asked_at: "2030-01-02T00:00:00Z" }),
  );
  const names = inboxOf([asks, broken], approvals).map((entry) =>
    entry.kind === "task" ? entry.task.id : entry.approval.id,
  );
  expect(names).toEqual(["q-t1", "q-t2", "t2"]);
  // Answered meanwhile: the task stays until the engine says that it needs nobody.
  expect(inboxOf([asks], [])).toHaveLength(1);
});

it("waits for somebody to move a task on where nothing happens by itself", () => {
  const qa = { name: "qa", display_name: "QA", kind: "custom" } as State;
  const idle = sampleTask({ id: "t1", status: "qa", live: null, waiting: null, held: false });
  expect(awaitsStep(idle, qa)).toBe(true);
  expect(awaitsStep({ ...idle, held: true }, qa)).toBe(false);
  expect(awaitsStep({ ...idle, error_annotation: annotation(null) }, qa)).toBe(false);
  expect(awaitsStep(idle, review)).toBe(false);

  const { workflow } = sampleWorkflowView;
  const withQa = (triggers: State["triggers"]) => ({
    ...sampleWorkflowView,
    workflow: {
      ...workflow,
      states: [...workflow.states, { ...qa, ...(triggers && { triggers }) }],
    },
    moves: [{ from: "qa", to: ["todo", "done"] }],
  });
  expect(stepsOf(idle, withQa({ accept: { to: "done" } }))).toEqual(["done"]);
  // A state whose workflow names no way on still leads somewhere.
  expect(stepsOf(idle, withQa(undefined))).toEqual(["todo", "done"]);
});

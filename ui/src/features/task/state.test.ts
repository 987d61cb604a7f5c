import { describe, expect, it } from "vitest";
import type { ErrorAnnotation, ReviewStep, Task, Waiting } from "#ui/api/generated.ts";
import { bytes } from "#ui/domain/size.ts";
import { asksFirst, asOffers, needsText, opensForm } from "./banner/offers.ts";
import { checksFrom } from "./details/checks.ts";
import { milliseconds, money } from "./numbers.ts";
import { isOpenAtFirst, outcomeOf, tailOf } from "./review/checks.ts";
import { workingAgent } from "#ui/domain/taskActions.ts";
import { movesFrom } from "#ui/domain/steps.ts";
import { needOf } from "./state.ts";
import { someTask, someTransition, someWorkflow } from "./testing/fixtures.ts";
import { partSteps, stepMark } from "./timeline/steps.ts";

const { workflow } = someWorkflow;
const annotation: ErrorAnnotation = {
  type: "executor_failed",
  from_state: "in_progress",
  message: "it fell over",
  details: null,
  execution_id: null,
  evidence: null,
  at: "2026-01-01T00:00:00Z",
};
const waiting = (reason: Waiting["reason"]): Waiting => ({
  reason,
  until: null,
  files: [],
  message: "",
});

describe("needOf", () => {
  it.each<[string, Partial<Task>, string | undefined]>([
    ["a quiet task", {}, undefined],
    ["trouble", { error_annotation: annotation }, "trouble"],
    [
      "trouble before a review",
      {
        error_annotation: annotation,
        review: {
          attempt_number: 1,
          status: "awaiting_human",
          verdict: null,
          reviewed_commit: null,
        },
      },
      "trouble",
    ],
    [
      "a review that awaits the person",
      {
        review: {
          attempt_number: 1,
          status: "awaiting_human",
          verdict: null,
          reviewed_commit: null,
        },
      },
      "review",
    ],
    ["a dirty checkout", { waiting: waiting("target_checkout_dirty") }, "waiting"],
    ["a busy agent", { waiting: waiting("agent_busy") }, "waiting"],
    ["a drag that can be undone", { waiting: waiting("undo") }, undefined],
    ["a closed task", { status: "done", error_annotation: annotation }, undefined],
  ])("of %s", (_, changes, kind) => {
    expect(needOf(someTask(changes), workflow)?.kind).toBe(kind);
  });
});

describe("offers", () => {
  const offer = (verb: "approve" | "send_back" | "retry", fields: string[] = []) => ({
    verb,
    label: verb,
    fields,
    why: "",
  });

  it("are those that help; a text is asked for where the engine asks", () => {
    const offers = [offer("retry"), ...someTask().offers];
    expect(asOffers(offers).map(({ verb }) => verb)).toEqual(["retry"]);
    expect(opensForm(offer("retry"))).toBe(false);
    expect(needsText(offer("send_back", ["reason"]))).toBe(true);
    expect(opensForm(offer("approve", ["reason"]))).toBe(true);
    expect(needsText(offer("approve", ["reason"]))).toBe(false);
    expect(asksFirst("reset_workspace")).toBe(true);
    expect(asksFirst("retry")).toBe(false);
  });
});

describe("checks", () => {
  const step: ReviewStep = {
    index: 0,
    command: "npm test",
    exit_code: 0,
    signal: null,
    timed_out: false,
    finished: true,
    duration_ms: 10,
    stdout_tail: "",
    stderr_tail: "",
    cached: false,
    changed_files: [],
    log_id: "l",
  };

  it.each<[Partial<ReviewStep>, string]>([
    [{}, "passed"],
    [{ finished: false, exit_code: null }, "running"],
    [{ exit_code: 2 }, "failed"],
    [{ exit_code: null, signal: 9 }, "failed"],
    [{ exit_code: null }, "stopped"],
    [{ timed_out: true }, "failed"],
    [{ changed_files: ["a"] }, "failed"],
  ])("with %j %s", (changes, outcome) => {
    expect(outcomeOf({ ...step, ...changes })).toBe(outcome);
    expect(isOpenAtFirst({ ...step, ...changes })).toBe(["running", "failed"].includes(outcome));
  });

  it("show both streams' ends", () => {
    expect(tailOf({ ...step, stdout_tail: "out\n\n", stderr_tail: "err\n" })).toBe("out\nerr");
    expect(tailOf(step)).toBe("");
    expect(checksFrom(" npm test \n\nmake\n")).toEqual(["npm test", "make"]);
  });
});

describe("moves and steps", () => {
  it("knows where a person may go and who works", () => {
    expect(movesFrom(someWorkflow.moves, "todo")).toEqual(["in_progress", "cancelled"]);
    expect(movesFrom([], "todo")).toEqual([]);
    expect(workingAgent(someTask(), "coder")).toBe("a1");
    expect(
      workingAgent(someTask({ roles: { coder: { type: "user", id: null } } }), "coder"),
    ).toBeNull();
    expect(workingAgent(someTask(), null)).toBeNull();
  });

  it("keeps skipped steps apart", () => {
    const step = {
      phase: "p",
      action: "a",
      reason: null,
      duration_ms: null,
      log_id: null,
      message: null,
    };
    const { steps } = someTransition({
      steps: [
        { ...step, status: "done", outcome: "ok" },
        { ...step, status: "done", outcome: "skipped" },
        { ...step, status: "running", outcome: null },
      ],
    });
    expect(steps.map(stepMark)).toEqual(["ok", "skipped", "running"]);
    expect(partSteps(steps).skipped).toHaveLength(1);
    expect(partSteps(steps).ran).toHaveLength(2);
  });
});

describe("numbers", () => {
  it("says money, sizes and short times", () => {
    expect(money(1_382_400)).toBe("$1.38");
    expect(money(4_200)).toBe("$0.0042");
    expect(money(0)).toBe("$0.00");
    expect([0, 1, 37, 999].map((count) => bytes(count))).toEqual([
      "0 bytes",
      "1 byte",
      "37 bytes",
      "999 bytes",
    ]);
    expect(bytes(184_320_000)).toBe("184.3 MB");
    expect(milliseconds(340.4)).toBe("340ms");
    expect(milliseconds(1_000)).toBeNull();
  });
});

import { expect, it } from "vitest";
import { someTransition } from "../testing/fixtures.ts";
import { queuedTexts, waitingMessages } from "./queued.ts";

const step = (action: string, status: "pending" | "running" | "done") => ({
  phase: "work_end",
  action,
  status,
  outcome: null,
  reason: null,
  duration_ms: null,
  log_id: null,
});

it("counts the messages that wait, not those that were told", () => {
  const moves = [
    someTransition({ steps: [step("follow_up", "done"), step("follow_up", "pending")] }),
    someTransition({ steps: [step("advance", "pending"), step("follow_up", "running")] }),
  ];
  expect(waitingMessages(moves)).toBe(2);
});

it("names them as far as they were said here, the last ones last", () => {
  expect(queuedTexts(0, ["a"])).toEqual([]);
  expect(queuedTexts(2, ["a", "b", "c"])).toEqual(["b", "c"]);
  expect(queuedTexts(3, ["c"])).toEqual([null, null, "c"]);
});

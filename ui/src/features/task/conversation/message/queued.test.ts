import { expect, it } from "vitest";
import type { SaidMessage, TransitionStep } from "#ui/api/generated.ts";
import { someTransition } from "../../testing/fixtures.ts";
import { queuedMessages } from "./queued.ts";

const step = (message: SaidMessage | null): TransitionStep => ({
  phase: "work_end",
  action: "follow_up",
  status: message === null ? "done" : "pending",
  outcome: null,
  reason: null,
  duration_ms: null,
  log_id: null,
  message,
});
const said = (text: string): SaidMessage => ({ text, comments: 0, files: [] });

it("gathers the messages that wait in their order, not those that were told", () => {
  const moves = [
    someTransition({ steps: [step(null), step(said("first"))] }),
    someTransition({ steps: [step(said("second")), step(null)] }),
  ];
  expect(queuedMessages(moves).map(({ text }) => text)).toEqual(["first", "second"]);
});

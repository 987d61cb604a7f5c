import { expect, it } from "vitest";
import type { Offer, Task } from "#ui/api/generated.ts";
import { sampleTask } from "#ui/test/sample.ts";
import { isHeldByPerson, recoverable, recoveriesOf } from "./recovery.ts";

const offer = (verb: Offer["verb"], label: string, fields: string[] = []): Offer => ({
  verb,
  label,
  fields,
  why: "",
});

const blocked = (id: string, offers: Offer[]): Task =>
  sampleTask({
    id,
    offers,
    error_annotation: {
      type: "executor_failed",
      from_state: "in_progress",
      message: "The agent ended with code 1.",
      details: null,
      execution_id: null,
      evidence: null,
      at: "2030-01-01T12:00:00Z",
    },
  });

it("offers_of_a_selection_name_the_tasks_they_fit", () => {
  const retry = offer("retry", "Try again");
  const restart = offer("restart", "Start over");
  const tasks = [
    blocked("a", [restart, retry]),
    blocked("b", [retry, offer("resume_session", "Message agent", ["message"])]),
    blocked("c", [offer("trust_files", "Trust these files")]),
    // A provider's limit is no trouble: it ends by itself.
    sampleTask({ id: "d", offers: [retry], error_annotation: null }),
  ];
  const found = recoveriesOf(tasks).map(({ verb, label, tasks: of }) => [
    verb,
    label,
    of.map(({ id }) => id).join(),
  ]);
  expect(found).toEqual([
    ["retry", "Try again", "a,b"],
    ["restart", "Start over", "a"],
  ]);
  expect(recoverable(tasks).map(({ id }) => id)).toEqual(["a", "b"]);
});

it("tells_which_tasks_a_person_has_blocked", () => {
  const [failed, held] = [blocked("a", []), blocked("b", [])];
  const annotation = held?.error_annotation ?? null;
  expect(isHeldByPerson(failed)).toBe(false);
  expect(
    isHeldByPerson({ ...held, error_annotation: annotation && { ...annotation, type: "manual" } }),
  ).toBe(true);
});

it("an_offer_that_asks_for_a_text_is_not_taken_for_many", () => {
  expect(recoveriesOf([blocked("a", [offer("retry", "Try again", ["message"])])])).toEqual([]);
});

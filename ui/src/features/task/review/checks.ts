/** What a check's record says. Pure. */
import type { ReviewStep } from "#ui/api/generated.ts";

export type CheckOutcome = "running" | "passed" | "failed" | "stopped";

export function outcomeOf(step: ReviewStep): CheckOutcome {
  if (!step.finished) return "running";
  if (step.timed_out || step.changed_files.length > 0) return "failed";
  if (step.exit_code === null) return step.signal === null ? "stopped" : "failed";
  return step.exit_code === 0 ? "passed" : "failed";
}

/** What failed or runs is worth a look; what passed is not, until asked for. */
export function isOpenAtFirst(step: ReviewStep): boolean {
  return ["running", "failed"].includes(outcomeOf(step));
}

/** Both streams' ends; the errors last, where the eye ends up. */
export function tailOf(step: ReviewStep): string {
  return [step.stdout_tail, step.stderr_tail]
    .map((tail) => tail.replace(/\n+$/, ""))
    .filter((tail) => tail !== "")
    .join("\n");
}

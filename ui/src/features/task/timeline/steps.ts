/** Steps of a transition, sorted for the eye. Pure. */
import type { TransitionStep } from "#ui/api/generated.ts";

export type StepMark = "pending" | "running" | "ok" | "skipped" | "failed" | "cascade";

export function stepMark(step: TransitionStep): StepMark {
  if (step.status === "done") return step.outcome ?? "ok";
  return step.status;
}

export function partSteps(steps: readonly TransitionStep[]): {
  readonly ran: readonly TransitionStep[];
  readonly skipped: readonly TransitionStep[];
} {
  const isSkipped = (step: TransitionStep) => stepMark(step) === "skipped";
  return { ran: steps.filter((step) => !isSkipped(step)), skipped: steps.filter(isSkipped) };
}

/** A name of the engine's as people write it: "run_ci_steps" is "run ci steps". */
export function words(name: string): string {
  return name.replace(/_/g, " ");
}

/** Steps of a transition, sorted for the eye and put in words. Pure. */
import type { TFunction } from "i18next";
import type { LifecycleEvent, Transition, TransitionStep } from "#ui/api/generated.ts";
import type en from "#ui/i18n/en.json";

export type StepMark = "pending" | "running" | "ok" | "skipped" | "failed" | "cascade";

export function stepMark(step: TransitionStep): StepMark {
  if (step.status === "done") return step.outcome ?? "ok";
  return step.status;
}

/** Which of the project's hooks a step ran: `before_work[0]`. */
export interface HookStep {
  readonly event: LifecycleEvent;
  readonly index: number;
}

const hookPattern =
  /^(before_work|on_work_start|on_work_stop|on_task_done|on_task_cancel)\[(\d+)\]/;

export function hookOf({ action }: Pick<TransitionStep, "action">): HookStep | null {
  const match = hookPattern.exec(action);
  return match ? { event: match[1] as LifecycleEvent, index: Number(match[2]) } : null;
}

/** "Hook 1 before work": people count from one. */
export function hookName(event: LifecycleEvent, index: number, t: TFunction): string {
  return t(`timeline.hook.${event}`, { number: index + 1 });
}

/** What ran, and what was passed over. A hook that was skipped is news: somebody decided it. */
export function partSteps(steps: readonly TransitionStep[]): {
  readonly ran: readonly TransitionStep[];
  readonly skipped: readonly TransitionStep[];
} {
  const isQuiet = (step: TransitionStep) => stepMark(step) === "skipped" && hookOf(step) === null;
  return { ran: steps.filter((step) => !isQuiet(step)), skipped: steps.filter(isQuiet) };
}

/** A name of the engine's as people write it: "run_ci_steps" is "run ci steps". */
export function words(name: string): string {
  return name.replace(/[_-]/g, " ");
}

type KnownAction = keyof typeof en.timeline.action;

export function actionText(step: TransitionStep, t: TFunction): string {
  const hook = hookOf(step);
  if (hook) return hookName(hook.event, hook.index, t);
  const key = step.action.replace(/-/g, "_") as KnownAction;
  const known = t(`timeline.action.${key}`, { defaultValue: "" });
  return known === "" ? words(step.action) : known;
}

/** A move and how many moves before it in a row sent the task on. */
export interface Link {
  readonly move: Transition;
  readonly depth: number;
}

const sentOn = ({ steps }: Transition): boolean =>
  steps.some((step) => stepMark(step) === "cascade");

/**
 * The moves as chains: a cause with what it led to by itself below it. The newest chain comes
 * first; within one, time runs downwards, as it is read.
 */
export function chainsOf(moves: readonly Transition[]): Link[] {
  const byTime = [...moves].sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
  const chains: Link[][] = [];
  for (const [index, move] of byTime.entries()) {
    const before = byTime[index - 1];
    const chain = chains.at(-1);
    const follows =
      before !== undefined &&
      chain !== undefined &&
      move.actor.startsWith("system:") &&
      before.to === move.from &&
      sentOn(before);
    if (follows) chain.push({ move, depth: (chain.at(-1)?.depth ?? 0) + 1 });
    else chains.push([{ move, depth: 0 }]);
  }
  return chains.toReversed().flat();
}

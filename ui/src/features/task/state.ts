/** Who waits for whom. Pure. */
import type { ErrorAnnotation, State, Task, Waiting, Workflow } from "#ui/api/generated.ts";
import { isByHand, isClosed, stateOf } from "#ui/domain/steps.ts";

/** Waits that a person can end; the others end by themselves. */
const clearable: ReadonlySet<Waiting["reason"]> = new Set([
  "target_checkout_dirty",
  "git_locked",
  "paused",
  "held",
  "race_crown",
  "no_machine",
  "machine_unreachable",
  "machine_disk_full",
]);

/** Asks for the person, though the task would go on by itself. */
export const isClearable = ({ reason }: Waiting): boolean => clearable.has(reason);

/** The moment in which a drag can be undone is the board's own matter. */
export const isSaid = ({ reason }: Waiting): boolean => reason !== "undo";

/** What the banner is about, the weightiest first; null when the task just goes on. */
export type Need =
  | { readonly kind: "trouble"; readonly annotation: ErrorAnnotation }
  /** Its agent waits for an answer. */
  | { readonly kind: "asks"; readonly title: string; readonly more: number }
  | { readonly kind: "review" }
  | { readonly kind: "waiting"; readonly waiting: Waiting }
  /** Nothing happens by itself in its state: somebody moves it on. */
  | { readonly kind: "step"; readonly state: State }
  | null;

export function needOf(
  task: Task,
  workflow: Workflow | undefined,
  asked: readonly string[] = [],
): Need {
  if (isClosed(task, workflow)) return null;
  if (task.error_annotation) return { kind: "trouble", annotation: task.error_annotation };
  const [first] = asked;
  if (first !== undefined) return { kind: "asks", title: first, more: asked.length - 1 };
  if (task.review?.status === "awaiting_human") return { kind: "review" };
  if (task.waiting && isSaid(task.waiting)) {
    return { kind: "waiting", waiting: task.waiting };
  }
  const state = stateOf(workflow, task.status);
  if (state && isByHand(state) && task.live === null && !task.held) return { kind: "step", state };
  return null;
}

/** A hook stopped the work before any agent was started: no failure of an agent's. */
export function isPreflight({ type }: Pick<ErrorAnnotation, "type">): boolean {
  return type === "before_work_hook_failed" || type === "before_work_hook_timeout";
}

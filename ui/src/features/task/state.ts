/** Who waits for whom. Pure. */
import type { ErrorAnnotation, State, Task, Waiting, Workflow } from "#ui/api/generated.ts";

export function stateOf(workflow: Workflow | undefined, name: string): State | undefined {
  return workflow?.states.find((state) => state.name === name);
}

export function isClosed(task: Task, workflow: Workflow | undefined): boolean {
  return stateOf(workflow, task.status)?.kind === "terminal";
}

/** Waits that a person can end; the others end by themselves. */
const clearable: ReadonlySet<Waiting["reason"]> = new Set([
  "target_checkout_dirty",
  "git_locked",
  "paused",
  "held",
]);

/** Said in the banner, where it can be ended. */
export const isClearable = ({ reason }: Waiting): boolean => clearable.has(reason);

/** Why the task needs a person, the weightiest reason first; null when it does not. */
export type Need =
  | { readonly kind: "trouble"; readonly annotation: ErrorAnnotation }
  | { readonly kind: "review" }
  | { readonly kind: "waiting"; readonly waiting: Waiting }
  | null;

export function needOf(task: Task, workflow: Workflow | undefined): Need {
  if (isClosed(task, workflow)) return null;
  if (task.error_annotation) return { kind: "trouble", annotation: task.error_annotation };
  if (task.review?.status === "awaiting_human") return { kind: "review" };
  if (task.waiting && isClearable(task.waiting)) {
    return { kind: "waiting", waiting: task.waiting };
  }
  return null;
}

/** The states a person may move it to. */
export function movesFrom(
  moves: readonly { readonly from: string; readonly to: readonly string[] }[],
  status: string,
): readonly string[] {
  return moves.find(({ from }) => from === status)?.to ?? [];
}

/** The agent that would do the work; null when nobody or the person would. */
export function workingAgent(task: Task, workRole: string | null | undefined): string | null {
  const holder = workRole ? task.roles[workRole] : null;
  return holder?.type === "agent" ? holder.id : null;
}

/** Which column takes which task, by what the workflow says a person may do. Pure. */
import type { Column, Task, WorkflowView } from "#ui/api/generated.ts";

/** The state a task has after being dropped on a column. */
export function stateAfter(task: Task, column: Column): string {
  return column.states.includes(task.status) ? task.status : column.drop_state;
}

export function mayMove(view: WorkflowView, task: Task, column: Column): boolean {
  const to = stateAfter(task, column);
  if (to === task.status) return true;
  return view.moves.some((moves) => moves.from === task.status && moves.to.includes(to));
}

/** Between which states a move is not allowed, as people call them. */
export type Refusal = Readonly<Record<"from" | "to", string>>;

/** The first task that a column refuses, and between which states; null when it takes all. */
export function refusal(
  view: WorkflowView,
  tasks: readonly Task[],
  column: Column,
): Refusal | null {
  const task = tasks.find((candidate) => !mayMove(view, candidate, column));
  if (!task) return null;
  const name = (state: string) =>
    view.workflow.states.find((known) => known.name === state)?.display_name ?? state;
  return { from: name(task.status), to: name(column.drop_state) };
}

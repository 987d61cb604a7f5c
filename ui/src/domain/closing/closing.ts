/** Whether closing a task leaves work behind, and which state would merge it. Pure. */
import type { Task, WorkflowView } from "#ui/api/generated.ts";

type Work = Pick<Task, "unmerged_commits" | "diff_stat" | "workspace">;

/** Commits are counted when work is measured; until then the changed files tell of it. */
export const hasUnmergedWork = ({ unmerged_commits, diff_stat, workspace }: Work): boolean =>
  unmerged_commits > 0 || (workspace?.status === "active" && (diff_stat?.files ?? 0) > 0);

/** Whether the move finishes a task whose work is not in the target. Giving a task up says so itself. */
export function leavesWork(view: WorkflowView, task: Task, to: string): boolean {
  const { states, cancellation_state: cancellation } = view.workflow;
  const kindOf = (name: string) => states.find((state) => state.name === name)?.kind;
  return (
    to !== cancellation &&
    kindOf(to) === "terminal" &&
    kindOf(task.status) !== "terminal" &&
    hasUnmergedWork(task)
  );
}

/** The state that merges, where all of these may be moved to it; null when there is none. */
export function mergingState(view: WorkflowView, tasks: readonly Task[]): string | null {
  const merging = view.workflow.states.find(({ hooks }) =>
    [...(hooks?.on_enter ?? []), ...(hooks?.after_enter ?? [])].some(
      ({ action }) => action === "run_merge",
    ),
  )?.name;
  if (merging === undefined) return null;
  const mayMerge = ({ status }: Task) =>
    view.moves.some(({ from, to }) => from === status && to.includes(merging));
  return tasks.every(mayMerge) ? merging : null;
}

/** Where a merge stands, and who goes before. Pure. */
import type { Merge, MergeQueueEntry, Task, WaitReason } from "#ui/api/generated.ts";

/** Waits that are about the merge here; those for a code host are said at the pull request. */
const mergeWaits: ReadonlySet<WaitReason> = new Set([
  "merge_queue",
  "target_checkout_dirty",
  "git_locked",
]);

export const waitsToMerge = ({ waiting }: Pick<Task, "waiting">): boolean =>
  waiting !== null && mergeWaits.has(waiting.reason);

export function newestFirst(merges: readonly Merge[]): readonly Merge[] {
  return [...merges].sort((one, other) => other.created_at.localeCompare(one.created_at));
}

/** Whether the last word about merging is a conflict. */
export function conflicts(
  task: Pick<Task, "error_annotation">,
  newest: Merge | undefined,
): boolean {
  return newest?.status === "conflict" || task.error_annotation?.type === "merge_conflict";
}

export interface Place {
  readonly target: string;
  /** 0 is merged now. */
  readonly place: number;
  /** Those before it, in the order of their turns: the first is merged now or next. */
  readonly before: readonly MergeQueueEntry[];
}

/** A task's place in the line of its target; null when it stands in none. */
export function placeIn(queue: readonly MergeQueueEntry[], taskId: string): Place | null {
  const own = queue.find(({ task_id: id }) => id === taskId);
  if (!own) return null;
  const before = queue
    .filter(({ target, place }) => target === own.target && place < own.place)
    .sort((one, other) => one.place - other.place);
  return { target: own.target, place: own.place, before };
}

/** Commits as people read them. */
export const short = (commit: string): string => commit.slice(0, 8);

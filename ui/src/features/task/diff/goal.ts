/** A place in the changes that somebody leads to: a link, a step to a comment or to another file's change. */
import type { Comment, DiffSide } from "#ui/api/generated.ts";
import { nearestRow } from "./comments.ts";
import type { FileState } from "./loader.ts";
import { changeFrom } from "./steps.ts";
import type { Instead } from "./items.ts";

export interface Goal {
  readonly path: string;
  readonly side: DiffSide;
  /** Null for the file as a whole. */
  readonly line: number | null;
  readonly commentId: string | null;
  /** Its first or last change instead of a line. */
  readonly change?: "first" | "last";
  /** The keyboard stays where it is. */
  readonly keepsFocus?: boolean;
}

export function goalOf(comment: Comment, path: string): Goal {
  const line = comment.outdated ? null : (comment.now_last_line ?? comment.now_line);
  return { path, side: comment.side, line, commentId: comment.id };
}

export interface Found {
  /** Null for what stands above the rows. */
  readonly row: number | null;
  readonly exact: boolean;
}

/** Where a goal is among the rows that are there; null while it may yet come. */
export function foundIn(
  goal: Goal,
  state: FileState | undefined,
  instead: Instead | null,
): Found | null {
  if (instead === "loading") return null;
  const loaded = instead === null ? state?.loaded : null;
  if (!loaded) return { row: null, exact: goal.line === null || goal.commentId !== null };
  if (goal.change) {
    return { row: changeFrom(loaded.rows, null, goal.change === "first" ? 1 : -1), exact: true };
  }
  if (goal.line === null) return { row: null, exact: true };
  const row = loaded.index.rowOf(goal.side, goal.line);
  if (row !== undefined) return { row, exact: true };
  // What could not be read will not come.
  const isKnown = loaded.complete || state?.error !== null;
  // A comment without a row of its own stands above them.
  if (goal.commentId !== null) return isKnown ? { row: null, exact: true } : null;
  const near = nearestRow(loaded.rows, goal.side, goal.line);
  if ((near === null || near.beyond) && !isKnown) return null;
  return near ?? { row: null, exact: false };
}

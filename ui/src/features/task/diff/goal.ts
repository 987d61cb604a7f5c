/** A place in the changes that somebody leads to: a link, or next and previous comment. */
import type { Comment, DiffSide } from "#ui/api/generated.ts";

export interface Goal {
  readonly path: string;
  readonly side: DiffSide;
  /** Null for the file as a whole. */
  readonly line: number | null;
  readonly commentId: string | null;
}

export function goalOf(comment: Comment, path: string): Goal {
  const line = comment.outdated ? null : (comment.now_last_line ?? comment.now_line);
  return { path, side: comment.side, line, commentId: comment.id };
}

/**
 * Comments beside the rows of a diff: which of them a file shows, where, and which lines a new one
 * may speak of. Pure.
 *
 * Invariant: a comment is shown where its lines are now, and only where the shown version is the
 * one that this place was counted in; everything else is said at the file's top, never dropped.
 */
import type { Comment, DiffSide, FileChange, Scope } from "#ui/api/generated.ts";
import type { DiffRow } from "./hunks.ts";

/** Lines that a comment speaks of; both null for the file as a whole. */
export interface LineTarget {
  readonly side: DiffSide;
  readonly line: number | null;
  readonly lastLine: number | null;
}

export const wholeFile: LineTarget = { side: "new", line: null, lastLine: null };

/** The engine takes no more lines in one comment. */
export const mostLines = 500;

/** Which versions of the shown diff are those that comments are counted in. */
export interface Sides {
  readonly old: boolean;
  readonly new: boolean;
}

export function sidesOf(scope: Scope, head: string | null): Sides {
  // A run that ended shows a commit that the worktree may have left behind.
  return { old: scope === "task", new: scope !== "turn" || head === null };
}

export const rowKey = (side: DiffSide, line: number): string => `${side}:${line}`;

/** Rows by the lines they show; a context row has two. */
export interface RowIndex {
  rowOf(side: DiffSide, line: number): number | undefined;
}

export function rowIndex(rows: readonly DiffRow[]): RowIndex {
  const index = { old: new Map<number, number>(), new: new Map<number, number>() };
  for (const [row, each] of rows.entries()) {
    if (each.type !== "line") continue;
    const { old_no: oldNo, new_no: newNo } = each.line;
    if (oldNo !== null) index.old.set(oldNo, row);
    if (newNo !== null) index.new.set(newNo, row);
  }
  return { rowOf: (side, line) => index[side].get(line) };
}

/** The line that a key names. */
export function keyLine(key: string): { readonly side: DiffSide; readonly line: number } {
  const [side, line] = key.split(":");
  return { side: side === "old" ? "old" : "new", line: Number(line) };
}

/** The row of a line, or the next one below it; the side's last where all are above it (`beyond`). */
export function nearestRow(
  rows: readonly DiffRow[],
  side: DiffSide,
  line: number,
): { readonly row: number; readonly exact: boolean; readonly beyond: boolean } | null {
  let last: number | null = null;
  for (const [row, each] of rows.entries()) {
    if (each.type !== "line") continue;
    const number = side === "old" ? each.line.old_no : each.line.new_no;
    if (number === null) continue;
    if (number >= line) return { row, exact: number === line, beyond: false };
    last = row;
  }
  return last === null ? null : { row: last, exact: false, beyond: true };
}

function numbersOn(rows: readonly DiffRow[], from: number, to: number, side: DiffSide): number[] {
  const numbers: number[] = [];
  for (let row = Math.min(from, to); row <= Math.max(from, to); row += 1) {
    const each = rows[row];
    if (each?.type !== "line") continue;
    const number = side === "old" ? each.line.old_no : each.line.new_no;
    if (number !== null) numbers.push(number);
  }
  return numbers;
}

/**
 * What a comment on these rows speaks of. The side that was pointed at wins where all rows have it,
 * then the new one: it is what the agent goes on with. Null when nothing there can be commented.
 */
export function targetOf(
  rows: readonly DiffRow[],
  from: number,
  to: number,
  sides: Sides,
  pointed: DiffSide | null = null,
): LineTarget | null {
  const order: DiffSide[] = pointed === "old" ? ["old", "new"] : ["new", "old"];
  for (const side of order) {
    if (!sides[side]) continue;
    const numbers = numbersOn(rows, from, to, side);
    const line = numbers[0];
    const last = numbers.at(-1);
    if (line === undefined || last === undefined) continue;
    return { side, line, lastLine: Math.min(last, line + mostLines - 1) };
  }
  return null;
}

export function concerns(comment: Comment, change: FileChange): boolean {
  if (comment.path === change.path) return true;
  return comment.side === "old" && change.old_path !== null && comment.path === change.old_path;
}

/** The path by which the engine knows that version of the file. */
export function pathOn(change: FileChange, side: DiffSide): string {
  return side === "old" ? (change.old_path ?? change.path) : change.path;
}

export interface Placed {
  /** On the file as a whole, outdated, or on lines that this diff does not show. */
  readonly top: readonly Comment[];
  /** Under a row, by `rowKey` of the last line. */
  readonly at: ReadonlyMap<string, readonly Comment[]>;
}

/** The row's key under which a comment stands; null when that is the file's top. */
export function keyOf(comment: Comment, rows: RowIndex, sides: Sides): string | null {
  const line = comment.now_last_line ?? comment.now_line;
  if (comment.outdated || line === null || !sides[comment.side]) return null;
  return rows.rowOf(comment.side, line) === undefined ? null : rowKey(comment.side, line);
}

export function placed(comments: readonly Comment[], rows: RowIndex, sides: Sides): Placed {
  const top: Comment[] = [];
  const at = new Map<string, Comment[]>();
  for (const comment of comments) {
    const key = keyOf(comment, rows, sides);
    if (key === null) top.push(comment);
    else if (at.has(key)) at.get(key)?.push(comment);
    else at.set(key, [comment]);
  }
  return { top, at };
}

export interface Counts {
  /** Not resolved, drafts among them. */
  readonly open: number;
  readonly drafts: number;
}

/** How many comments each changed file has, by its path; files without any are left out. */
export function countsOf(
  comments: readonly Comment[],
  files: readonly FileChange[],
): ReadonlyMap<string, Counts> {
  const counts = new Map<string, Counts>();
  if (comments.length === 0) return counts;
  const oldNames = new Map(files.map(({ path, old_path: old }) => [old ?? path, path]));
  const names = new Set(files.map(({ path }) => path));
  for (const { path: said, side, status } of comments) {
    const path = names.has(said) || side === "new" ? said : (oldNames.get(said) ?? said);
    const { open, drafts } = counts.get(path) ?? { open: 0, drafts: 0 };
    counts.set(path, {
      open: open + (status === "resolved" ? 0 : 1),
      drafts: drafts + (status === "draft" ? 1 : 0),
    });
  }
  return counts;
}

/** Comments in the order in which one meets them reading the files one after the other. */
export function inReadingOrder(
  comments: readonly Comment[],
  files: readonly FileChange[],
): readonly { readonly comment: Comment; readonly path: string }[] {
  return files.flatMap((change) =>
    comments
      .filter((comment) => concerns(comment, change))
      .sort((one, other) => (one.now_line ?? 0) - (other.now_line ?? 0))
      .map((comment) => ({ comment, path: change.path })),
  );
}

/** Comments on files that these changes do not hold (any longer). */
export function strays(
  comments: readonly Comment[],
  files: readonly FileChange[],
): readonly Comment[] {
  return comments.filter((comment) => !files.some((change) => concerns(comment, change)));
}

/** The rows that a person points at, by keyboard or pointer. Pure. */
import type { DiffSide } from "#ui/api/generated.ts";
import type { RowIndex } from "./comments.ts";
import { changeStarts, type DiffRow } from "./hunks.ts";

export interface Cursor {
  readonly row: number;
  /** Where the range began; the row itself when it is one. */
  readonly anchor: number;
  /** The side that was pointed at, where the two stand beside each other. */
  readonly side: DiffSide | null;
}

export const at = (row: number, side: DiffSide | null = null): Cursor => ({
  row,
  anchor: row,
  side,
});

export const firstOf = ({ row, anchor }: Cursor): number => Math.min(row, anchor);
export const lastOf = ({ row, anchor }: Cursor): number => Math.max(row, anchor);

/** The next row that is a line, or null at the end. */
export function lineFrom(rows: readonly DiffRow[], start: number, step: 1 | -1): number | null {
  for (let row = start; row >= 0 && row < rows.length; row += step) {
    if (rows[row]?.type === "line") return row;
  }
  return null;
}

/** One row on; with `extend` the range grows or shrinks instead. */
export function moved(
  rows: readonly DiffRow[],
  cursor: Cursor | null,
  step: 1 | -1,
  extend: boolean,
  start: number,
): Cursor | null {
  if (!cursor) {
    const row = lineFrom(rows, start, 1) ?? lineFrom(rows, start, -1);
    return row === null ? null : at(row);
  }
  const row = lineFrom(rows, cursor.row + step, step);
  if (row === null) return extend ? cursor : at(cursor.row, cursor.side);
  return extend ? { ...cursor, row } : at(row, cursor.side);
}

export interface SidedLine {
  readonly line: number;
  readonly side: "additions" | "deletions";
}

/** A row as a line of one side; the side that is asked for, where the row has it. */
export function sidedLine(row: DiffRow | undefined, side: DiffSide | null): SidedLine | null {
  if (row?.type !== "line") return null;
  const { old_no: oldNo, new_no: newNo } = row.line;
  if (oldNo !== null && (side === "old" || newNo === null))
    return { line: oldNo, side: "deletions" };
  return newNo === null ? null : { line: newNo, side: "additions" };
}

/**
 * The line of the new version that is pointed at, or where the first change begins. A line that is gone is where the next
 * one stands that is left.
 */
export function lineToOpen(rows: readonly DiffRow[], cursor: Cursor | null): number | null {
  const from = cursor ? firstOf(cursor) : (changeStarts(rows)[0]?.row ?? null);
  if (from === null) return null;
  let last: number | null = null;
  for (const [row, each] of rows.entries()) {
    if (each.type !== "line") continue;
    const number = each.line.new_no;
    if (number !== null && row >= from) return number;
    last = number ?? last;
  }
  return last;
}

export const sideOf = (side: "additions" | "deletions"): DiffSide =>
  side === "deletions" ? "old" : "new";

/** The rows of a range that is told by lines and sides. */
export function cursorOf(index: RowIndex, start: SidedLine, end: SidedLine): Cursor | null {
  const anchor = index.rowOf(sideOf(start.side), start.line);
  const row = index.rowOf(sideOf(end.side), end.line);
  if (anchor === undefined || row === undefined) return null;
  return { row, anchor, side: start.side === end.side ? sideOf(end.side) : null };
}

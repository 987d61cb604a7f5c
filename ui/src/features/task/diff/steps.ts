/** Where the next change is, seen from a row of a file. Pure. */
import { changeStarts, type DiffRow } from "./hunks.ts";

/** The row at which the next or the previous run of changed lines begins; null past the file's ends. */
export function changeFrom(
  rows: readonly DiffRow[],
  row: number | null,
  step: 1 | -1,
): number | null {
  const starts = changeStarts(rows).map((start) => start.row);
  if (step === 1) return starts.find((start) => row === null || start > row) ?? null;
  return starts.findLast((start) => row === null || start < row) ?? null;
}

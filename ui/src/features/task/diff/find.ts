/** Finds a text in the rows of changed files. Pure. */
import type { FileChange } from "#ui/api/generated.ts";
import type { DiffRow } from "./hunks.ts";
import type { FileStates } from "./loader.ts";
import type { Mark } from "./tokens.ts";

export interface Match {
  readonly path: string;
  readonly row: number;
  readonly from: number;
  readonly to: number;
}

export type RowMatch = Omit<Match, "path">;

/** Letters count in either case unless one of those sought is a capital. */
export function matchesIn(rows: readonly DiffRow[], query: string): readonly RowMatch[] {
  if (query === "") return [];
  const exact = query !== query.toLowerCase();
  const wanted = exact ? query : query.toLowerCase();
  const found: RowMatch[] = [];
  for (const [row, each] of rows.entries()) {
    if (each.type !== "line") continue;
    const text = exact ? each.line.text : each.line.text.toLowerCase();
    // A letter may be longer in lower case; places in it would be wrong then.
    const same = text.length === each.line.text.length;
    for (
      let from = text.indexOf(wanted);
      from >= 0;
      from = text.indexOf(wanted, from + wanted.length)
    ) {
      found.push({ row, from: same ? from : 0, to: same ? from + wanted.length : 0 });
    }
  }
  return found;
}

export interface Coverage {
  /** Files whose rows are all here. */
  readonly searched: number;
  /** Files that are text and wanted. */
  readonly total: number;
  /** Files not looked into: pictures, generated ones, those too large or not readable. */
  readonly skipped: number;
}

const isText = ({ binary, generated }: FileChange): boolean => !binary && !generated;

/** The files that are read for a search, in order. */
export function toSearch(files: readonly FileChange[], states: FileStates): readonly string[] {
  return files
    .filter((change) => {
      const state = states.get(change.path);
      return isText(change) && !state?.loaded?.complete && !state?.error;
    })
    .map(({ path }) => path);
}

export function coverageOf(files: readonly FileChange[], states: FileStates): Coverage {
  let searched = 0;
  let skipped = 0;
  for (const change of files) {
    const state = states.get(change.path);
    if (state?.loaded?.first.too_large || state?.error) skipped += 1;
    else if (state?.loaded?.complete) searched += 1;
    else if (!isText(change)) skipped += 1;
  }
  return { searched, total: files.length - skipped, skipped };
}

/** The first match at or after a place in reading order; the very first past the end. */
export function matchFrom(
  matches: readonly Match[],
  order: readonly string[],
  path: string | null,
): number {
  if (path === null) return 0;
  const start = order.indexOf(path);
  const next = matches.findIndex((match) => order.indexOf(match.path) >= start);
  return Math.max(0, next);
}

export type MarkedRows = ReadonlyMap<string, ReadonlyMap<number, readonly Mark[]>>;

export function marksOf(matches: readonly Match[], current: number): MarkedRows {
  const marks = new Map<string, Map<number, Mark[]>>();
  for (const [place, { path, row, from, to }] of matches.entries()) {
    let rows = marks.get(path);
    if (!rows) marks.set(path, (rows = new Map()));
    const mark = { from, to, current: place === current };
    const known = rows.get(row);
    if (known) known.push(mark);
    else rows.set(row, [mark]);
  }
  return marks;
}

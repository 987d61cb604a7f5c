/**
 * Unchanged lines around changes: which are hidden, where the engine has them, and hunks that show
 * some of them. Pure.
 */
import type { DiffLine, FileChange, Hunk } from "#ui/api/generated.ts";
import type { LoadedFile } from "./loader.ts";

/** Lines that were asked for, by their number in the new version. */
export type ContextLines = ReadonlyMap<number, DiffLine>;

/** Lines that stand between two hunks, before the first or after the last. */
export interface Gap {
  /** The first hidden line in the new version. */
  readonly from: number;
  /** The last one; null when nobody knows where the file ends. */
  readonly to: number | null;
  /** Whether rows stand above and below, from where one may expand. */
  readonly above: boolean;
  readonly below: boolean;
}

const endOf = (hunk: Hunk): { readonly oldNo: number; readonly newNo: number } => {
  // Of no lines on a side, the header names the line before.
  let oldNo = hunk.old_lines === 0 ? hunk.old_start : hunk.old_start - 1;
  let newNo = hunk.new_lines === 0 ? hunk.new_start : hunk.new_start - 1;
  for (const line of hunk.lines) {
    oldNo = line.old_no ?? oldNo;
    newNo = line.new_no ?? newNo;
  }
  return { oldNo, newNo };
};

/** The first line of the new version at or below which the hunk stands. */
function startOf(hunk: Hunk): number {
  for (const { new_no: newNo } of hunk.lines) if (newNo !== null) return newNo;
  // Only removed lines: the header names the line before.
  return hunk.new_start + 1;
}

/** What is hidden above a hunk; null when nothing is. */
export function gapAbove(hunks: readonly Hunk[], place: number): Gap | null {
  const hunk = hunks[place];
  if (!hunk) return null;
  const before = hunks[place - 1];
  const from = before ? endOf(before).newNo + 1 : 1;
  const to = startOf(hunk) - 1;
  return to < from ? null : { from, to, above: before !== undefined, below: true };
}

/** What may be hidden below the last hunk; null when that is nothing. */
export function gapBelow(
  change: FileChange,
  hunks: readonly Hunk[],
  { complete, atEnd }: { readonly complete: boolean; readonly atEnd: boolean },
): Gap | null {
  const last = hunks.at(-1);
  if (!last || !complete || atEnd) return null;
  if (change.kind === "added" || change.kind === "deleted") return null;
  if (last.lines.some(({ no_newline: ends }) => ends)) return null;
  return { from: endOf(last).newNo + 1, to: null, above: true, below: false };
}

/** Whether some of the file is not shown. */
export function hasHidden(change: FileChange, loaded: LoadedFile | null | undefined): boolean {
  if (!loaded || loaded.plain || !loaded.complete) return false;
  const { hunks } = loaded;
  return (
    hunks.length > 1 || gapAbove(hunks, 0) !== null || gapBelow(change, hunks, loaded) !== null
  );
}

/**
 * The row of a line among all rows of the whole file: as many as there are lines above it in the
 * new version, and lines removed above it.
 */
export function contextStart(hunks: readonly Hunk[], newNo: number): number {
  let removed = 0;
  for (const hunk of hunks) {
    if (startOf(hunk) > newNo) break;
    for (const line of hunk.lines) if (line.kind === "removed") removed += 1;
  }
  return newNo - 1 + removed;
}

function joined(above: Hunk, below: Hunk): Hunk {
  const lines = [...above.lines, ...below.lines];
  return withCounts({ ...above, lines });
}

function withCounts(hunk: Hunk): Hunk {
  const olds = hunk.lines.filter(({ kind }) => kind !== "added").length;
  const news = hunk.lines.filter(({ kind }) => kind !== "removed").length;
  return { ...hunk, old_lines: olds, new_lines: news };
}

function contextHunk(lines: readonly DiffLine[], header: string): Hunk {
  const first = lines[0];
  return withCounts({
    old_start: first?.old_no ?? 1,
    new_start: first?.new_no ?? 1,
    old_lines: 0,
    new_lines: 0,
    header,
    lines: [...lines],
  });
}

/** The hunks with some lines between them; those that then touch are one. */
export function withContext(hunks: readonly Hunk[], extra: ContextLines): readonly Hunk[] {
  const parts: Hunk[] = [];
  const sorted = [...extra.values()].sort((one, other) => (one.new_no ?? 0) - (other.new_no ?? 0));
  let next = 0;
  const shown: Hunk[] = [];
  const takeUntil = (limit: number, after: number) => {
    let run: DiffLine[] = [];
    for (; next < sorted.length; next += 1) {
      const line = sorted[next];
      const at = line?.new_no ?? 0;
      if (!line || at >= limit) break;
      if (at <= after) continue;
      const last = run.at(-1)?.new_no;
      if (last !== undefined && last !== null && at !== last + 1) {
        parts.push(contextHunk(run, ""));
        run = [];
      }
      run.push(line);
    }
    if (run.length > 0) parts.push(contextHunk(run, ""));
  };
  let after = 0;
  for (const hunk of hunks) {
    takeUntil(startOf(hunk), after);
    parts.push(hunk);
    after = endOf(hunk).newNo;
  }
  takeUntil(Number.POSITIVE_INFINITY, after);
  for (const part of parts) {
    const above = shown.at(-1);
    if (above && endOf(above).newNo + 1 === startOf(part)) {
      shown[shown.length - 1] = joined(above, part);
    } else shown.push(part);
  }
  return shown;
}

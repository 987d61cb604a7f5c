/**
 * Hunks as the engine pages them, as a unified patch, as rows, and as changes to step through.
 * Pure.
 */
import type { DiffLine, FileChange, FileDiff, Hunk } from "#ui/api/generated.ts";

/** More rows than this, or a line longer than that, and colours cost more than they tell. */
export const plainFrom = 5_000;
export const longLine = 5_000;

const sameHunk = (one: Hunk, other: Hunk): boolean =>
  one.old_start === other.old_start &&
  one.new_start === other.new_start &&
  one.header === other.header;

/** A hunk that spans pages comes again on each of them; here it is one again. */
export function joinPages(pages: readonly FileDiff[]): readonly Hunk[] {
  const hunks: Hunk[] = [];
  // Only what was copied here is added to: pages are what was answered.
  let copied: DiffLine[] | null = null;
  for (const page of pages) {
    for (const hunk of page.hunks) {
      const last = hunks.at(-1);
      if (!last || !sameHunk(last, hunk)) {
        hunks.push(hunk);
        copied = null;
        continue;
      }
      if (!copied) {
        copied = [...last.lines];
        hunks[hunks.length - 1] = { ...last, lines: copied };
      }
      for (const line of hunk.lines) copied.push(line);
    }
  }
  return hunks;
}

export function longestLine(hunks: readonly Hunk[]): number {
  let longest = 0;
  for (const { lines } of hunks) {
    for (const { text } of lines) if (text.length > longest) longest = text.length;
  }
  return longest;
}

const signs = { context: " ", added: "+", removed: "-" } as const;

function span(start: number, count: number): string {
  return count === 1 ? String(start) : `${start},${count}`;
}

/** Lines counted as they are here: a page may hold less of a hunk than its header promises. */
function hunkText(hunk: Hunk): string {
  const olds = hunk.lines.filter(({ kind }) => kind !== "added").length;
  const news = hunk.lines.filter(({ kind }) => kind !== "removed").length;
  const header = hunk.header === "" ? "" : ` ${hunk.header}`;
  const lines = hunk.lines.map(
    (line) =>
      `${signs[line.kind]}${line.text}\n${line.no_newline ? "\\ No newline at end of file\n" : ""}`,
  );
  return `@@ -${span(hunk.old_start, olds)} +${span(hunk.new_start, news)} @@${header}\n${lines.join("")}`;
}

/** A name that no patch reader trips over; what it is for is its ending. */
const plainName = (path: string): string => path.replace(/[^\w./-]/g, "_");

/** The text `git diff` would have printed. */
export function patchOf(change: FileChange, hunks: readonly Hunk[]): string {
  const to = plainName(change.path);
  const from = plainName(change.old_path ?? change.path);
  const head = [
    `diff --git a/${from} b/${to}`,
    ...(change.kind === "added" ? [`new file mode ${change.new_mode ?? "100644"}`] : []),
    ...(change.kind === "deleted" ? [`deleted file mode ${change.old_mode ?? "100644"}`] : []),
    `--- ${change.kind === "added" ? "/dev/null" : `a/${from}`}`,
    `+++ ${change.kind === "deleted" ? "/dev/null" : `b/${to}`}`,
  ];
  return `${head.join("\n")}\n${hunks.map(hunkText).join("")}`;
}

export type DiffRow =
  | {
      readonly type: "gap";
      readonly header: string;
      readonly oldNo: number;
      readonly newNo: number;
    }
  | { readonly type: "line"; readonly line: DiffLine };

export function diffRows(hunks: readonly Hunk[]): readonly DiffRow[] {
  const rows: DiffRow[] = [];
  for (const hunk of hunks) {
    rows.push({
      type: "gap",
      header: hunk.header,
      oldNo: hunk.old_start,
      newNo: hunk.new_start,
    });
    for (const line of hunk.lines) rows.push({ type: "line", line });
  }
  return rows;
}

/** Where a run of changed lines begins. */
export interface ChangeStart {
  /** Among `diffRows`. */
  readonly row: number;
  readonly side: "additions" | "deletions";
  readonly line: number;
}

export function changeStarts(rows: readonly DiffRow[]): readonly ChangeStart[] {
  const starts: ChangeStart[] = [];
  let inside = false;
  for (const [row, each] of rows.entries()) {
    const changed = each.type === "line" && each.line.kind !== "context";
    if (changed && !inside) {
      const { line } = each;
      const added = line.kind === "added";
      starts.push({
        row,
        side: added ? "additions" : "deletions",
        line: (added ? line.new_no : line.old_no) ?? 1,
      });
    }
    inside = changed;
  }
  return starts;
}

/** The next place in a list, or null past its ends: there the next file begins. */
export function stepTo(current: number | null, step: 1 | -1, count: number): number | null {
  if (count === 0) return null;
  if (current === null) return step === 1 ? 0 : count - 1;
  const next = current + step;
  return next >= 0 && next < count ? next : null;
}

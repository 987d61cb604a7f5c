import { describe, expect, it } from "vitest";
import type { DiffLine } from "#ui/api/generated.ts";
import { sampleHunk, file } from "#ui/test/sampleChanges.ts";
import { contextStart, gapAbove, gapBelow, withContext } from "./context.ts";
import { diffRows } from "./hunks.ts";

const hunks = [
  sampleHunk(10, 10, "one", " a\n-b\n+c\n+d\n e"),
  sampleHunk(30, 31, "two", " f\n-g\n h"),
];
/** Unchanged lines of the new version; the old one has one line fewer before them, or none. */
const lines = (from: number, to: number, shift: number) =>
  new Map(
    Array.from({ length: to - from + 1 }, (_, at): [number, DiffLine] => [
      from + at,
      {
        kind: "context",
        old_no: from + at - shift,
        new_no: from + at,
        text: `line ${from + at}`,
        no_newline: false,
      },
    ]),
  );
const shown = (extra: ReadonlyMap<number, DiffLine>) =>
  withContext(hunks, extra).map(({ old_start, old_lines, new_start, new_lines, lines: own }) => [
    old_start,
    old_lines,
    new_start,
    new_lines,
    own.length,
  ]);

describe("hidden lines", () => {
  it("stand above each hunk, and below the last while nobody knows the file's end", () => {
    expect(gapAbove(hunks, 0)).toEqual({ from: 1, to: 9, above: false, below: true });
    expect(gapAbove(hunks, 1)).toEqual({ from: 14, to: 30, above: true, below: true });
    const all = { complete: true, atEnd: false };
    expect(gapBelow(file("a.ts"), hunks, all)).toMatchObject({ from: 33, to: null });
    expect(gapBelow(file("a.ts"), hunks, { ...all, atEnd: true })).toBeNull();
    expect(gapBelow(file("a.ts", { kind: "added" }), hunks, all)).toBeNull();
  });

  it("are none above a hunk that begins with the file", () => {
    expect(gapAbove([sampleHunk(1, 1, "", "-a\n+b")], 0)).toBeNull();
  });

  it("are found after the lines and the removed lines above them", () => {
    expect(contextStart(hunks, 1)).toBe(0);
    expect(contextStart(hunks, 14)).toBe(14);
    expect(contextStart(hunks, 33)).toBe(34);
  });
});

describe("hunks with more context", () => {
  it("grow downward, upward, and become one when nothing is hidden between them", () => {
    expect(shown(lines(14, 16, 1))).toEqual([
      [10, 6, 10, 7, 8],
      [30, 3, 31, 2, 3],
    ]);
    expect(shown(lines(28, 30, 1))).toEqual([
      [10, 3, 10, 4, 5],
      [27, 6, 28, 5, 6],
    ]);
    expect(shown(lines(14, 30, 1))).toEqual([[10, 23, 10, 23, 25]]);
  });

  it("show the whole file with its lines in order", () => {
    const whole = new Map([...lines(1, 9, 0), ...lines(14, 30, 1), ...lines(33, 40, 0)]);
    const rows = diffRows(withContext(hunks, whole));
    const numbers = rows.flatMap((row) =>
      row.type === "line" && row.line.new_no !== null ? [row.line.new_no] : [],
    );
    expect(numbers).toEqual(Array.from({ length: 40 }, (_, at) => at + 1));
  });

  it("keep a run that touches no hunk apart", () => {
    expect(shown(lines(20, 21, 1))).toHaveLength(3);
  });
});

import { processFile } from "@pierre/diffs";
import { describe, expect, it } from "vitest";
import type { DiffLine, DiffLineKind, FileDiff, Hunk } from "#ui/api/generated.ts";
import { someFile } from "../testing/fixtures.ts";
import { changeStarts, diffRows, joinPages, longestLine, patchOf, stepTo } from "./hunks.ts";

const line = (
  kind: DiffLineKind,
  text: string,
  oldNo: number | null,
  newNo: number | null,
  noNewline = false,
): DiffLine => ({ kind, text, old_no: oldNo, new_no: newNo, no_newline: noNewline });

const hunk: Hunk = {
  old_start: 1,
  old_lines: 3,
  new_start: 1,
  new_lines: 4,
  header: "fn main()",
  lines: [
    line("context", "a", 1, 1),
    line("removed", "b", 2, null),
    line("added", "B", null, 2),
    line("added", "", null, 3),
    line("context", "c", 3, 4, true),
  ],
};
const second: Hunk = {
  old_start: 20,
  old_lines: 0,
  new_start: 22,
  new_lines: 1,
  header: "",
  lines: [line("added", "z\r", null, 22)],
};
const page = (hunks: Hunk[]): FileDiff => ({
  change: someFile("src/a.ts"),
  hunks,
  too_large: false,
  lossy: false,
  next_start: null,
  total_rows: 6,
});

describe("hunks", () => {
  it("makes one hunk again of one that spans pages", () => {
    const parts = [
      { ...hunk, lines: hunk.lines.slice(0, 2) },
      { ...hunk, lines: hunk.lines.slice(2) },
    ];
    expect(joinPages([page(parts.slice(0, 1)), page([...parts.slice(1), second])])).toEqual([
      hunk,
      second,
    ]);
  });

  it("writes the patch that git would have", () => {
    expect(patchOf(someFile("src/a.ts"), [hunk, second])).toBe(
      [
        "diff --git a/src/a.ts b/src/a.ts",
        "--- a/src/a.ts",
        "+++ b/src/a.ts",
        "@@ -1,3 +1,4 @@ fn main()",
        " a",
        "-b",
        "+B",
        "+",
        " c",
        "\\ No newline at end of file",
        "@@ -20,0 +22 @@",
        "+z\r",
        "",
      ].join("\n"),
    );
  });

  it.each([
    ["added", "/dev/null", "b/new_name.ts"],
    ["deleted", "a/new_name.ts", "/dev/null"],
  ] as const)("names the missing side of a file that was %s", (kind, from, to) => {
    const text = patchOf(someFile("new\tname.ts", { kind }), [second]);
    expect(text).toContain(`--- ${from}\n+++ ${to}\n`);
  });

  it("counts the lines that are there when a page cut a hunk", () => {
    expect(patchOf(someFile("a"), [{ ...hunk, lines: hunk.lines.slice(0, 2) }])).toContain(
      "@@ -1,2 +1 @@",
    );
  });

  it("is read back by the viewer with every line in place", () => {
    const read = processFile(patchOf(someFile("src/a.ts"), [hunk, second]), { isGitDiff: true });
    expect(read?.hunks.map(({ additionStart }) => additionStart)).toEqual([1, 22]);
    expect(read?.additionLines.map((text) => text.replace(/\n$/, ""))).toEqual([
      "a",
      "B",
      "",
      "c",
      "z\r",
    ]);
    expect(read?.deletionLines.map((text) => text.replace(/\n$/, ""))).toEqual(["a", "b", "c"]);
  });

  it("finds where changes begin", () => {
    expect(changeStarts(diffRows([hunk, second]))).toEqual([
      { row: 2, side: "deletions", line: 2 },
      { row: 7, side: "additions", line: 22 },
    ]);
    expect(longestLine([hunk, second])).toBe(2);
  });

  it.each<[number | null, 1 | -1, number, number | null]>([
    [null, 1, 3, 0],
    [null, -1, 3, 2],
    [0, 1, 3, 1],
    [2, 1, 3, null],
    [0, -1, 3, null],
    [null, 1, 0, null],
  ])("from %s by %s among %s goes to %s", (current, step, count, next) => {
    expect(stepTo(current, step, count)).toBe(next);
  });
});

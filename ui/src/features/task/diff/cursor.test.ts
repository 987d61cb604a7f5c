import { describe, expect, it } from "vitest";
import type { DiffLineKind } from "#ui/api/generated.ts";
import { at, lineToOpen } from "./cursor.ts";
import type { DiffRow } from "./hunks.ts";

const line = (kind: DiffLineKind, oldNo: number | null, newNo: number | null): DiffRow => ({
  type: "line",
  line: { kind, text: "", old_no: oldNo, new_no: newNo, no_newline: false },
});

const rows: DiffRow[] = [
  { type: "gap", header: "", oldNo: 10, newNo: 10 },
  line("context", 10, 10),
  line("removed", 11, null),
  line("added", null, 11),
  line("context", 12, 12),
  { type: "gap", header: "", oldNo: 30, newNo: 30 },
  line("context", 30, 30),
  line("removed", 31, null),
];

describe("the line that an editor goes to", () => {
  it("is the one that is pointed at, in the new version", () => {
    expect(lineToOpen(rows, at(4))).toBe(12);
    expect(lineToOpen(rows, { row: 4, anchor: 1, side: null })).toBe(10);
  });

  it("is the next one that is left where the line is gone, or the last one", () => {
    expect(lineToOpen(rows, at(2, "old"))).toBe(11);
    expect(lineToOpen(rows, at(7))).toBe(30);
  });

  it("is where the first change begins while none is pointed at", () => {
    expect(lineToOpen(rows, null)).toBe(11);
  });

  it("is none before lines are read, and where nothing is left", () => {
    expect(lineToOpen([], null)).toBeNull();
    expect(lineToOpen([line("removed", 1, null)], null)).toBeNull();
  });
});

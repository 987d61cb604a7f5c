import { describe, expect, it } from "vitest";
import { file, sampleHunk } from "#ui/test/sampleChanges.ts";
import { coverageOf, marksOf, matchesIn, matchFrom, toSearch } from "./find.ts";
import { diffRows } from "./hunks.ts";
import type { FileState } from "./loader.ts";
import { marked } from "./tokens.ts";

const rows = diffRows([sampleHunk(1, 1, "", " one Two two\n-two\n+TWO")]);
const state = (changes: object): FileState => ({
  loaded: { complete: true, first: { too_large: false }, rows: [], ...changes } as never,
  error: null,
});

describe("a text in the rows", () => {
  it("is found in either case, and with a capital in that case alone", () => {
    expect(matchesIn(rows, "two")).toEqual([
      { row: 1, from: 4, to: 7 },
      { row: 1, from: 8, to: 11 },
      { row: 2, from: 0, to: 3 },
      { row: 3, from: 0, to: 3 },
    ]);
    expect(matchesIn(rows, "Two")).toEqual([{ row: 1, from: 4, to: 7 }]);
    expect(matchesIn(rows, "")).toEqual([]);
  });

  it("is marked in its words, which keep their colours", () => {
    const tokens = [{ text: "ab", style: { color: "red" } }, { text: "cd" }];
    const marks = [{ from: 1, to: 3, current: true }];
    expect(
      marked(tokens, marks).map(({ text, mark, style }) => [text, mark, style?.color]),
    ).toEqual([
      ["a", "none", "red"],
      ["b", "current", "red"],
      ["c", "current", undefined],
      ["d", "none", undefined],
    ]);
  });

  it("is stepped to from the file that is read", () => {
    const matches = ["a", "c"].map((path) => ({ path, row: 1, from: 0, to: 1 }));
    expect(matchFrom(matches, ["a", "b", "c"], "b")).toBe(1);
    expect(matchFrom(matches, ["a", "b", "c"], null)).toBe(0);
    expect(marksOf(matches, 1).get("c")?.get(1)?.[0]?.current).toBe(true);
  });
});

describe("what was looked into", () => {
  const files = [
    file("read.ts"),
    file("unread.ts"),
    file("large.ts"),
    file("lock.json", { generated: true }),
    file("logo.png", { binary: true }),
  ];
  const states = new Map([
    ["read.ts", state({})],
    ["large.ts", state({ first: { too_large: true } })],
  ]);

  it("counts files that are read, and those that are not looked into", () => {
    expect(coverageOf(files, states)).toEqual({ searched: 1, total: 2, skipped: 3 });
  });

  it("reads what is text and not here", () => {
    expect(toSearch(files, states)).toEqual(["unread.ts"]);
  });
});

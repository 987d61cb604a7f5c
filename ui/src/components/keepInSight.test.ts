import { describe, expect, it } from "vitest";
import { heldAt } from "./keepInSight.ts";

const rows = [
  { key: "head", start: 100, end: 136 },
  { key: "one", start: 136, end: 156 },
  { key: "two", start: 156, end: 176 },
];
const after = (starts: Record<string, number>) => (key: string) => starts[key];

describe("what is held in sight after a change of rows", () => {
  it("is the first row in sight", () => {
    const starts = after({ head: 500, one: 536, two: 556 });
    expect(heldAt(rows, 160, starts)).toEqual({ key: "two", below: 4 });
  });

  it("is the next one in sight when that row is gone, so that what is below stays", () => {
    const all = [...rows, { key: "next", start: 176, end: 212 }];
    const starts = after({ head: 100, next: 400 });
    expect(heldAt(all, 160, starts)).toEqual({ key: "next", below: -16 });
  });

  it("is the nearest row above when none in sight is left", () => {
    expect(heldAt(rows, 160, after({ head: 40 }))).toEqual({ key: "head", below: 60 });
  });

  it("is nothing when nothing that was there is left", () => {
    expect(heldAt(rows, 160, after({}))).toBeNull();
    expect(heldAt([], 7, after({ head: 1 }))).toBeNull();
  });
});

import { beforeEach, describe, expect, it } from "vitest";
import { sampleHunk } from "#ui/test/sampleChanges.ts";
import { sampleComment } from "#ui/test/sampleDiff.ts";
import { drafts } from "#ui/draft/drafts.ts";
import { someFile } from "../testing/fixtures.ts";
import { formatRoute, parseRoute } from "#ui/app/router.ts";
import { diffQuery, placeIn } from "../diffPlace.ts";
import {
  countsOf,
  inReadingOrder,
  nearestRow,
  pathOn,
  placed,
  rowIndex,
  sidesOf,
  strays,
  targetOf,
  wholeFile,
} from "./comments.ts";
import { closeComposer, composerKey, composerOf, openComposer, writeComposer } from "./composer.ts";
import { at, cursorOf, moved, sidedLine } from "./cursor.ts";
import { diffRows } from "./hunks.ts";

// Rows: 0 gap, 1 context 10/10, 2 -11, 3 +11, 4 +12, 5 context 12/13, 6 gap, 7 context 40/41.
const rows = diffRows([sampleHunk(10, 10, "", " a\n-b\n+c\n+d\n e"), sampleHunk(40, 41, "", " z")]);
const index = rowIndex(rows);
const both = { old: true, new: true };
const newOnly = { old: false, new: true };

describe("lines that a new comment speaks of", () => {
  it("are the new side's, in whichever direction they were chosen", () => {
    const target = { side: "new", line: 10, lastLine: 12 };
    expect(targetOf(rows, 1, 4, both)).toEqual(target);
    expect(targetOf(rows, 4, 1, both)).toEqual(target);
  });

  it("are the old side's where only that has them, or it was pointed at", () => {
    expect(targetOf(rows, 2, 2, both)).toEqual({ side: "old", line: 11, lastLine: 11 });
    expect(targetOf(rows, 1, 2, both, "old")).toEqual({ side: "old", line: 10, lastLine: 11 });
    expect(targetOf(rows, 3, 4, both, "old")).toEqual({ side: "new", line: 11, lastLine: 12 });
  });

  it("are none where the shown old version is not the one comments are counted in", () => {
    expect(targetOf(rows, 2, 2, newOnly)).toBeNull();
    expect(targetOf(rows, 0, 0, both)).toBeNull();
  });

  it("end where the engine takes no more", () => {
    const many = diffRows([sampleHunk(1, 1, "", Array(700).fill("+x").join("\n"))]);
    expect(targetOf(many, 1, 700, both)).toEqual({ side: "new", line: 1, lastLine: 500 });
  });

  it("depend on what the scope compares", () => {
    expect(sidesOf("task", null)).toEqual(both);
    expect(sidesOf("since_review", null)).toEqual(newOnly);
    expect(sidesOf("turn", null)).toEqual(newOnly);
    expect(sidesOf("turn", "41c0ffee")).toEqual({ old: false, new: false });
  });
});

describe("where comments stand", () => {
  const moved = sampleComment({ id: "moved", line: 3, now_line: 11, now_last_line: 12 });
  const old = sampleComment({ id: "old", side: "old", line: 11 });
  const gone = sampleComment({ id: "gone", line: 11, outdated: true });
  const file = sampleComment({ id: "file" });
  const far = sampleComment({ id: "far", line: 300 });
  const names = (comments: readonly { id: string }[] | undefined) => comments?.map(({ id }) => id);

  it("is under their last line as it is now, else above all rows", () => {
    const { top, at } = placed([moved, old, gone, file, far], index, both);
    expect([...at.keys()]).toEqual(["new:12", "old:11"]);
    expect(names(at.get("new:12"))).toEqual(["moved"]);
    expect(names(top)).toEqual(["gone", "file", "far"]);
  });

  it("is above where their version is not shown", () => {
    expect(names(placed([old], index, newOnly).top)).toEqual(["old"]);
  });

  it("counts for the file, also by its old name", () => {
    const renamed = someFile("b.ts", { kind: "renamed", old_path: "a.ts" });
    const comments = [
      sampleComment({ path: "b.ts" }),
      sampleComment({ path: "b.ts", status: "resolved" }),
      sampleComment({ path: "a.ts", side: "old", status: "sent" }),
      sampleComment({ path: "c.ts" }),
    ];
    expect(countsOf(comments, [renamed]).get("b.ts")).toEqual({ open: 2, drafts: 1 });
    expect(strays(comments, [renamed]).map(({ path }) => path)).toEqual(["c.ts"]);
    expect(pathOn(renamed, "old")).toBe("a.ts");
    expect(pathOn(renamed, "new")).toBe("b.ts");
  });

  it("is walked as one reads: file by file, what stands above first", () => {
    const order = inReadingOrder(
      [
        sampleComment({ id: "b9", path: "b", line: 9 }),
        sampleComment({ id: "a9", path: "a", line: 9 }),
        sampleComment({ id: "a", path: "a" }),
        sampleComment({ id: "a2", path: "a", line: 2 }),
      ],
      [someFile("a"), someFile("b")],
    );
    expect(order.map(({ comment }) => comment.id)).toEqual(["a", "a2", "a9", "b9"]);
  });
});

describe("a line that somebody leads to", () => {
  it("is found, or the next one below, or it lies beyond", () => {
    expect(nearestRow(rows, "new", 12)).toEqual({ row: 4, exact: true, beyond: false });
    expect(nearestRow(rows, "new", 20)).toEqual({ row: 7, exact: false, beyond: false });
    expect(nearestRow(rows, "old", 99)).toEqual({ row: 7, exact: false, beyond: true });
    // The page ends on a line that the other side does not have.
    expect(nearestRow(rows.slice(0, 3), "new", 99)).toMatchObject({ row: 1, beyond: true });
    expect(nearestRow([], "new", 1)).toBeNull();
  });

  it("has an address that reads back", () => {
    const there = (place: Parameters<typeof diffQuery>[0]) => {
      const route = parseRoute(
        formatRoute("task", { project: "p", number: "1" }, diffQuery(place)),
      );
      return route.name === null ? null : placeIn(route.query);
    };
    expect(there({ file: "src/a b&c.ts", line: 12, side: "old" })).toEqual({
      file: "src/a b&c.ts",
      line: 12,
      side: "old",
    });
    expect(there({ file: "a" })).toEqual({ file: "a", line: null, side: "new" });
    expect(placeIn({ tab: "diff", file: "a", line: "-3" })?.line).toBeNull();
    expect(placeIn({ tab: "review", file: "a" })).toBeNull();
  });
});

describe("the cursor", () => {
  it("steps from line to line over what is between hunks, and stays at the ends", () => {
    expect(moved(rows, null, 1, false, 0)).toEqual(at(1));
    expect(moved(rows, at(5), 1, false, 0)).toEqual(at(7));
    expect(moved(rows, at(7), 1, false, 0)).toEqual(at(7));
    expect(moved(rows, at(1), -1, false, 0)).toEqual(at(1));
  });

  it("grows and shrinks from where it began", () => {
    const two = moved(rows, at(3), 1, true, 0);
    expect(two).toEqual({ row: 4, anchor: 3, side: null });
    expect(moved(rows, two, -1, true, 0)).toEqual(at(3));
    expect(moved(rows, two, 1, false, 0)).toEqual(at(5));
  });

  it("speaks of lines and sides as the viewer does", () => {
    const removed = { line: 11, side: "deletions" } as const;
    expect(sidedLine(rows[2], null)).toEqual(removed);
    expect(sidedLine(rows[1], "old")).toEqual({ line: 10, side: "deletions" });
    expect(cursorOf(index, removed, removed)).toEqual(at(2, "old"));
    expect(cursorOf(index, removed, { line: 12, side: "additions" })).toEqual({
      anchor: 2,
      row: 4,
      side: null,
    });
    expect(cursorOf(index, removed, { line: 500, side: "additions" })).toBeNull();
  });
});

describe("a comment being written", () => {
  beforeEach(() => drafts.setState({ drafts: {} }));

  it("is named by its place, whatever the path", () => {
    const target = { side: "old", line: 3, lastLine: 9 } as const;
    const key = composerKey("t1", "a:b/c.ts", target);
    expect(composerOf("t1", key)).toEqual({ key, path: "a:b/c.ts", ...target });
    expect(composerOf("t2", key)).toBeNull();
    expect(composerOf("t1", composerKey("t1", "a", wholeFile))).toMatchObject(wholeFile);
  });

  it("is kept by the window until it is saved or discarded", () => {
    const key = openComposer("t1", "a.ts", wholeFile);
    writeComposer(key, "But why?");
    expect(drafts.getState().drafts[key]?.text).toBe("But why?");
    closeComposer(key);
    expect(drafts.getState().drafts[key]?.text).toBe("");
  });
});

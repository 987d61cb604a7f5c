import { describe, expect, it } from "vitest";
import { file } from "#ui/test/sampleChanges.ts";
import { changedSince, lookOf } from "./looks.ts";
import { fingerprint, isSameContent, isViewed } from "./viewed.ts";

const change = file("a.ts", { added: 3, removed: 1, new_blob: null });
const named = { ...change, new_blob: "b1" };
const marks = (of: string) => ({ "a.ts": of });

describe("a file that was viewed", () => {
  it("stays viewed when its content is committed, and in another attempt that leaves it", () => {
    expect(isViewed(marks(fingerprint(change)), named)).toBe(true);
    expect(isViewed(marks(fingerprint(named)), { ...named })).toBe(true);
  });

  it("is unviewed when its content changes, also where as many lines are changed", () => {
    expect(isViewed(marks(fingerprint(named)), { ...named, new_blob: "b2" })).toBe(false);
    expect(isViewed(marks(fingerprint(named)), { ...named, added: 4 })).toBe(false);
    expect(isViewed({}, named)).toBe(false);
  });

  it("is known by a mark of an earlier version of the window", () => {
    expect(isSameContent("modified:3:1:4655:100644", named)).toBe(true);
  });
});

describe("changes since the last look", () => {
  const other = file("b.ts", { new_blob: "b7" });
  it("are files that are other ones, or were not there", () => {
    const look = lookOf([named, other], "2026-03-04T10:00:00Z");
    const now = [named, { ...other, new_blob: "b8" }, file("c.ts")];
    expect([...changedSince(look, now)]).toEqual(["b.ts", "c.ts"]);
  });

  it("are none at the first look", () => {
    expect(changedSince(null, [named, other]).size).toBe(0);
  });
});

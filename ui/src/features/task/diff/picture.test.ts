import { describe, expect, it } from "vitest";
import { samplePreview } from "#ui/test/samplePictures.ts";
import { addressOf, formatName, shares, sidesWith } from "./picture.ts";

describe("a picture among the changes", () => {
  it("is asked for where the file is", () => {
    expect(sidesWith({ kind: "added" })).toEqual(["new"]);
    expect(sidesWith({ kind: "deleted" })).toEqual(["old"]);
    expect(sidesWith({ kind: "renamed" })).toEqual(["old", "new"]);
  });

  it("has an address only when it is one, and one that no script runs at", () => {
    expect(addressOf(samplePreview({ data: "AA==" }))).toBe("data:image/png;base64,AA==");
    expect(addressOf(samplePreview({ kind: "too_large", data: null }))).toBeNull();
    expect(addressOf(samplePreview({ media_type: "text/html" }))).toBeNull();
    expect(addressOf(samplePreview({ media_type: null }))).toBeNull();
  });

  it("keeps its size beside another one", () => {
    expect(shares({ width: 100, height: 5 }, { width: 400, height: 5 })).toEqual([25, 100]);
    expect(shares({ width: 0, height: 0 }, { width: 0, height: 0 })).toEqual([0, 0]);
  });

  it("is called by its format", () => {
    expect([formatName("image/svg+xml"), formatName("image/x-new")]).toEqual([
      "SVG",
      "image/x-new",
    ]);
  });
});

import { describe, expect, it } from "vitest";
import { sampleCodeHost } from "#ui/test/sampleReview.ts";
import { draftOf, isWhole, settingOf } from "./codeHost.ts";

describe("a code host", () => {
  it("is what it was after a way through the form", () => {
    expect(settingOf(draftOf(sampleCodeHost))).toEqual(sampleCodeHost);
  });

  it("needs an owner and a repository; the address and the remote have usual values", () => {
    const empty = draftOf(null);
    expect(isWhole(empty)).toBe(false);
    const draft = { ...empty, owner: " acme ", repo: "website", url: " ", remote: "" };
    expect(isWhole(draft)).toBe(true);
    expect(settingOf(draft)).toEqual(sampleCodeHost);
  });
});

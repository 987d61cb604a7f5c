import { describe, expect, it } from "vitest";
import { collide, editedOf, patchFrom, patched, pathsOf, textOf } from "./settingsDraft.ts";

const own = { max_concurrent: 3, mcp: { inject: true }, review_config: { ci_steps: ["a", "b"] } };

describe("settings as a draft", () => {
  it.each<[object, object]>([
    [{ max_concurrent: 4 }, { ...own, max_concurrent: 4 }],
    [{ mcp: { inject: null } }, { max_concurrent: 3, review_config: own.review_config }],
    [{ review_config: { ci_steps: [] } }, { ...own, review_config: { ci_steps: [] } }],
    [{ target: { branch: "next" } }, { ...own, target: { branch: "next" } }],
  ])("applies the patch %j, and finds it again", (patch, after) => {
    expect(patched(own, patch)).toEqual(after);
    expect(patched(own, patchFrom(own, after))).toEqual(after);
  });

  it("names what was taken away with null", () => {
    expect(patchFrom(own, { mcp: { inject: true } })).toEqual({
      max_concurrent: null,
      review_config: { ci_steps: null },
    });
    const wholes = {
      code_host: { owner: "a" },
      issues: { rule: { labels: ["a"] } },
      model_prices: { m: { input: 1 } },
    };
    expect(patchFrom(wholes, {})).toEqual({
      code_host: null,
      issues: { rule: null },
      model_prices: { m: null },
    });
    expect(patchFrom({ prices: { a: 1, b: 2 } }, { prices: { b: 3 } })).toEqual({
      prices: { a: null, b: 3 },
    });
    expect(patchFrom(own, own)).toEqual({});
  });

  it("is one text in whatever order it was written", () => {
    expect(textOf({ b: [1, { d: 1, c: 2 }], a: 1 })).toBe(textOf({ a: 1, b: [1, { c: 2, d: 1 }] }));
  });

  it("leaves out what has an editor of its own", () => {
    expect(editedOf({ ...own, services: [], lifecycle_hooks: {}, workflow: {}, a: null })).toEqual(
      own,
    );
    expect(editedOf(null)).toEqual({});
  });

  it("tells changes of the same place from changes beside each other", () => {
    const mine = { review_config: { ci_steps: ["c"] }, max_concurrent: 1 };
    expect(pathsOf(mine)).toEqual(["review_config.ci_steps", "max_concurrent"]);
    expect(collide(mine, { mcp: { inject: false } })).toBe(false);
    expect(collide(mine, { review_config: null })).toBe(true);
    expect(collide(mine, { max_concurrent: 9 })).toBe(true);
  });
});

import { expect, it } from "vitest";
import { isOwn, linesAt, patchAt, valueAt } from "./settingsPath.ts";

const own = { max_concurrent: 2, review_config: { ci_steps: ["npm test"], allow_changes: null } };

it.each<[string, unknown, boolean]>([
  ["max_concurrent", 2, true],
  ["review_config.ci_steps", ["npm test"], true],
  ["review_config.allow_changes", null, false],
  ["merge_config.strategy", undefined, false],
  ["max_concurrent.deeper", undefined, false],
])("reads %s", (path, value, mine) => {
  expect(valueAt(own, path)).toEqual(value);
  expect(isOwn(own, path)).toBe(mine);
});

it("changes one value and returns one to its default", () => {
  expect(patchAt("auto_approve", true)).toEqual({ auto_approve: true });
  expect(patchAt("review_config.ci_steps", null)).toEqual({ review_config: { ci_steps: null } });
});

it("reads lists of lines, and nothing where there is none", () => {
  expect(linesAt(own, "review_config.ci_steps")).toEqual(["npm test"]);
  expect(linesAt(own, "setup")).toEqual([]);
  expect(linesAt({ ports: [80, 443, null] }, "ports")).toEqual(["80", "443"]);
});

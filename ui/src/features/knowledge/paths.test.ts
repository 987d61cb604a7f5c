import { expect, it } from "vitest";
import { linesOf, pathsIn } from "./paths.ts";

it.each([
  ["", []],
  ["src/a.ts", ["src/a.ts"]],
  [" src/a.ts \n\n docs, tests/ ", ["src/a.ts", "docs", "tests/"]],
])("%j names %j", (text, paths) => {
  expect(pathsIn(text)).toEqual(paths);
});

it("shows what was typed", () => {
  expect(pathsIn(linesOf(["a", "b c"]))).toEqual(["a", "b c"]);
});

import { expect, it } from "vitest";
import { usedOf } from "./dayLimit.ts";

it("nears a limit at 80 percent, and has reached one of nothing", () => {
  const standing = (today: number | null, limit: number) => usedOf(today, limit).standing;
  expect([0, 79, 80, 99, 100, 120].map((today) => standing(today, 100))).toEqual([
    "enough",
    "enough",
    "near",
    "near",
    "reached",
    "reached",
  ]);
  expect(standing(null, 100)).toBe("enough");
  expect(usedOf(0, 0)).toEqual({ part: 1, standing: "reached" });
});

import { expect, it } from "vitest";
import type { AgentLimits } from "#ui/api/generated.ts";
import { lengthOf, markOf, untilNextReset } from "./windows.ts";

it("names a window by the largest unit that divides its length, else as the program does", () => {
  const named = (minutes: number | null) => lengthOf({ minutes, name: "seven_day_opus" });
  expect([300, 10_080, 90, 1_500, 1_440].map(named)).toEqual([
    { unit: "hours", length: 5 },
    { unit: "days", length: 7 },
    { unit: "minutes", length: 90 },
    { unit: "hours", length: 25 },
    { unit: "days", length: 1 },
  ]);
  expect(named(null)).toEqual({ unit: "unknown", name: "seven day opus" });
});

it("marks a window from 90 percent on, and one that is used up", () => {
  const marks = [0, 89, 90, 99, 100, 130].map((used_percent) => markOf({ used_percent }));
  expect(marks).toEqual([null, null, "nearlyFull", "nearlyFull", "full", "full"]);
});

it("waits for the next window to begin anew, and not at all when none will", () => {
  const at = (ms: number) => new Date(ms).toISOString();
  const limits = (until: string | null, resets: (string | null)[]): AgentLimits => ({
    agent_id: "a",
    limited_until: until,
    windows: resets.map((resets_at, index) => ({
      name: String(index),
      minutes: null,
      used_percent: 1,
      resets_at,
      seen_at: at(0),
    })),
  });
  expect(untilNextReset(undefined, 0)).toBe(false);
  expect(untilNextReset([limits(null, [null, at(5_000)])], 5_000)).toBe(false);
  expect(untilNextReset([limits(at(9_000), [at(70_000)])], 5_000)).toBe(5_000);
  const never = limits(null, [at(90 * 24 * 3_600_000)]);
  expect(untilNextReset([never], 0)).toBe(24 * 3_600_000 + 1_000);
});

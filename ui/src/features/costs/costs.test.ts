import { expect, it } from "vitest";
import type { CostLine } from "#ui/api/generated.ts";
import { chartData, nearest, pointsOf, summaryOf } from "./line.ts";
import { day, money, ticks, times } from "./numbers.ts";
import { rangeOf, since } from "#ui/domain/range.ts";

const line: CostLine = {
  project_id: "p1",
  project_name: "Forge",
  model: "m",
  samples: 3,
  unknown: 0,
  at_ms: [3_000, 1_000, 2_000],
  cost_micro_usd: [900_000, 100_000, 200_000],
  median_micro_usd: [150_000, null, 100_000],
  limit_micro_usd: [300_000, null, 200_000],
  task_number: [3, 1, 2],
  is_anomaly: [true, false, false],
};

it("draws runs in the order of time, anomalies apart", () => {
  expect(chartData(pointsOf(line))).toEqual([
    [1, 2, 3],
    [null, 0.2, 0.3],
    [null, 0.1, 0.15],
    [0.1, 0.2, null],
    [null, null, 0.9],
  ]);
  expect(summaryOf(pointsOf(line))).toEqual({
    anomalies: 1,
    least: 100_000,
    most: 900_000,
    median: 150_000,
  });
});

it("means the run next to the pointer, if one is near", () => {
  const points = pointsOf(line);
  const away = (at: number) => (point: { at: number }) => Math.abs(point.at - at);
  expect(nearest(points, away(2_100), 200)?.task).toBe(2);
  expect(nearest(points, away(2_500), 200)).toBeNull();
  expect(nearest(points, () => 5, 200)?.task).toBe(3);
});

it("says small costs and days", () => {
  expect([0, 12_300_000, 4_200, 42].map(money)).toEqual([
    "$0.00",
    "$12.30",
    "$0.0042",
    "$0.000042",
  ]);
  expect(times(2.345)).toBe("2.35×");
  expect(day("2026-01-31")).toBe("Jan 31, 2026");
});

it("says the day of a time once", () => {
  const at = (...parts: [number, number, number, number?]) =>
    new Date(2026, ...parts).getTime() / 1_000;
  expect(ticks([at(10, 21, 22), at(10, 21, 23), at(10, 22, 0)], 3_600)).toEqual([
    "10:00 PM\nNov 21",
    "11:00 PM",
    "12:00 AM\nNov 22",
  ]);
  const second = at(10, 21, 22, 5);
  expect(ticks([second, second + 0.5], 0.5)).toEqual(["10:05:00 PM\nNov 21", ""]);
  expect(ticks([at(10, 21, 0)], 86_400)).toEqual(["Nov 21"]);
  expect(ticks([at(10, 1, 0)], 31 * 86_400)).toEqual(["Nov 2026"]);
});

it("looks at whole days", () => {
  const now = new Date(2026, 10, 22, 15, 30).getTime();
  expect(since("7", now)).toEqual({ since: new Date(2026, 10, 16).toISOString() });
  expect(since("all", now)).toEqual({});
  expect([undefined, "90", "x"].map(rangeOf)).toEqual(["30", "90", "30"]);
});

import { expect, it } from "vitest";
import { duration, relativeTime } from "./time.ts";

const now = Date.UTC(2030, 0, 15, 12);
const minutes = 60_000;

it.each<[number, string]>([
  [-20_000, "now"],
  [-5 * minutes, "5m ago"],
  [-3 * 60 * minutes, "3h ago"],
  [-24 * 60 * minutes, "yesterday"],
  [10 * minutes, "in 10m"],
])("says %d ms from now as %j", (offset, expected) => {
  expect(relativeTime(now + offset, now, "en-US")).toBe(expected);
});

it.each<[number, string]>([
  [0, "0s"],
  [-5, "0s"],
  [59_999, "59s"],
  [185_000, "3m 05s"],
  [7_800_000, "2h 10m"],
  [273_600_000, "3d 4h"],
])("says %d ms as %j", (milliseconds, expected) => {
  expect(duration(milliseconds)).toBe(expected);
});

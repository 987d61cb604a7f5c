import { expect, it } from "vitest";
import { placeOf } from "./noticePlace.ts";

it("leads to what a notification tells of", () => {
  const of = (kind: string | null) => ({ project: "p1", number: 7, kind });
  const both = (kind: string | null) => [placeOf(of(kind), "page"), placeOf(of(kind), "beside")];
  expect(both("blocked")).toEqual(["#/task/p1/7", "#/board/p1?task=7"]);
  expect(both(null)).toEqual(["#/task/p1/7", "#/board/p1?task=7"]);
  expect(both("race_decided")).toEqual(["#/task/p1/7?tab=race", "#/board/p1?task=7&tab=race"]);
  expect(both("cost_anomaly")).toEqual(["#/costs?of=p1", "#/costs?of=p1"]);
});

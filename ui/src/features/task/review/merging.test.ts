import { describe, expect, it } from "vitest";
import { sampleMerge, sampleQueueEntry } from "#ui/test/sampleReview.ts";
import { someTask } from "../testing/fixtures.ts";
import { conflicts, newestFirst, placeIn, waitsToMerge } from "./merging.ts";

describe("the line of a target", () => {
  const queue = [
    sampleQueueEntry({ task_id: "a", number: 1, place: 0 }),
    sampleQueueEntry({ task_id: "b", number: 2, place: 1 }),
    sampleQueueEntry({ task_id: "c", number: 3, place: 2 }),
    sampleQueueEntry({ task_id: "d", number: 4, place: 0, target: "release" }),
  ];

  it("tells who goes before in the order of turns, and knows one target from another", () => {
    expect(placeIn(queue, "c")?.before.map(({ number }) => number)).toEqual([1, 2]);
    expect(placeIn(queue, "a")?.before).toEqual([]);
    expect(placeIn(queue, "d")).toEqual({ target: "release", place: 0, before: [] });
    expect(placeIn(queue, "x")).toBeNull();
  });
});

describe("merges", () => {
  it("are told newest first", () => {
    const list = [
      sampleMerge({ id: "old", created_at: "2030-01-01T10:00:00Z" }),
      sampleMerge({ id: "new", created_at: "2030-01-01T11:00:00Z" }),
    ];
    expect(newestFirst(list).map(({ id }) => id)).toEqual(["new", "old"]);
  });

  it("conflict while the last word about them is a conflict", () => {
    const task = someTask();
    expect(conflicts(task, sampleMerge({ status: "conflict" }))).toBe(true);
    expect(conflicts(task, sampleMerge({ status: "landed" }))).toBe(false);
    expect(conflicts(task, undefined)).toBe(false);
  });

  it("are waited for here, or at a code host, which the pull request tells", () => {
    const waiting = (reason: "merge_queue" | "awaiting_merge" | "agent_busy") =>
      someTask({ waiting: { reason, message: "", until: null, files: [] } });
    expect(waitsToMerge(waiting("merge_queue"))).toBe(true);
    expect(waitsToMerge(waiting("awaiting_merge"))).toBe(false);
    expect(waitsToMerge(waiting("agent_busy"))).toBe(false);
    expect(waitsToMerge(someTask())).toBe(false);
  });
});

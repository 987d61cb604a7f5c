import { screen, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import type { Task } from "#ui/api/generated.ts";
import { sampleConflict, sampleMerge, sampleQueueEntry } from "#ui/test/sampleReview.ts";
import { someTask, someWorkspace } from "../testing/fixtures.ts";
import { layOut, refuse, show, violations, type Answers } from "../testing/show.tsx";

layOut();
beforeEach(() => {
  location.hash = "";
});

const page = <Item,>(items: Item[]) => ({ items, next_cursor: null });

async function open(change: Partial<Task>, more: Answers = {}) {
  const task = someTask({ status: "merging", workspace: someWorkspace(), ...change });
  const shown = show({ task }, { project_merge_queue: () => page([]), ...more });
  await screen.findByRole("tab", { name: "Review" });
  await shown.user.keyboard("3");
  return shown;
}

describe("the merge", () => {
  it("is not spoken of before there is one", async () => {
    await open({ status: "in_progress" });
    await screen.findByText("No review yet");
    expect(screen.queryByRole("region", { name: "Merge" })).toBeNull();
  });

  it("stands in line behind others, which are a press away", async () => {
    const { container } = await open(
      {
        review_passed_at: "2030-01-01T12:00:00Z",
        waiting: { reason: "merge_queue", message: "#9 goes first.", until: null, files: [] },
      },
      {
        project_merge_queue: () =>
          page([
            sampleQueueEntry(),
            sampleQueueEntry({ task_id: "t8", number: 8, title: "Shorten the log", place: 1 }),
            sampleQueueEntry({ task_id: "t1", number: 42, place: 2 }),
            sampleQueueEntry({ task_id: "t7", number: 7, place: 3 }),
          ]),
      },
    );
    const merge = await screen.findByRole("region", { name: "Merge" });
    expect(
      await within(merge).findByText("Queued for merge into main, behind 2 tasks."),
    ).toBeTruthy();
    const line = within(merge).getByRole("list", {
      name: "Merge queue for main",
    });
    expect(
      within(line)
        .getAllByRole("link")
        .map(({ textContent }) => textContent),
    ).toEqual(["#9Drop the old parser", "#8Shorten the log"]);
    expect(await violations(container)).toEqual([]);
  });

  it("says that it is its turn, and what is in the way", async () => {
    await open(
      {
        review_passed_at: "2030-01-01T12:00:00Z",
        waiting: {
          reason: "target_checkout_dirty",
          message: "main has changes.",
          until: null,
          files: ["src/settings.rs"],
        },
      },
      { project_merge_queue: () => page([sampleQueueEntry({ task_id: "t1", number: 42 })]) },
    );
    const merge = await screen.findByRole("region", { name: "Merge" });
    expect(await within(merge).findByText("Next in the merge queue for main.")).toBeTruthy();
    const files = within(merge).getByRole("list", { name: "Conflicting local files" });
    expect(within(files).getByText("src/settings.rs")).toBeTruthy();
  });

  it("lists every merge, newest first, and shows what conflicts", async () => {
    await open(
      { status: "merge_failed" },
      {
        task_merges: () =>
          page([
            sampleMerge({
              id: "m0",
              status: "failed",
              reason: "the target moved",
              created_at: "2030-01-01T10:00:00Z",
            }),
            sampleMerge({
              status: "conflict",
              merge_commit: null,
              created_at: "2030-01-01T11:00:00Z",
            }),
          ]),
        task_conflict: () => ({ conflict: sampleConflict() }),
      },
    );
    const merges = await screen.findByRole("list", { name: "Merges" });
    const rows = [...merges.children].map((row) => row.textContent);
    expect(rows[0]).toContain("Conflict");
    expect(rows[1]).toContain("the target moved");
    expect(await screen.findByText("settings.rs")).toBeTruthy();
    expect(screen.getAllByRole("button", { name: "Copy commit 9f4c1d27" })).toHaveLength(2);
  });

  it("does not bring up a conflict that was resolved", async () => {
    const { sent } = await open(
      { status: "done" },
      { task_merges: () => page([sampleMerge()]), task_delivery: refuse("not_found", "none") },
    );
    expect(await screen.findByText("Merged")).toBeTruthy();
    expect(sent("task_conflict")).toEqual([]);
  });

  it("says when it could not be read", async () => {
    await open({}, { task_merges: refuse("internal", "failed to read") });
    expect(await screen.findByText("Could not load the merges")).toBeTruthy();
  });
});

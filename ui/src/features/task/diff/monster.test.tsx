import { act, fireEvent, waitFor } from "@testing-library/react";
import { expect, it } from "vitest";
import type { DiffLine, ReadFileDiff } from "#ui/api/generated.ts";
import { followRenders } from "#ui/test/rendered.ts";
import {
  someExecution,
  someFile,
  someSummary,
  someTask,
  someWorkspace,
} from "../testing/fixtures.ts";
import { rowHeight } from "./items.ts";
import { layOut, show } from "../testing/show.tsx";

layOut();

/** So many rows take their time where others compile. */
const slow = { timeout: 60_000 };
const lines = 100_000;
/** Larger than asked for, so that the whole is there in a few of them. */
const pageRows = 50_000;
const change = someFile("data/all.csv", { kind: "added", added: lines, removed: 0 });

/** A page of the file, as the engine cuts it. */
function page({ start }: ReadFileDiff) {
  const from = start ?? 0;
  const count = Math.min(pageRows, lines - from);
  const added = Array.from({ length: count }, (_, at): DiffLine => {
    const number = from + at + 1;
    return {
      kind: "added",
      old_no: null,
      new_no: number,
      text: `row ${number}`,
      no_newline: false,
    };
  });
  const end = from + count;
  return {
    change,
    hunks: [
      {
        old_start: 0,
        old_lines: 0,
        new_start: from + 1,
        new_lines: count,
        header: "",
        lines: added,
      },
    ],
    too_large: false,
    lossy: false,
    next_start: end < lines ? end : null,
    total_rows: lines,
  };
}

it("draws of a diff of 100,000 lines what is in sight, and on a scroll what comes into it", async () => {
  location.hash = "#/task/p1/42?tab=diff";
  const { container, sent } = show(
    {
      task: someTask({ status: "review", workspace: someWorkspace() }),
      executions: [someExecution()],
    },
    { task_diff: () => someSummary([change]), task_diff_file: page },
  );
  const list = await waitFor(() => {
    const found = container.querySelector<HTMLElement>("[role=log]");
    if (!found?.querySelector("[data-row]")) throw new Error("no changes yet");
    return found;
  }, slow);
  const rows = () => list.querySelectorAll("[data-row]").length;
  const nodes = () => container.querySelectorAll("*").length;
  const scroll = async (top: number) => {
    list.scrollTop = top;
    fireEvent.scroll(list);
    await act(async () => {});
  };
  let most = nodes();
  // To the end, page after page.
  for (let read = 1; read <= lines / pageRows; read += 1) {
    await scroll(read * pageRows * rowHeight - 400);
    await waitFor(
      () =>
        expect(sent("task_diff_file").length).toBeGreaterThanOrEqual(
          Math.min(read + 1, lines / pageRows),
        ),
      slow,
    );
    most = Math.max(most, nodes());
    expect(rows()).toBeLessThan(150);
  }
  const asked = sent("task_diff_file") as ReadFileDiff[];
  expect(new Set(asked.map(({ start }) => start)).size).toBe(asked.length);
  expect(list.textContent).toContain(`row ${lines}`);
  expect(most).toBeLessThan(4_000);

  await scroll(500_000);
  const shown = () => [...list.querySelectorAll<HTMLElement>("[data-index]")];
  const before = new Set(shown().map(({ dataset }) => dataset["index"]));
  const { commits, stop } = followRenders();
  await scroll(500_200);
  stop();
  const fresh = shown().filter(({ dataset }) => !before.has(dataset["index"]));
  const drawn = commits.flat().filter((name) => name === "ChangeItem");
  expect(drawn.length).toBeGreaterThan(0);
  expect(drawn.length).toBeLessThanOrEqual(fresh.length);
  location.hash = "";
}, 120_000);

import { act, screen, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { DiffSummary, FileDiff, ReadFileDiff, SeenThere } from "#ui/api/generated.ts";
import { sampleHunk } from "#ui/test/sampleChanges.ts";
import {
  someExecution,
  someFile,
  someSummary,
  someTask,
  someWorkspace,
} from "../testing/fixtures.ts";
import { setPreference } from "#ui/store/preferences.ts";
import { layOut, show, violations } from "../testing/show.tsx";
import { everyMs } from "./there.ts";

layOut();
beforeEach(() => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
});
beforeEach(() => setPreference("diffOneFile", true));
afterEach(() => {
  vi.useRealTimers();
  location.hash = "";
});

const seen = (changes: Partial<SeenThere> = {}): SeenThere => ({
  machine_id: "m1",
  machine: "box",
  at: "2026-03-04T10:20:00.000Z",
  snapshot: "s1",
  error: null,
  ...changes,
});

/** The changes of a task at work, as the engine tells them now. */
function open(first: SeenThere | null) {
  location.hash = "#/task/p1/42?tab=diff&file=a.ts";
  const told: { now: DiffSummary } = { now: { ...someSummary([someFile("a.ts")]), there: first } };
  const task = someTask({ status: "in_progress", workspace: someWorkspace() });
  const shown = show(
    { task, executions: [someExecution()] },
    {
      task_diff: () => told.now,
      task_diff_file: ({ path }: ReadFileDiff): FileDiff => ({
        change: someFile(path),
        hunks: [sampleHunk(1, 1, "", `+${told.now.there?.snapshot ?? "here"}`)],
        too_large: false,
        lossy: false,
        next_start: null,
        total_rows: 1,
      }),
    },
  );
  const tell = (there: SeenThere | null) => {
    told.now = { ...told.now, there };
  };
  return { ...shown, tell };
}
const pass = (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms));

describe("changes on another machine", () => {
  it("are read again while they are shown, and the file with them when it is another one", async () => {
    const { sent, tell, container } = open(seen());
    expect(await screen.findByText(/Work continues on box/)).toBeTruthy();
    await within(await screen.findByRole("region", { name: "a.ts" })).findByText("s1");
    expect(await violations(container)).toEqual([]);
    const files = sent("task_diff_file").length;
    await pass(everyMs + 50);
    expect(sent("task_diff")).toHaveLength(2);
    expect(sent("task_diff_file")).toHaveLength(files);
    tell(seen({ snapshot: "s2" }));
    await pass(everyMs + 50);
    await within(await screen.findByRole("region", { name: "a.ts" })).findByText("s2");
    expect(sent("task_diff_file")).toHaveLength(files + 1);
    tell(null);
    await pass(everyMs + 50);
    const over = sent("task_diff").length;
    await pass(5 * everyMs);
    expect(sent("task_diff")).toHaveLength(over);
    expect(screen.queryByText(/Work continues/)).toBeNull();
  });

  it("say since when they are so while the machine does not answer", async () => {
    const { container } = open(seen({ error: "box does not answer" }));
    const said = await screen.findByText(/As of .*2026.*Could not read newer changes from box/);
    expect(said.textContent).toContain("box does not answer");
    expect(await violations(container)).toEqual([]);
  });

  it("are not read again by themselves while their files are here", async () => {
    const { sent } = open(null);
    await screen.findByRole("region", { name: "a.ts" });
    await pass(5 * everyMs);
    expect(sent("task_diff")).toHaveLength(1);
  });
});

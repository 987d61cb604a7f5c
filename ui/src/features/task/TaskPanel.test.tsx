import { screen, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Task } from "#ui/api/generated.ts";
import { setPreference } from "#ui/store/preferences.ts";
import {
  someFile,
  someReview,
  someSummary,
  someTask,
  someTransition,
  someWorkspace,
} from "./testing/fixtures.ts";
import { layOut, show, violations } from "./testing/show.tsx";

layOut();

const worked: Partial<Task> = { workspace: someWorkspace() };

describe("other tabs", () => {
  it("are reached by their numbers", async () => {
    const { user, container, dropKeys } = show(
      {
        task: someTask(worked),
        reviews: [
          someReview({
            steps: [
              {
                index: 0,
                command: "npm test",
                exit_code: 1,
                signal: null,
                timed_out: false,
                finished: true,
                duration_ms: 900,
                stdout_tail: "1 failed",
                stderr_tail: "",
                cached: false,
                changed_files: [],
                log_id: "c1",
              },
            ],
            reason: "Checks failed",
            decided_by: "system:review",
          }),
        ],
        transitions: [
          someTransition({
            steps: [
              {
                phase: "on_enter",
                action: "dispatch_role_agent",
                status: "done",
                outcome: "skipped",
                reason: "the role is not assigned",
                duration_ms: 1,
                log_id: null,
                message: null,
              },
            ],
          }),
        ],
      },
      {
        task_diff: () =>
          someSummary([someFile("src/a.ts"), someFile("logo.png", { binary: true })]),
      },
    );
    await screen.findByRole("tab", { name: "Conversation" });
    await user.keyboard("3");
    expect(await screen.findByText("1 failed")).toBeTruthy();
    expect(screen.getByText("1 of 3")).toBeTruthy();
    expect(screen.getByText("Decided by: Forge (review)")).toBeTruthy();
    expect(await violations(container)).toEqual([]);
    await user.keyboard("4");
    expect(await screen.findByText("No attempts yet")).toBeTruthy();
    expect(await violations(container)).toEqual([]);
    await user.keyboard("5");
    const more = await screen.findByRole("button", { name: "1 step skipped" });
    expect(screen.getByText("You (board) · claim")).toBeTruthy();
    await user.click(more);
    expect(screen.getByText("the role is not assigned")).toBeTruthy();
    expect(await violations(container)).toEqual([]);
    await user.keyboard("6");
    expect(await screen.findByText(someWorkspace().branch)).toBeTruthy();
    expect(await violations(container)).toEqual([]);
    dropKeys();
  });

  it("shows a file's rows, steps through files, and folds what is binary", async () => {
    setPreference("diffOneFile", true);
    const { user, sent, container, dropKeys } = show(
      { task: someTask(worked) },
      {
        task_diff: () =>
          someSummary([someFile("src/a.ts"), someFile("src/data.bin", { binary: true })]),
        task_diff_preview: () => ({
          kind: "other",
          size: 37,
          max_size: 10_485_760,
          media_type: null,
          width: null,
          height: null,
          data: null,
        }),
        task_diff_file: () => ({
          change: someFile("src/a.ts"),
          hunks: [
            {
              old_start: 1,
              old_lines: 1,
              new_start: 1,
              new_lines: 1,
              header: "main",
              lines: [
                { kind: "removed", old_no: 1, new_no: null, text: "before", no_newline: false },
                { kind: "added", old_no: null, new_no: 1, text: "after", no_newline: true },
              ],
            },
          ],
          too_large: false,
          lossy: false,
          next_start: null,
          total_rows: 2,
        }),
      },
    );
    await user.click(await screen.findByRole("tab", { name: /Diff/ }));
    expect(await screen.findByText("before")).toBeTruthy();
    expect(screen.getByText("after")).toBeTruthy();
    expect(await violations(container)).toEqual([]);
    await user.keyboard("n");
    expect(await screen.findByText("Binary file")).toBeTruthy();
    expect(sent("task_diff_file")).toHaveLength(1);
    await user.keyboard("p");
    await user.click(await screen.findByRole("checkbox", { name: "Viewed" }));
    expect(await screen.findByText("Binary file")).toBeTruthy();
    expect(screen.getByLabelText("Viewed", { selector: "svg" })).toBeTruthy();
    dropKeys();
  });
});

describe("in a narrow panel", () => {
  beforeEach(() => {
    vi.spyOn(Element.prototype, "getBoundingClientRect").mockReturnValue(
      new DOMRect(0, 0, 480, 600),
    );
  });

  it("gives the diff to the code: files over it on demand, evidence a press away", async () => {
    const { user, dropKeys } = show(
      {
        task: someTask({
          ...worked,
          status: "blocked",
          error_annotation: {
            type: "review_budget_exhausted",
            from_state: "review",
            message: "Checks failed three times",
            details: null,
            execution_id: null,
            evidence: { command: "npm test", exit_code: 1, output: "2 failed", log_id: null },
            at: new Date().toISOString(),
          },
        }),
      },
      {
        task_diff: () =>
          someSummary([someFile("a.png", { binary: true }), someFile("b.png", { binary: true })]),
      },
    );
    expect(await screen.findByText("2 failed")).toBeTruthy();
    await user.click(await screen.findByRole("tab", { name: /Diff/ }));
    expect(await screen.findByRole("heading", { name: "a.png" })).toBeTruthy();
    expect(screen.queryByRole("list", { name: "Changed files" })).toBeNull();
    expect(screen.queryByText("2 failed")).toBeNull();

    await user.click(screen.getByRole("button", { name: "File list" }));
    const files = screen.getByRole("list", { name: "Changed files" });
    await user.click(within(files).getByRole("button", { name: /b\.png/ }));
    expect(await screen.findByRole("heading", { name: "b.png" })).toBeTruthy();
    expect(screen.queryByRole("list", { name: "Changed files" })).toBeNull();

    await user.click(screen.getByRole("button", { name: "Show details" }));
    expect(screen.getByText("2 failed")).toBeTruthy();
    dropKeys();
  });
});

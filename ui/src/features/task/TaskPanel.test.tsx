import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { LogEntry, Task, TransitionStep, FollowUp } from "#ui/api/generated.ts";
import {
  someEntry,
  someExecution,
  someFile,
  someReview,
  someSummary,
  someTask,
  someTransition,
  someWorkspace,
} from "./testing/fixtures.ts";
import { setPreference } from "#ui/store/preferences.ts";
import { layOut, refuse, show, violations } from "./testing/show.tsx";

layOut();

const worked: Partial<Task> = { workspace: someWorkspace() };
const log: LogEntry[] = [
  someEntry(1, { kind: "user_message", body: { text: "Do the task.\nWell." } }),
  someEntry(2, { body: { text: "I will look **around**." } }),
  someEntry(3, {
    kind: "command",
    status: "completed",
    body: { command: "npm test", exit_code: 1, output: "\u001b[31m2 failed\u001b[0m" },
  }),
  someEntry(4, { kind: "stdout", id: "", body: { text: "building" } }),
  someEntry(5, { kind: "plan", body: { steps: [{ text: "look", done: true }, { text: "fix" }] } }),
  someEntry(6, { kind: "process_exit", body: { code: 0, duration_ms: 61_000, left_behind: 0 } }),
];
const blocked: Partial<Task> = {
  ...worked,
  status: "blocked",
  error_annotation: {
    type: "review_budget_exhausted",
    from_state: "review",
    message: "The checks failed three times.",
    details: null,
    execution_id: null,
    evidence: { command: "npm test", exit_code: 1, output: "2 failed", log_id: null },
    at: "2026-01-01T00:00:00Z",
  },
  offers: [
    { verb: "send_back", label: "Send back", fields: ["reason"], why: "Back to the agent." },
    { verb: "reset_budget", label: "Reset retries", fields: [], why: "Counts from zero." },
    { verb: "reset_workspace", label: "Reset worktree", fields: [], why: "A fresh worktree." },
  ],
};

describe("header", () => {
  it("starts the work with the agent that holds it", async () => {
    const { sent, user } = show(
      { task: someTask({ status: "todo" }) },
      { task_claim: () => someTask() },
    );
    const [start] = await screen.findAllByRole("button", { name: "Start" });
    if (start) await user.click(start);
    expect(sent("task_claim")).toEqual([{ task_id: "t1", agent_id: "a1", version: 7 }]);
  });

  it("says in place why the engine refused", async () => {
    const { user } = show(
      { task: someTask({ status: "todo" }) },
      { task_claim: refuse("agent_paused", "failed to start: the agent is paused") },
    );
    const [start] = await screen.findAllByRole("button", { name: "Start" });
    if (start) await user.click(start);
    const alert = await screen.findByRole("alert");
    expect(alert.textContent).toContain("the agent is paused");
    expect(alert.textContent).toContain("Do this instead.");
  });

  it("edits the title in place: Enter keeps, Escape gives up", async () => {
    const { sent, user } = show({ task: someTask() }, { task_update: () => someTask() });
    await user.click(await screen.findByRole("button", { name: "Rate-limit the login endpoint" }));
    await user.keyboard(" now{Escape}");
    expect(sent("task_update")).toEqual([]);
    await user.click(screen.getByRole("button", { name: "Rate-limit the login endpoint" }));
    await user.keyboard(" now{Enter}");
    await waitFor(() =>
      expect(sent("task_update")).toEqual([
        { task_id: "t1", version: 7, title: "Rate-limit the login endpoint now" },
      ]),
    );
  });

  it("gives a role to another and moves the task", async () => {
    const { sent, user } = show(
      { task: someTask() },
      {
        task_assign: () => someTask(),
        task_transition: () => ({ task: someTask(), review: null }),
      },
    );
    await user.click(await screen.findByRole("button", { name: "Reviewer: Unassigned" }));
    await user.click(await screen.findByRole("menuitem", { name: "You" }));
    expect(sent("task_assign")).toEqual([
      { task_id: "t1", role: "reviewer", holder: "user", version: 7 },
    ]);
    await user.click(await screen.findByRole("button", { name: "State: In progress" }));
    await user.click(await screen.findByRole("menuitem", { name: "Todo" }));
    expect(sent("task_transition")).toEqual([
      { task_id: "t1", to: "todo", version: 7, wait: "none" },
    ]);
  });
});

describe("banner", () => {
  it("shows the evidence and takes offers, with a form where a text is needed", async () => {
    const { sent, user, container } = show(
      { task: someTask(blocked) },
      { task_action: () => ({ task: someTask(), review: null }) },
    );
    const banner = await screen.findByRole("alert", { name: "Out of review retries" });
    expect(banner.textContent).toContain("npm test");
    expect(banner.textContent).toContain("exit 1");
    expect(banner.textContent).toContain("2 failed");
    expect(await violations(container)).toEqual([]);

    await user.click(within(banner).getByRole("button", { name: "Reset retries" }));
    expect(sent("task_action")).toEqual([
      { task_id: "t1", verb: "reset_budget", version: 7, wait: "none" },
    ]);
    await user.click(await within(banner).findByRole("button", { name: "Send back" }));
    const send = within(banner).getByRole("button", { name: /^Send back/ });
    expect(send.hasAttribute("disabled")).toBe(true);
    await user.type(within(banner).getByRole("textbox"), "Mind the proxy.");
    await user.keyboard("{Control>}{Enter}{/Control}");
    await waitFor(() =>
      expect(sent("task_action").at(-1)).toEqual({
        task_id: "t1",
        verb: "send_back",
        version: 7,
        wait: "none",
        reason: "Mind the proxy.",
      }),
    );
  });

  it("asks before the worktree is reset, and says what is lost", async () => {
    const { sent, user } = show(
      { task: someTask(blocked) },
      { task_action: () => ({ task: someTask(), review: null }) },
    );
    await user.click(await screen.findByRole("button", { name: "Reset worktree" }));
    const dialog = await screen.findByRole("alertdialog");
    expect(dialog.textContent).toContain("Earlier commits are not included.");
    expect(sent("task_action")).toEqual([]);
    await user.click(within(dialog).getByRole("button", { name: "Reset worktree" }));
    await waitFor(() => expect(sent("task_action")).toHaveLength(1));
  });

  it("approves the reviewed commit at once and asks for changes with a reason", async () => {
    const { sent, user } = show(
      {
        task: someTask({
          ...worked,
          status: "review",
          review: {
            attempt_number: 1,
            status: "awaiting_human",
            verdict: null,
            reviewed_commit: "c0ffee",
          },
        }),
      },
      {
        review_approve: refuse("not_awaiting", "failed to approve: nothing awaits you"),
        review_reject: () => ({ task: someTask(), review: null }),
      },
    );
    await user.click(await screen.findByRole("button", { name: "Approve" }));
    expect(sent("review_approve")).toEqual([{ task_id: "t1", wait: "none", commit: "c0ffee" }]);
    expect(await screen.findByText("failed to approve: nothing awaits you")).toBeTruthy();
    await user.click(screen.getByRole("button", { name: "Request changes" }));
    await user.type(await screen.findByRole("textbox", { name: "Reason" }), "Too slow.");
    await user.click(screen.getByRole("button", { name: /^Request changes/ }));
    await waitFor(() =>
      expect(sent("review_reject")).toEqual([{ task_id: "t1", wait: "none", reason: "Too slow." }]),
    );
  });

  it("names the files that are in the way of the merge", async () => {
    show({
      task: someTask({
        ...worked,
        status: "merging",
        waiting: {
          reason: "target_checkout_dirty",
          until: null,
          files: ["src/login.ts"],
          message: "Local changes touch what the merge changes",
        },
      }),
    });
    const banner = await screen.findByRole("alert");
    expect(banner.textContent).toContain("src/login.ts");
    expect(banner.textContent).toContain("Continues automatically once this is resolved.");
  });
});

describe("conversation", () => {
  it("draws what was said and done, and unfolds a command's output", async () => {
    const { user, container } = show({
      task: someTask(worked),
      executions: [someExecution()],
      entries: log,
    });
    expect(await screen.findByText("around")).toBeTruthy();
    expect(screen.getByText("building")).toBeTruthy();
    expect(screen.getByText("Exited with code 0 · 1m 01s")).toBeTruthy();
    expect(screen.queryByText("2 failed")).toBeNull();
    await user.click(screen.getByRole("button", { name: /npm test.*exit 1/ }));
    expect(await screen.findByText("2 failed")).toBeTruthy();
    expect(await violations(container)).toEqual([]);
  });

  it("reads only what follows when the log grows", async () => {
    const entries = [...log];
    const { platform, sent } = show({
      task: someTask(worked),
      executions: [someExecution({ status: "running", finished_at: null })],
      entries,
    });
    await screen.findByText("building");
    const before = sent("execution_logs").length;
    entries.push(someEntry(7, { body: { text: "One more thing." } }));
    platform.commit({ tags: ["log:e1"] });
    expect(await screen.findByText("One more thing.")).toBeTruthy();
    expect(sent("execution_logs").slice(before)).toEqual([
      { execution_id: "e1", after: 6, limit: 200 },
    ]);
  });

  it("sends a message with Ctrl+Enter and keeps it when it was refused", async () => {
    const { user } = show(
      { task: someTask(worked), executions: [someExecution()], entries: log },
      { execution_follow_up: refuse("conflict", "failed to send: the session is gone") },
    );
    const box = await screen.findByRole("textbox", { name: "Message to the agent" });
    await user.type(box, "And the tests?{Control>}{Enter}{/Control}");
    expect(await screen.findByText("failed to send: the session is gone")).toBeTruthy();
    expect((box as HTMLTextAreaElement).value).toBe("And the tests?");
  });

  it("tells the agent at work something now or after its run, and stops it", async () => {
    const live = {
      execution_id: "e1",
      agent_id: "a1",
      role: "coder",
      activity: "Testing",
      started_at: "2026-01-01T00:00:00Z",
    };
    const steps: TransitionStep[] = [];
    const { sent, user, platform } = show(
      {
        task: someTask({ ...worked, live }),
        executions: [someExecution({ status: "running", finished_at: null })],
        entries: log,
      },
      {
        execution_stop: () => someTask(),
        task_transitions: () => ({ items: [someTransition({ steps })], next_cursor: null }),
        execution_follow_up: ({ at_once, message }: FollowUp) => {
          if (!at_once) {
            steps.push({
              phase: "work_end",
              action: "follow_up",
              status: "pending",
              outcome: null,
              reason: null,
              duration_ms: null,
              log_id: null,
              message: { text: message, comments: 0, files: [] },
            });
          }
          platform.commit({ tags: ["task:t1"] });
          return someTask();
        },
      },
    );
    const box = await screen.findByRole("textbox", { name: "Message to the agent" });
    await user.type(box, "Use toml");
    await user.click(screen.getByRole("button", { name: /Send now/ }));
    await user.type(box, "Then the docs{Control>}{Enter}{/Control}");
    const waiting = await screen.findByRole("region", { name: "Queued messages" });
    expect(waiting.textContent).toBe("Sent after this runThen the docs");
    expect(sent("execution_follow_up")).toEqual([
      { execution_id: "e1", message: "Use toml", at_once: true },
      { execution_id: "e1", message: "Then the docs" },
    ]);
    expect((box as HTMLTextAreaElement).value).toBe("");
    const stops = screen.getAllByRole("button", { name: "Stop" });
    if (stops[1]) await user.click(stops[1]);
    expect(sent("execution_stop")).toEqual([{ execution_id: "e1" }]);
  });

  it("says so when work has not started, and when the log cannot be read", async () => {
    const { unmount } = show({ task: someTask({ status: "todo" }) });
    expect(await screen.findByText("No work yet")).toBeTruthy();
    unmount();
    show(
      { task: someTask(worked), executions: [someExecution()] },
      { execution_logs: refuse("io", "failed to read the log") },
    );
    expect(await screen.findByText("failed to read the log")).toBeTruthy();
  });
});

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

describe("details", () => {
  it("shows in place that a dependency would close a circle", async () => {
    const { user } = show(
      { task: someTask({ status: "todo" }) },
      {
        task_list: () => ({
          items: [someTask({ id: "t9", number: 9, title: "Log in", status: "todo" })],
          next_cursor: null,
        }),
        task_dependency_add: refuse("dependency_cycle", "failed to add: #42 -> #9 -> #42"),
      },
    );
    await user.click(await screen.findByRole("button", { name: "Add dependency" }));
    await user.type(
      await screen.findByRole("combobox", { name: "Find a task by number or title" }),
      "#9",
    );
    await user.click(await screen.findByRole("option", { name: "#9 Log in" }));
    expect(await screen.findByText("failed to add: #42 -> #9 -> #42")).toBeTruthy();
  });

  it("keeps own checks, one a line, and shows the prompt", async () => {
    const { sent, user } = show(
      { task: someTask({ status: "todo" }) },
      { task_update: () => someTask() },
    );
    await user.click(await screen.findByRole("button", { name: "Edit checks" }));
    const box = screen.getByRole("textbox", { name: "Checks" });
    await user.clear(box);
    await user.type(box, "make{Enter}make lint");
    await user.click(screen.getByRole("button", { name: "Save" }));
    expect(sent("task_update")).toEqual([
      { task_id: "t1", version: 7, review_config: { ci_steps: ["make", "make lint"] } },
    ]);
    await user.click(screen.getByRole("button", { name: "Preview prompt" }));
    expect(await screen.findByText("You are working on task 42.")).toBeTruthy();
  });
});

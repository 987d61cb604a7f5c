import { screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { ExecutionPath, FollowUp, LogEntry, Task, TransitionStep } from "#ui/api/generated.ts";
import {
  someEntry,
  someExecution,
  someTask,
  someTransition,
  someWorkspace,
} from "../testing/fixtures.ts";
import { layOut, refuse, show, violations } from "../testing/show.tsx";

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

  it("shows the one run that an address asks for, and the whole again", async () => {
    location.hash = "#/task/p1/42?tab=conversation&run=e1";
    const executions = [
      someExecution({ attempt: 1, started_at: "2026-01-01T00:00:00Z" }),
      someExecution({ id: "e2", attempt: 2, started_at: "2026-01-02T00:00:00Z" }),
    ];
    const second = someEntry(1, { execution_id: "e2", body: { text: "The second run." } });
    const { user, container } = show(
      { task: someTask(worked), executions, entries: [...log, second] },
      {
        execution_get: ({ execution_id: id }: ExecutionPath) =>
          executions.find((each) => each.id === id),
      },
    );
    const run = await screen.findByRole("region", { name: "Coder: Claude, attempt 1" });
    expect(await within(run).findByText("building")).toBeTruthy();
    expect(screen.queryByText("The second run.")).toBeNull();
    // It is over: what is said to the agent goes to its newest session.
    expect(screen.queryByRole("textbox", { name: "Message to the agent" })).toBeNull();
    expect(await violations(container)).toEqual([]);
    await user.click(screen.getByRole("button", { name: "Show whole conversation" }));
    expect(await screen.findByText("The second run.")).toBeTruthy();
    expect(await screen.findByText("building")).toBeTruthy();
    location.hash = "";
  });

  it("says so when the run that is asked for cannot be read", async () => {
    location.hash = "#/task/p1/42?tab=conversation&run=e9";
    const { user } = show(
      { task: someTask(worked), executions: [someExecution()], entries: log },
      { execution_get: refuse("not_found", "failed to find execution e9") },
    );
    expect(await screen.findByText("failed to find execution e9")).toBeTruthy();
    await user.click(screen.getByRole("button", { name: "Show whole conversation" }));
    expect(await screen.findByText("building")).toBeTruthy();
    location.hash = "";
  });
});

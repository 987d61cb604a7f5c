import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { Task, Transition, TransitionStep } from "#ui/api/generated.ts";
import { someEntry, someTask, someTransition, someWorkspace } from "./testing/fixtures.ts";
import { layOut, refuse, show, violations } from "./testing/show.tsx";

layOut();

const step = (action: string, change: Partial<TransitionStep> = {}): TransitionStep => ({
  phase: "before_enter",
  action,
  status: "done",
  outcome: "ok",
  reason: null,
  duration_ms: 12,
  log_id: null,
  message: null,
  ...change,
});
const page = (entries: ReturnType<typeof someEntry>[]) => ({
  entries,
  first_seq: entries[0]?.seq ?? 0,
  last_seq: entries.at(-1)?.seq ?? 0,
  total: entries.length,
});
const printed = () => page([someEntry(1, { kind: "stdout", body: { text: "licences are fine" } })]);

describe("the timeline", () => {
  const moves: Transition[] = [
    someTransition({
      id: "x1",
      at: "2030-01-01T12:00:00Z",
      steps: [
        step("before_work[0]", { log_id: "hook-1", duration_ms: 840 }),
        step("before_work[1]", {
          outcome: "skipped",
          reason: "skipped once by you: the server is down",
        }),
        step("run_merge", { outcome: "skipped", reason: "no worktree" }),
        step("auto_cascade_on_review_pass", { outcome: "cascade" }),
      ],
    }),
    someTransition({
      id: "x2",
      from: "in_progress",
      to: "review",
      trigger: "accept",
      actor: "system:workflow",
      at: "2030-01-01T12:05:00Z",
    }),
  ];
  const open = async (user: ReturnType<typeof show>["user"]) =>
    user.click(await screen.findByRole("tab", { name: "Timeline" }));

  it("shows hooks with how they ended, why one was skipped, and unfolds a log in place", async () => {
    const { user, container } = show(
      { task: someTask(), transitions: moves },
      { task_log: printed },
    );
    await open(user);
    expect(await screen.findByText("Hook 1 before work")).toBeTruthy();
    expect(screen.getByText("840ms")).toBeTruthy();
    expect(screen.getByText("skipped once by you: the server is down")).toBeTruthy();
    expect(screen.queryByText("no worktree")).toBeNull();
    const output = screen.getByRole("button", { name: "Output of Hook 1 before work" });
    expect(output.getAttribute("aria-expanded")).toBe("false");
    await user.click(output);
    expect(await screen.findByText("licences are fine")).toBeTruthy();
    expect(await violations(container)).toEqual([]);
    await user.click(output);
    expect(screen.queryByText("licences are fine")).toBeNull();
  });

  it("indents what a move led to, below it", async () => {
    const { user } = show({ task: someTask(), transitions: moves });
    await open(user);
    const bend = await screen.findByRole("img", { name: "Triggered by the move above" });
    const item = bend.closest("li");
    expect(item?.dataset["depth"]).toBe("1");
    expect(item?.textContent).toContain("Review");
    expect(item?.textContent).toContain("Forge (workflow)");
    expect(item?.previousElementSibling?.textContent).toContain("You (board)");
  });

  it("follows a set-up that runs now", async () => {
    const running = step("prepare_workspace", {
      status: "running",
      outcome: null,
      duration_ms: null,
      log_id: "setup-1",
    });
    const { user } = show(
      { task: someTask(), transitions: [someTransition({ steps: [running] })] },
      { task_log: printed },
    );
    await open(user);
    expect(await screen.findByText("Prepare the worktree")).toBeTruthy();
    expect(await screen.findByText("licences are fine")).toBeTruthy();
  });
});

describe("the workspace tab", () => {
  const open = async (user: ReturnType<typeof show>["user"]) =>
    user.click(await screen.findByRole("tab", { name: "Workspace" }));
  const closed: Partial<Task> = {
    status: "cancelled",
    workspace: someWorkspace({
      status: "scheduled",
      cleanup_at: new Date(Date.now() + 20 * 3_600_000).toISOString(),
    }),
  };

  it("says when a closed task's worktree goes, keeps it, and deletes it when asked twice", async () => {
    const { sent, user, container } = show(
      { task: someTask(closed) },
      {
        workspace_keep: () => someWorkspace(),
        workspace_remove: refuse("workspace_locked", "failed to remove: a shell is open in it"),
      },
    );
    await open(user);
    const section = await screen.findByRole("region", { name: "Removal" });
    expect(section.textContent).toMatch(/Removed in (19|20)h/);
    expect(await violations(container)).toEqual([]);
    await user.click(within(section).getByRole("button", { name: "Keep" }));
    await waitFor(() => expect(sent("workspace_keep")).toEqual([{ task_id: "t1" }]));
    await user.click(within(section).getByRole("button", { name: "Delete now" }));
    const dialog = await screen.findByRole("alertdialog", { name: "Delete the worktree of #42?" });
    expect(dialog.textContent).toContain("kept as a backup");
    expect(sent("workspace_remove")).toEqual([]);
    await user.click(within(dialog).getByRole("button", { name: "Delete now" }));
    expect(await within(dialog).findByText(/a shell is open in it/)).toBeTruthy();
    expect(sent("workspace_remove")).toEqual([{ task_id: "t1" }]);
  });

  it("offers neither while the task is open, and no reset that is not offered", async () => {
    const { user } = show({ task: someTask({ workspace: someWorkspace() }) });
    await open(user);
    await screen.findByText(someWorkspace().branch);
    expect(screen.queryByRole("button", { name: "Delete now" })).toBeNull();
    expect(screen.queryByRole("button", { name: "Reset worktree" })).toBeNull();
  });

  it("resets when that is offered, after saying that earlier commits are not in it", async () => {
    const reset = { verb: "reset_workspace" as const, label: "Reset", fields: [], why: "" };
    const { sent, user } = show(
      { task: someTask({ workspace: someWorkspace(), offers: [reset] }) },
      { workspace_reset: () => someWorkspace() },
    );
    await open(user);
    await user.click(await screen.findByRole("button", { name: "Reset worktree" }));
    const dialog = await screen.findByRole("alertdialog");
    expect(dialog.textContent).toContain("Earlier commits are not included.");
    await user.click(within(dialog).getByRole("button", { name: "Reset worktree" }));
    await waitFor(() => expect(sent("workspace_reset")).toEqual([{ task_id: "t1" }]));
  });

  it("shows the set-up's output while the worktree is made", async () => {
    const making = step("prepare_workspace", { status: "running", log_id: "setup-1" });
    const { user } = show(
      {
        task: someTask({ workspace: someWorkspace({ status: "creating" }) }),
        transitions: [someTransition({ steps: [making] })],
      },
      { task_log: printed },
    );
    await open(user);
    expect(await screen.findByText("Creating the worktree…", { exact: false })).toBeTruthy();
    expect(await screen.findByText("licences are fine")).toBeTruthy();
  });
});

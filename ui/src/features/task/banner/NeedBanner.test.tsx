import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { Task } from "#ui/api/generated.ts";
import { someTask, someWorkspace } from "../testing/fixtures.ts";
import { layOut, refuse, show, violations } from "../testing/show.tsx";

layOut();

const worked: Partial<Task> = { workspace: someWorkspace() };
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

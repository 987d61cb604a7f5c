import { act, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import type { ErrorAnnotation, Task, Waiting } from "#ui/api/generated.ts";
import { sampleTask } from "#ui/test/sample.ts";
import { sampleTrustFiles } from "#ui/test/sampleTrust.ts";
import { someExecution, someTask, someWorkspace } from "../testing/fixtures.ts";
import { layOut, show, violations } from "../testing/show.tsx";

layOut();

const trouble = (type: ErrorAnnotation["type"], change: Partial<ErrorAnnotation> = {}) => ({
  type,
  from_state: "in_progress",
  message: "What happened, in a sentence.",
  details: null,
  execution_id: null,
  evidence: null,
  at: "2026-01-01T00:00:00Z",
  ...change,
});
const waiting = (reason: Waiting["reason"], change: Partial<Waiting> = {}): Waiting => ({
  reason,
  until: null,
  files: [],
  message: "Why it waits.",
  ...change,
});

const hookFailed: Partial<Task> = {
  error_annotation: trouble("before_work_hook_failed", {
    hook: { event: "before_work", index: 1, command: "scripts/check-licence" },
    evidence: {
      command: "scripts/check-licence",
      exit_code: 3,
      output: "no licence for left-pad",
      log_id: "hook-before_work-1",
    },
  }),
  offers: [
    { verb: "retry_hook", label: "Rerun hook", fields: [], why: "Runs it again." },
    { verb: "skip_hook_once", label: "Skip hook once", fields: ["reason"], why: "This once." },
    { verb: "restart", label: "Start over", fields: [], why: "From the first column." },
  ],
};

describe("a hook that stopped the work before it began", () => {
  it("is told apart from an agent's failure: which hook, its command, how it ended", async () => {
    const { container } = show({ task: someTask(hookFailed) });
    const banner = await screen.findByRole("alert", {
      name: "A hook failed before work started",
    });
    const facts = within(banner).getAllByRole("definition");
    expect(facts.map((fact) => fact.textContent)).toEqual([
      "Hook 2 before workbefore_work[1]",
      "scripts/check-licence",
      "exit 3No agent was started.",
    ]);
    expect(banner.textContent).toContain("no licence for left-pad");
    expect(await violations(container)).toEqual([]);
  });

  it("opens the hook's log, runs it again, and skips it only with a reason", async () => {
    const { sent, user } = show(
      { task: someTask(hookFailed) },
      {
        task_action: () => ({ task: someTask(hookFailed), review: null }),
        task_log: () => ({ entries: [], first_seq: 0, last_seq: 0, total: 0 }),
      },
    );
    await user.click(await screen.findByRole("button", { name: "Open hook log" }));
    await screen.findByRole("dialog", { name: "scripts/check-licence" });
    await waitFor(() =>
      expect(sent("task_log")[0]).toMatchObject({ task_id: "t1", log_id: "hook-before_work-1" }),
    );
    await user.keyboard("{Escape}");
    await user.click(await screen.findByRole("button", { name: "Rerun hook" }));
    await user.click(await screen.findByRole("button", { name: "Skip hook once" }));
    const send = screen.getByRole("button", { name: /^Skip hook once/ });
    expect(send.hasAttribute("disabled")).toBe(true);
    await user.type(screen.getByRole("textbox", { name: "Reason" }), "The server is down.");
    await user.click(send);
    await waitFor(() =>
      expect(sent("task_action")).toEqual([
        { task_id: "t1", verb: "retry_hook", version: 7, wait: "none" },
        {
          task_id: "t1",
          verb: "skip_hook_once",
          version: 7,
          wait: "none",
          reason: "The server is down.",
        },
      ]),
    );
  });

  it("keeps the reason that is being written when it runs and fails again", async () => {
    let task = someTask(hookFailed);
    const { platform, user } = show({ task }, { task_get: () => task });
    const becomes = (next: Task) => {
      task = next;
      act(() => platform.commit({ tags: ["task:t1"] }));
    };
    await user.click(await screen.findByRole("button", { name: "Skip hook once" }));
    await user.type(screen.getByRole("textbox", { name: "Reason" }), "The server is down.");
    becomes(someTask());
    await waitFor(() => expect(screen.queryByRole("textbox", { name: "Reason" })).toBeNull());
    becomes(someTask(hookFailed));
    const reason = await screen.findByRole<HTMLTextAreaElement>("textbox", { name: "Reason" });
    expect(reason.value).toBe("The server is down.");
    await user.click(screen.getByRole("button", { name: "Cancel" }));
    await user.click(await screen.findByRole("button", { name: "Skip hook once" }));
    expect(screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Reason" }).value).toBe("");
  });

  it("says that it ran out of time", async () => {
    const timedOut = trouble("before_work_hook_timeout", {
      hook: { event: "before_work", index: 0, command: "sleep 60" },
    });
    show({ task: someTask({ error_annotation: timedOut }) });
    const banner = await screen.findByRole("alert", {
      name: "A hook timed out before work started",
    });
    expect(banner.textContent).toContain("timed out");
  });
});

describe("files that nobody trusts yet", () => {
  const untrusted: Partial<Task> = {
    status: "blocked",
    error_annotation: trouble("trust_required"),
    offers: [
      { verb: "trust_files", label: "Trust these files", fields: [], why: "They go on." },
      { verb: "retry", label: "Try again", fields: [], why: "Runs it again." },
    ],
  };

  it("are looked at before they are trusted", async () => {
    const files = sampleTrustFiles();
    const { sent, user } = show(
      { task: someTask(untrusted) },
      {
        project_trust: () => ({ trusted: false, commit: "9f4c1d27ab", files }),
        project_trust_accept: () => ({ trusted: true, commit: "9f4c1d27ab", files: [] }),
      },
    );
    await screen.findByRole("alert", { name: "Startup files not trusted" });
    await user.click(screen.getByRole("button", { name: "Trust these files" }));
    const dialog = await screen.findByRole("dialog", { name: "Startup files" });
    await within(dialog).findByRole("region", { name: ".envrc" });
    expect(sent("task_action")).toEqual([]);
    await user.click(within(dialog).getByRole("button", { name: "Trust these files" }));
    await waitFor(() => expect(screen.queryByRole("dialog", { name: "Startup files" })).toBeNull());
    expect(sent("project_trust_accept")).toMatchObject([{ project_id: "p1", task_id: "t1" }]);
    expect(sent("task_action")).toEqual([]);
  });
});

describe("other tasks", () => {
  const cancelled = sampleTask({ id: "t8", number: 8, title: "Design it", status: "cancelled" });
  const open = sampleTask({ id: "t9", number: 9, title: "Agree on it", status: "todo" });

  it("are linked: the cancelled one that it waited for", async () => {
    show({
      task: someTask({
        status: "blocked",
        depends_on: ["t8", "t9"],
        error_annotation: trouble("dependency_cancelled"),
      }),
      relatives: [cancelled, open],
    });
    const banner = await screen.findByRole("alert", {
      name: "A dependency was cancelled",
    });
    const link = await within(banner).findByRole("link");
    expect(link.textContent).toBe("#8Design it");
    expect(link.getAttribute("href")).toBe("#/task/p1/8");
  });

  it("are linked: the part at which the sequence stopped", async () => {
    const part = (id: string, number: number, status: string) =>
      sampleTask({
        id,
        number,
        status,
        title: `Part ${number}`,
        parent_id: "t1",
        execution_mode: "ordered_turn",
        subtask_order: number,
      });
    show({
      task: someTask({
        status: "blocked",
        subtasks: { closed: 1, total: 2 },
        error_annotation: trouble("subtask_paused"),
      }),
      relatives: [part("t8", 8, "done"), part("t9", 9, "in_progress")],
    });
    const banner = await screen.findByRole("alert", { name: "A subtask could not finish" });
    expect((await within(banner).findByRole("link")).textContent).toBe("#9Part 9");
  });

  it("are linked: those it waits for now", async () => {
    show({
      task: someTask({
        status: "in_progress",
        depends_on: ["t8", "t9"],
        blocked_by: ["t9"],
        waiting: waiting("dependency_open"),
      }),
      relatives: [cancelled, open],
    });
    const banner = await screen.findByRole("status", { name: "Waiting for another task" });
    const links = await within(banner).findAllByRole("link");
    expect(links.map((link) => link.textContent)).toEqual(["#9Agree on it"]);
  });
});

describe("waits", () => {
  it("count down to the end of a limit that ends by itself", async () => {
    const until = new Date(Date.now() + 90_500).toISOString();
    show({
      task: someTask({
        waiting: waiting("rate_limited", { until, message: "Limited until 14:05." }),
      }),
    });
    const banner = await screen.findByRole("status", {
      name: "Rate limited by the provider",
    });
    expect(banner.textContent).toContain("Limited until 14:05.");
    expect(banner.textContent).toMatch(/Continues automatically in 1m [23]\ds/);
  });

  it("name who holds the worktree", async () => {
    const lock = {
      execution_id: "e7",
      pid: 4711,
      start_time: 1,
      host: "desk",
      acquired_at: "2026-01-01T00:00:00Z",
    };
    show({
      task: someTask({
        workspace: someWorkspace({ lock }),
        waiting: waiting("workspace_locked"),
      }),
      executions: [someExecution({ id: "e7" })],
    });
    const banner = await screen.findByRole("status", { name: "Worktree in use" });
    await waitFor(() => expect(banner.textContent).toContain("Claude (Process 4711 on desk)"));
  });

  it.each<[Waiting["reason"], "status" | "alert"]>([
    ["agent_busy", "status"],
    ["project_busy", "status"],
    ["git_locked", "alert"],
    ["held", "alert"],
  ])("%s is a matter of %s", async (reason, role) => {
    show({ task: someTask({ waiting: waiting(reason, { message: "3rd in the queue." }) }) });
    const banner = (await screen.findAllByRole(role)).find(({ textContent }) =>
      textContent?.includes("3rd in the queue."),
    );
    expect(banner).toBeTruthy();
  });
});

it("brings the buttons under a text into sight when the form opens", async () => {
  const { user } = show({ task: someTask(hookFailed) });
  const into = vi.spyOn(Element.prototype, "scrollIntoView");
  await user.click(await screen.findByRole("button", { name: "Skip hook once" }));
  const send = await screen.findByRole("button", { name: /^Skip hook once/ });
  const shown = into.mock.contexts.filter((each) => each instanceof Element);
  expect(shown.some((each) => (each as Element).contains(send))).toBe(true);
});

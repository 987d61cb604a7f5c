import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import type { Review, Task } from "#ui/api/generated.ts";
import {
  sampleAudit,
  sampleComment,
  sampleReview,
  sampleStep,
  unusableAudit,
} from "#ui/test/sampleReview.ts";
import { file } from "#ui/test/sampleChanges.ts";
import { someEntry, someSummary, someTask, someWorkspace } from "../testing/fixtures.ts";
import { layOut, refuse, show, violations, type Answers } from "../testing/show.tsx";

layOut();
beforeEach(() => {
  location.hash = "";
});

const page = <Item,>(items: Item[]) => ({ items, next_cursor: null });
const log = (text: string) => () => ({
  entries: [someEntry(1, { kind: "stdout", body: { text } })],
  first_seq: 1,
  last_seq: 1,
  total: 1,
});
const inReview = (change: Partial<Task> = {}) =>
  someTask({
    status: "review",
    workspace: someWorkspace(),
    review: { attempt_number: 2, status: "running", verdict: null, reviewed_commit: null },
    ...change,
  });
const live = {
  execution_id: "e-live",
  agent_id: "a1",
  role: "reviewer",
  activity: "Reading src/limit.rs",
  started_at: "2030-01-01T12:00:00Z",
};

async function open(task: Task, reviews: Review[], more: Answers = {}) {
  const shown = show({ task, reviews }, more);
  await screen.findByRole("tab", { name: "Review" });
  await shown.user.keyboard("3");
  return shown;
}

describe("the auditor", () => {
  it("is shown at work, with what it prints, and can be stopped", async () => {
    const { user, sent, container } = await open(
      inReview({ live }),
      [
        sampleReview({
          attempt_number: 2,
          status: "running",
          verdict: null,
          finished_at: null,
          steps: [sampleStep({ cached: true })],
          audits: [unusableAudit({ agent_id: "a1" })],
        }),
      ],
      {
        task_log: log("comparing with main"),
        review_cancel: () => ({ task: inReview(), review: null }),
      },
    );
    const attempt = await screen.findByRole("region", { name: "Attempt 2" });
    const [first, second] = within(attempt).getAllByRole("group", { name: "Reviewer Claude" });
    expect(within(first as HTMLElement).getByText("No verdict")).toBeTruthy();
    expect(within(first as HTMLElement).getByText(/asked a second time/)).toBeTruthy();
    expect(within(second as HTMLElement).getByText("Reviewing")).toBeTruthy();
    expect(await within(second as HTMLElement).findByText("comparing with main")).toBeTruthy();
    expect(within(attempt).getByText("cached")).toBeTruthy();
    expect(screen.getByRole("button", { name: "Claude is reviewing" })).toBeTruthy();
    expect(await violations(container)).toEqual([]);
    await user.click(within(attempt).getByRole("button", { name: /^Stop review/ }));
    await waitFor(() => expect(sent("review_cancel")).toEqual([{ task_id: "t1" }]));
  });

  it("says why a review could not be stopped", async () => {
    const { user } = await open(
      inReview(),
      [sampleReview({ status: "running", verdict: null, finished_at: null })],
      { review_cancel: refuse("not_awaiting", "failed to stop the review: it is over") },
    );
    await screen.findByRole("button", { name: /^Stop review/ });
    await user.keyboard("{Shift>}S{/Shift}");
    expect(await screen.findByText("failed to stop the review: it is over")).toBeTruthy();
  });

  it("rejects with a score, a reason and findings that lead into the diff", async () => {
    const { container, user } = await open(
      inReview({
        status: "in_progress",
        review: { attempt_number: 1, status: "failed", verdict: "fail", reviewed_commit: null },
      }),
      [
        sampleReview({
          audits: [sampleAudit({ agent_id: "a1" })],
          reason: sampleAudit().reason,
          decided_by: "agent:a1",
        }),
      ],
    );
    const audit = await screen.findByRole("group", { name: "Reviewer Claude" });
    expect(within(audit).getByText("Changes requested")).toBeTruthy();
    const meter = within(audit).getByRole("meter", { name: "Score" });
    expect(meter.getAttribute("aria-valuenow")).toBe("41");
    expect(within(audit).getByText("41 of 100")).toBeTruthy();
    // Said once, though the attempt carries the same reason.
    expect(screen.getAllByText(/kept per process/)).toHaveLength(1);
    const findings = within(audit).getByRole("list", { name: "Findings" });
    expect(
      within(findings)
        .getAllByRole("listitem")
        .map((row) => within(row).getByRole("img").getAttribute("aria-label")),
    ).toEqual(["Error", "Warning", "Note"]);
    expect(screen.getByText("Decided by: Claude")).toBeTruthy();
    expect(screen.queryByText("What I looked at")).toBeNull();
    await user.click(within(audit).getByRole("button", { name: "Report" }));
    expect(await screen.findByText("What I looked at")).toBeTruthy();
    expect(await violations(container)).toEqual([]);
    const link = within(audit).getByRole("link", { name: "Show src/limit.rs:88 in the diff" });
    await user.click(link);
    await waitFor(() =>
      expect(screen.getByRole("tab", { selected: true }).textContent).toMatch(/Diff/),
    );
    expect(location.hash).toContain("line=88");
  });

  it("opens its log and its conversation", async () => {
    const { user } = await open(
      inReview({
        review: { attempt_number: 1, status: "failed", verdict: "fail", reviewed_commit: null },
      }),
      [sampleReview({ audits: [sampleAudit({ agent_id: "a1" })] })],
      { task_log: log("I read every line.") },
    );
    await user.click(await screen.findByRole("button", { name: "Log" }));
    const dialog = await screen.findByRole("dialog", { name: "Log of Claude" });
    expect(await within(dialog).findByText("I read every line.")).toBeTruthy();
    await user.keyboard("{Escape}");
    await user.click(screen.getByRole("button", { name: "Conversation" }));
    await waitFor(() =>
      expect(screen.getByRole("tab", { selected: true }).textContent).toBe("Conversation"),
    );
  });
});

describe("a check's output", () => {
  it("leads to the lines of changed files that it names, also in the whole log", async () => {
    const failed = sampleStep({
      exit_code: 1,
      stdout_tail: "\u001B[31merror\u001B[0m\n --> src/limit.rs:12:5\n --> src/other.rs:3:1",
    });
    const { user, container } = await open(
      inReview(),
      [sampleReview({ steps: [failed], audits: [] })],
      {
        task_diff: () => someSummary([file("src/limit.rs")]),
        task_log: log("thread panicked at src/limit.rs:40:9"),
      },
    );
    const link = await screen.findByRole("link", { name: "src/limit.rs:12" });
    expect(screen.queryByRole("link", { name: /other/ })).toBeNull();
    expect(await violations(container)).toEqual([]);
    await user.click(screen.getByRole("button", { name: "Full output" }));
    const whole = await screen.findByRole("dialog");
    expect(await within(whole).findByRole("link", { name: "src/limit.rs:40" })).toBeTruthy();
    await user.keyboard("{Escape}");
    await user.click(link);
    await waitFor(() =>
      expect(screen.getByRole("tab", { selected: true }).textContent).toMatch(/Diff/),
    );
    expect(location.hash).toContain("line=12");
  });
});

describe("an attempt", () => {
  it("that has no verdict from its auditor does not speak of the work", async () => {
    await open(
      inReview({
        review: {
          attempt_number: 1,
          status: "awaiting_human",
          verdict: null,
          reviewed_commit: null,
        },
      }),
      [
        sampleReview({
          status: "awaiting_human",
          verdict: null,
          audits: [unusableAudit({ agent_id: "gone" })],
          note: "the reviewer gave no verdict",
        }),
      ],
    );
    const audit = await screen.findByRole("group", {
      name: "Reviewer A deleted agent",
    });
    expect(within(audit).getByText("No verdict")).toBeTruthy();
    expect(within(audit).getByText(/says nothing about the quality of the work/)).toBeTruthy();
    expect(within(audit).queryByText(/asked a second time/)).toBeNull();
    expect(within(audit).queryByText("Changes requested")).toBeNull();
    expect(screen.getByText("the reviewer gave no verdict")).toBeTruthy();
  });

  it("counts no more than there was to spend", async () => {
    const spent = { used: 1, limit: 0 };
    const budgets = { ...inReview().budgets, merge_fix: spent };
    await open(inReview({ budgets }), [sampleReview()]);
    expect(await screen.findByText("0 of 0")).toBeTruthy();
  });

  it("streams what a check prints while it runs", async () => {
    await open(
      inReview(),
      [
        sampleReview({
          status: "running",
          verdict: null,
          finished_at: null,
          steps: [sampleStep({ finished: false, exit_code: null, duration_ms: null })],
        }),
      ],
      { task_log: log("test 12 of 214") },
    );
    expect(await screen.findByText("test 12 of 214")).toBeTruthy();
    const attempt = screen.getByRole("region", { name: "Attempt 1" });
    expect(within(attempt).getByText("0 of 1")).toBeTruthy();
    expect(screen.getByRole("button", { name: "Running checks" })).toBeTruthy();
  });

  it("is told newest first, and passed with nothing to say of an auditor", async () => {
    await open(
      inReview({
        review: { attempt_number: 2, status: "passed", verdict: "pass", reviewed_commit: null },
      }),
      [
        sampleReview({ id: "r1" }),
        sampleReview({
          id: "r2",
          attempt_number: 2,
          status: "passed",
          verdict: "pass_ci_only",
          reviewed_commit: null,
        }),
      ],
    );
    await screen.findByRole("region", { name: "Attempt 2" });
    const attempts = screen
      .getAllByRole("region", { name: /^Attempt/ })
      .map((region) => region.getAttribute("aria-label"));
    expect(attempts).toEqual(["Attempt 2", "Attempt 1"]);
    expect(screen.getByText("Passed, checks only")).toBeTruthy();
    expect(screen.queryByRole("button", { name: /^Stop review/ })).toBeNull();
  });

  it("is not there before the first, and an error is said", async () => {
    const { unmount } = await open(inReview({ review: null }), []);
    expect(await screen.findByText("No review yet")).toBeTruthy();
    unmount();
    await open(inReview(), [], { task_reviews: refuse("internal", "failed to read") });
    expect(await screen.findByText("Could not load the reviews")).toBeTruthy();
  });
});

describe("a person's decision", () => {
  const awaiting = inReview({
    review: { attempt_number: 1, status: "awaiting_human", verdict: null, reviewed_commit: null },
  });

  it("may send comments alone back", async () => {
    const { user, sent } = await open(awaiting, [], {
      task_comments: () =>
        page([
          sampleComment(),
          sampleComment({ id: "k2" }),
          sampleComment({ id: "k3", status: "sent" }),
        ]),
      review_reject: () => ({ task: awaiting, review: null }),
    });
    const banner = await screen.findByRole("alert", { name: "Ready for your review" });
    expect(await within(banner).findByText(/2 unsent comments on the diff/)).toBeTruthy();
    await user.click(within(banner).getByRole("button", { name: "Request changes" }));
    expect(within(banner).getByText(/Also sends 2 comments/)).toBeTruthy();
    await user.click(within(banner).getByRole("button", { name: /Request changes/ }));
    await waitFor(() => expect(sent("review_reject")).toEqual([{ task_id: "t1", wait: "none" }]));
  });

  it("rejects without a reason", async () => {
    const { user, sent } = await open(awaiting, []);
    const banner = await screen.findByRole("alert", { name: "Ready for your review" });
    await user.click(within(banner).getByRole("button", { name: "Request changes" }));
    await user.click(within(banner).getByRole("button", { name: /Request changes/ }));
    await waitFor(() => expect(sent("review_reject")).toEqual([{ task_id: "t1", wait: "none" }]));
  });
});

import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import type { FixDraft, FixProposal, Fixes } from "#ui/api/generated.ts";
import { someTask, someWorkspace } from "../testing/fixtures.ts";
import { layOut, refuse, show, violations, type Answers } from "../testing/show.tsx";
import { listed, openCount, rowsOf } from "./fixes.ts";

layOut();
beforeEach(() => {
  location.hash = "";
});

const patch = `diff --git a/src/total.rs b/src/total.rs
--- a/src/total.rs
+++ b/src/total.rs
@@ -1,3 +1,3 @@ fn total
 one
-two
+2
 three
\\ No newline at end of file
`;
const gate = { step: 0, command: "cargo test", exitCode: 101, failureIds: [] };

const someFix = (change: Partial<FixProposal> = {}): FixProposal => ({
  fixId: "f1",
  taskId: "t1",
  executionId: "e2",
  reviewId: "r1",
  baseCommit: "0123456789",
  strategy: null,
  files: ["src/total.rs"],
  addedLines: 1,
  removedLines: 1,
  gate,
  author: { agent: "a1", model: "sonnet" },
  costMicroUsd: null,
  status: "drafted",
  createdAt: "2030-01-01T12:00:00Z",
  appliedCommit: null,
  verification: null,
  reason: null,
  decidedBy: null,
  wantedBy: null,
  updatedAt: "2030-01-01T12:00:00Z",
  patch,
  ...change,
});
const someDraft = (change: Partial<FixDraft> = {}): FixDraft => ({
  reviewId: "r2",
  taskId: "t1",
  executionId: null,
  agentId: "a1",
  file: "src/other.rs",
  baseCommit: "0123456789",
  strategy: null,
  gate,
  status: "dropped",
  reason: "the answer contains no unified diff",
  fixId: null,
  startedAt: "2030-01-01T13:00:00Z",
  finishedAt: null,
  ...change,
});

async function open(proposals: FixProposal[], drafts: FixDraft[], more: Answers = {}) {
  const shown = show(
    { task: someTask({ workspace: someWorkspace() }) },
    { fix_list: () => ({ proposals, drafts }), ...more },
  );
  await screen.findByRole("tab", { name: /^Fixes/ });
  await shown.user.keyboard("4");
  return shown;
}

describe("the patch of a fix", () => {
  it("is read into numbered rows", () => {
    const rows = rowsOf(patch).map((row) =>
      row.type === "gap"
        ? `@@ ${row.oldNo} ${row.newNo} ${row.header}`
        : `${row.line.kind} ${row.line.old_no} ${row.line.new_no} ${row.line.text} ${row.line.no_newline}`,
    );
    expect(rows).toEqual([
      "@@ 1 1 fn total",
      "context 1 1 one false",
      "removed 2 null two false",
      "added null 2 2 false",
      "context 3 3 three true",
    ]);
  });
});

describe("the list", () => {
  const keys = (fixes: Fixes) => {
    const { now, earlier } = listed(fixes);
    return [now, earlier].map((entries) => entries.map(({ key }) => key));
  };

  it("begins with the newest and leaves out what led to a proposal", () => {
    const drafts = [someDraft(), someDraft({ reviewId: "r1", status: "drafted", fixId: "f1" })];
    const fixes = { proposals: [someFix(), someFix({ fixId: "f0", status: "verified" })], drafts };
    expect(keys(fixes)).toEqual([["r2", "f1"], ["f0"]]);
    expect(openCount(fixes)).toBe(1);
  });

  it("keeps what is over in sight while nothing newer is there", () => {
    const over = (fixId: string, createdAt: string) =>
      someFix({ fixId, createdAt, status: "rolled_back" });
    const proposals = [over("f1", "2030-01-01"), over("f2", "2030-01-02")];
    expect(keys({ proposals, drafts: [] })).toEqual([["f2"], ["f1"]]);
    expect(keys({ proposals: [], drafts: [] })).toEqual([[], []]);
  });
});

describe("the tab", () => {
  it("is not there while nothing was drafted", async () => {
    show({ task: someTask({ workspace: someWorkspace() }) });
    await screen.findByRole("tab", { name: "Review" });
    expect(screen.queryByRole("tab", { name: /^Fixes/ })).toBeNull();
  });

  it("counts what waits, shows the patch and has it applied", async () => {
    const { user, sent, container } = await open([someFix()], [someDraft()], {
      fix_apply: () => someFix({ status: "applied" }),
    });
    expect(screen.getByRole("tab", { name: /^Fixes/ }).textContent).toContain("1");
    const fix = await screen.findByRole("region", { name: "Fix for src/total.rs" });
    expect(within(fix).getByText("Needs your decision")).toBeTruthy();
    expect(within(fix).getByText("cargo test")).toBeTruthy();
    expect(within(fix).getByText("three", { exact: false })).toBeTruthy();
    expect(within(fix).getByText("cost unknown")).toBeTruthy();
    expect(
      screen.getByText(/did not draft a fix for src\/other.rs: the answer contains/),
    ).toBeTruthy();
    expect(await violations(container)).toEqual([]);
    await user.click(within(fix).getByRole("button", { name: "Apply the fix for src/total.rs" }));
    await waitFor(() => expect(sent("fix_apply")).toEqual([{ task_id: "t1", fix_id: "f1" }]));
  });

  it("is there for whoever was led to it, and says when nothing can be read", async () => {
    location.hash = "#/board/p1?task=1&tab=fixes";
    let broken = true;
    const { user } = show(
      { task: someTask({ workspace: someWorkspace() }) },
      {
        fix_list: () =>
          broken ? refuse("internal", "the database is locked")() : { proposals: [], drafts: [] },
      },
    );
    expect(await screen.findByText("the database is locked")).toBeTruthy();
    broken = false;
    await user.click(screen.getByRole("button", { name: "Try again" }));
    expect(await screen.findByText("No drafted fixes")).toBeTruthy();
  });

  it("obeys keys, and says aloud what became of the newest", async () => {
    let now = someFix();
    const { user, sent, platform } = await open([], [], {
      fix_list: () => ({ proposals: [now], drafts: [] }),
      fix_apply: () => now,
    });
    await screen.findByRole("region", { name: "Fix for src/total.rs" });
    await user.keyboard("{Shift>}a{/Shift}");
    await waitFor(() => expect(sent("fix_apply")).toHaveLength(1));
    const card = screen.getByRole("region", { name: "Fix for src/total.rs" });
    await waitFor(() => expect(document.activeElement).toBe(card));
    now = someFix({ status: "verified", appliedCommit: "abcdef0123" });
    platform.commit({ tags: ["task:t1"] });
    expect(await screen.findByText("Fix for src/total.rs: Verified")).toBeTruthy();
    expect(screen.getByRole("region", { name: "Fix for src/total.rs" })).toBe(card);
  });

  it("says why a fix stays as it is", async () => {
    const { user } = await open([someFix()], [], {
      fix_reject: refuse("fix_decided", "the fix is superseded"),
    });
    await user.click(
      await screen.findByRole("button", { name: "Reject the fix for src/total.rs" }),
    );
    expect(await screen.findByText("the fix is superseded")).toBeTruthy();
  });

  it("takes back what was applied, and what is over offers nothing", async () => {
    const verified = someFix({
      status: "verified",
      appliedCommit: "abcdef0123",
      decidedBy: "user:board",
      verification: {
        passed: true,
        exitCode: 0,
        timedOut: false,
        durationMs: 12,
        logId: "fix-1",
        at: "2030-01-01T12:01:00Z",
      },
    });
    const over = someFix({
      fixId: "f2",
      createdAt: "2029-12-31T12:00:00Z",
      files: ["b"],
      status: "rolled_back",
      reason: "it did not help",
    });
    const { user, sent } = await open([verified, over], [], {
      fix_rollback: () => someFix({ status: "rolled_back" }),
    });
    await user.click(
      await screen.findByRole("button", { name: "Roll back the fix for src/total.rs" }),
    );
    await waitFor(() => expect(sent("fix_rollback")).toEqual([{ task_id: "t1", fix_id: "f1" }]));
    const rest = screen.getByRole("group", { name: "Fix for b" });
    expect(within(rest).queryByText("Reason: it did not help")).toBeNull();
    await user.click(within(rest).getByRole("button", { name: /^b\b/ }));
    expect(within(rest).getByText("Reason: it did not help")).toBeTruthy();
    expect(within(rest).queryByRole("button", { name: /^(Apply|Reject|Roll back)/ })).toBeNull();
    expect(within(rest).getByText("three", { exact: false })).toBeTruthy();
    expect(
      within(screen.getByRole("region", { name: "Fix for src/total.rs" })).getByText("passes"),
    ).toBeTruthy();
  });
});

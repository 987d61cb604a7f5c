/**
 * Drafted fixes in every state, with the tasks that they mend (`?sample=fixes`). The recorded agent drafts none: fixes are
 * made here.
 */
import type { FixDraft, FixProposal, Fixes, Offer, Task } from "#ui/api/generated.ts";
import { pageOf, refuse, type Handlers } from "./answers.ts";
import { sampleTask, sampleUsage, sampleWorkspace } from "./sample.ts";
import { sampleReview, sampleStep } from "./sampleReview.ts";
import { at } from "./sampleTasks.ts";

const commit = "9f4c1d27ab5e4e07a2f1c3b6d8e9f0a1b2c3d4e5";

const small = `diff --git a/src/limit.rs b/src/limit.rs
--- a/src/limit.rs
+++ b/src/limit.rs
@@ -86,7 +86,7 @@ impl Limiter {
     pub fn allows(&mut self, address: IpAddr, now: Instant) -> bool {
         let window = self.windows.entry(address).or_default();
         window.forget_before(now - self.length);
-        if window.len() > self.most {
+        if window.len() >= self.most {
             return false;
         }
         window.push(now);
`;

const larger = `diff --git a/tests/login/limits_per_address_and_account.rs b/tests/login/limits_per_address_and_account.rs
--- a/tests/login/limits_per_address_and_account.rs
+++ b/tests/login/limits_per_address_and_account.rs
@@ -1,9 +1,10 @@
+//! The limits of the login endpoint, by address and by account.
 use std::time::{Duration, Instant};
 
-use shop::limit::Limiter;
+use shop::limit::{Limiter, Window};
 
 fn limiter() -> Limiter {
-    Limiter::new(5, Duration::from_secs(60)).with_account_limit(20).with_clock(|| Instant::now() + Duration::from_millis(1))
+    Limiter::new(Window { most: 5, length: Duration::from_secs(60) }).with_account_limit(20).with_clock(Instant::now)
 }
 
 #[test]
@@ -41,12 +42,18 @@ fn the_sixth_attempt_is_refused() {
     for _ in 0..5 {
         assert!(limiter.allows(ADDRESS, now));
     }
-    assert!(!limiter.allows(ADDRESS, now));
+    assert!(!limiter.allows(ADDRESS, now), "five a minute, not six");
+}
+
+#[test]
+fn another_address_is_not_concerned() {
+    let mut limiter = limiter();
+    assert!(limiter.allows(OTHER, Instant::now()));
 }
 
 #[test]
 fn the_window_slides() {
     let mut limiter = limiter();
-    let later = now + Duration::from_secs(60);
+    let later = now + Duration::from_secs(61);
     assert!(limiter.allows(ADDRESS, later));
 }
\\ No newline at end of file
`;

export function sampleFix(change: Partial<FixProposal> = {}): FixProposal {
  return {
    fixId: "f1",
    taskId: "t1",
    executionId: "e-draft",
    reviewId: "r1",
    baseCommit: commit,
    strategy: null,
    files: ["src/limit.rs"],
    addedLines: 1,
    removedLines: 1,
    gate: {
      step: 0,
      command: "cargo test --workspace",
      exitCode: 101,
      failureIds: ["src/limit.rs: assertion failed"],
    },
    author: { agent: "a2", model: "claude-sonnet-5" },
    costMicroUsd: 18_400,
    status: "drafted",
    createdAt: at(4),
    appliedCommit: null,
    verification: null,
    reason: null,
    decidedBy: null,
    wantedBy: null,
    updatedAt: at(4),
    patch: small,
    ...change,
  };
}

export function sampleDraft(change: Partial<FixDraft> = {}): FixDraft {
  return {
    reviewId: "r2",
    taskId: "t1",
    executionId: null,
    agentId: "a2",
    file: "src/limit.rs",
    baseCommit: commit,
    strategy: null,
    gate: sampleFix().gate,
    status: "dropped",
    reason: "the answer contains no unified diff",
    fixId: null,
    startedAt: at(31),
    finishedAt: at(30),
    ...change,
  };
}

const applied = (passed: boolean): Partial<FixProposal> => ({
  appliedCommit: "77aa5512c0ffee00b1c2d3e4f5a6978812345678",
  decidedBy: "user:board",
  wantedBy: null,
  verification: {
    passed,
    exitCode: passed ? 0 : 101,
    timedOut: false,
    durationMs: 41_200,
    logId: "c-fix",
    at: at(2),
  },
});

const test = "tests/login/limits_per_address_and_account.rs";

/** All that came before: one of each end. */
const history: readonly FixProposal[] = [
  sampleFix({
    fixId: "f-old",
    status: "superseded",
    reason: "src/limit.rs changed since it was drafted",
    createdAt: at(58),
    costMicroUsd: null,
  }),
  sampleFix({
    fixId: "f-rejected",
    status: "rejected",
    decidedBy: "user:mcp",
    wantedBy: null,
    files: [test],
    addedLines: 11,
    removedLines: 4,
    patch: larger,
    createdAt: at(140),
  }),
  sampleFix({
    ...applied(false),
    fixId: "f-back",
    status: "rolled_back",
    reason: "it did not help: `cargo test --workspace` exits with 101",
    author: { agent: "a-gone", model: null },
    createdAt: at(300),
  }),
  sampleFix({
    ...applied(true),
    fixId: "f-verified",
    status: "verified",
    decidedBy: "system:review",
    wantedBy: null,
    createdAt: at(1_500),
  }),
];

interface Kind {
  readonly title: string;
  readonly proposals: readonly FixProposal[];
  readonly drafts?: readonly FixDraft[];
  readonly task?: Partial<Task>;
}

const kinds: readonly Kind[] = [
  {
    title: "Rate-limit the login endpoint",
    proposals: [sampleFix(), ...history],
    drafts: [
      sampleDraft(),
      sampleDraft({
        reviewId: "r3",
        file: test,
        reason: "the patch changes 412 lines, 200 are allowed",
        startedAt: at(220),
      }),
    ],
  },
  {
    title: "A fix is drafted",
    proposals: [],
    drafts: [sampleDraft({ status: "drafting", reason: null, startedAt: at(0), finishedAt: null })],
  },
  {
    title: "A fix is applied and checked",
    proposals: [
      sampleFix({ ...applied(true), status: "applied", verification: null, createdAt: at(1) }),
    ],
  },
  {
    title: "A fix helped",
    proposals: [sampleFix({ ...applied(true), status: "verified", patch: larger, files: [test] })],
    task: {
      status: "review",
      review: { attempt_number: 2, status: "passed", verdict: "pass", reviewed_commit: null },
    },
  },
  {
    title: "A fix did not help",
    proposals: [history[2] ?? sampleFix()],
    task: {
      status: "blocked",
      error_annotation: {
        type: "review_budget_exhausted",
        from_state: "review",
        message: "The checks failed 3 times; the last one is `cargo test --workspace`.",
        details: null,
        execution_id: null,
        evidence: null,
        at: at(2),
      },
    },
  },
  { title: "Nothing was drafted", proposals: [] },
  { title: "The fixes cannot be read", proposals: [] },
];

const offers: Offer[] = [{ verb: "hold", label: "Hold", fields: [], why: "" }];

export function sampleFixTasks(project: string): Task[] {
  return kinds.map(({ title, task }, index) =>
    sampleTask({
      id: `t${index + 1}`,
      number: index + 1,
      title,
      project_id: project,
      position: index,
      status: "in_progress",
      roles: { coder: { type: "agent", id: "a2" } },
      review: { attempt_number: 1, status: "failed", verdict: "fail", reviewed_commit: null },
      workspace: sampleWorkspace(),
      diff_stat: { files: 2, added: 34, removed: 8 },
      usage: { ...sampleUsage, cost_micro_usd: 412_000 },
      status_since: at(3),
      offers,
      ...task,
    }),
  );
}

/** What is read of task #N; the fixes of #7 cannot be read. */
const stored = new Map(
  kinds.map(({ proposals, drafts = [] }, index): [string, Fixes] => {
    const taskId = `t${index + 1}`;
    return [
      taskId,
      {
        proposals: proposals.map((fix) => ({ ...fix, taskId })),
        drafts: drafts.map((draft) => ({ ...draft, taskId })),
      },
    ];
  }),
);

export function fixAnswers(): Handlers {
  return {
    fix_list: ({ task_id }) =>
      task_id === "t7"
        ? refuse("internal", "failed to read the fixes: the database is locked by another program")
        : (stored.get(task_id) ?? { proposals: [], drafts: [] }),
    task_reviews: ({ task_id }) =>
      pageOf([
        sampleReview({
          id: "r1",
          task_id,
          steps: [sampleStep({ exit_code: 101, stdout_tail: "src/limit.rs:89: assertion failed" })],
        }),
      ]),
  };
}

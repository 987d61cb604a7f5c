/** A host's answers about reviews, merges, pull requests and deliveries, with a task for each (`?sample=review`). */
import type { AnnotationType, Offer, Task, Waiting } from "#ui/api/generated.ts";
import { pageOf, refuse, type Handlers } from "./answers.ts";
import { sampleTask, sampleUsage, sampleWorkspace } from "./sample.ts";
import {
  sampleAudit,
  sampleComment,
  sampleConflict,
  sampleDelivery,
  sampleMerge,
  samplePullRequest,
  sampleQueueEntry,
  sampleReview,
  sampleStanding,
  sampleStep,
  sampleTaskPullRequest,
  unusableAudit,
} from "./sampleReview.ts";

const at = (minutesAgo: number) => new Date(Date.now() - minutesAgo * 60_000).toISOString();
const offer = (verb: Offer["verb"], label: string, fields: string[] = []): Offer => ({
  verb,
  label,
  fields,
  why: "What it is good for here.",
});
const trouble = (type: AnnotationType, message: string, state: string) => ({
  error_annotation: {
    type,
    from_state: state,
    message,
    details: null,
    execution_id: null,
    evidence: null,
    at: at(6),
  },
});
const waits = (reason: Waiting["reason"], message: string, more: Partial<Waiting> = {}) => ({
  waiting: { reason, message, until: null, files: [], ...more },
});
const badge = (status: "running" | "awaiting_human" | "passed" | "failed") => ({
  review: { attempt_number: 1, status, verdict: null, reviewed_commit: null },
});
const passed = { ...badge("passed"), review_passed_at: at(8) };
const closed = {
  ...passed,
  usage: { ...sampleUsage, cost_micro_usd: 2_140_000 },
  diff_stat: { files: 4, added: 212, removed: 38 },
};

const kinds: readonly (Partial<Task> & { id: string; title: string })[] = [
  {
    id: "auditing",
    title: "The auditor reads",
    status: "review",
    ...badge("running"),
    live: {
      execution_id: "e-audit",
      agent_id: "a2",
      role: "reviewer",
      activity: "Reading src/limit.rs",
      started_at: at(2),
    },
  },
  { id: "rejected", title: "The reviewer rejected it", status: "in_progress", ...badge("failed") },
  {
    id: "unusable",
    title: "The reviewer gave no verdict",
    status: "review",
    ...badge("awaiting_human"),
    ...trouble("reviewer_unusable", "the reviewer gave no verdict", "review"),
    offers: [
      offer("approve", "Approve", ["reason"]),
      offer("send_back", "Send back", ["reason"]),
      offer("retry", "Ask again"),
    ],
  },
  { id: "awaiting", title: "It awaits you", status: "review", ...badge("awaiting_human") },
  { id: "checking", title: "Checks run", status: "review", ...badge("running") },
  {
    id: "queued",
    title: "It stands in line",
    status: "merging",
    ...passed,
    ...waits("merge_queue", "#9 is merged into main first."),
  },
  {
    id: "dirty",
    title: "The checkout is dirty",
    status: "merging",
    ...passed,
    ...waits("target_checkout_dirty", "main is checked out with changes that are in the way", {
      files: ["src/settings.rs", "Cargo.lock"],
    }),
  },
  {
    id: "conflict",
    title: "The merge conflicts",
    status: "merge_failed",
    ...passed,
    ...trouble("merge_conflict", "2 files conflict with main.", "merging"),
    offers: [offer("retry", "Try again"), offer("send_back", "Send back", ["reason"])],
  },
  {
    id: "pull",
    title: "Its pull request is open",
    status: "merging",
    ...passed,
    ...waits("awaiting_merge", "Pull request #128 is open."),
  },
  {
    id: "unreachable",
    title: "The code host does not answer",
    status: "merging",
    ...passed,
    ...waits("host_unreachable", "github.com did not answer.", { until: at(-2) }),
  },
  {
    id: "closed",
    title: "Its pull request was closed",
    status: "blocked",
    ...passed,
    ...trouble("pr_closed_without_merge", "Pull request #128 was closed by kim.", "merging"),
    offers: [offer("retry", "Open it again"), offer("send_back", "Send back", ["reason"])],
  },
  { id: "done", title: "It is delivered", status: "done", ...closed },
  { id: "donePull", title: "It was delivered by a pull request", status: "done", ...closed },
  { id: "doneOld", title: "It was closed long ago", status: "done" },
  { id: "gone", title: "It was given up", status: "cancelled" },
];

export const sampleReviewTasks = (project: string): Task[] =>
  kinds.map((change, index) =>
    sampleTask({
      number: index + 1,
      project_id: project,
      position: index,
      roles: { coder: { type: "agent", id: "a1" }, reviewer: { type: "agent", id: "a2" } },
      workspace: sampleWorkspace(),
      created_at: at(900),
      updated_at: at(3),
      status_since: at(6),
      ...change,
    }),
  );

const lint = sampleStep({ index: 1, command: "npm run lint", cached: true, duration_ms: 12 });
const good = sampleAudit({
  verdict: "pass",
  score: 92,
  reason: "It does what was asked.",
  findings: sampleAudit().findings.slice(2),
});

const reviews: Readonly<Record<string, readonly ReturnType<typeof sampleReview>[]>> = {
  auditing: [
    sampleReview({
      id: "r2",
      attempt_number: 2,
      status: "running",
      verdict: null,
      steps: [sampleStep(), lint],
      audits: [unusableAudit({ execution_id: "e-first", log_id: "e-first" })],
      finished_at: null,
      started_at: at(4),
    }),
    sampleReview({ steps: [sampleStep()], audits: [sampleAudit()], decided_by: "agent:a2" }),
  ],
  rejected: [
    sampleReview({
      steps: [sampleStep(), lint],
      audits: [sampleAudit()],
      decided_by: "agent:a2",
      reason: sampleAudit().reason,
    }),
  ],
  unusable: [
    sampleReview({
      status: "awaiting_human",
      verdict: null,
      steps: [sampleStep()],
      audits: [
        unusableAudit({ execution_id: "e-first", log_id: "e-first", at: at(11) }),
        unusableAudit(),
      ],
      note: "the reviewer gave no verdict",
      finished_at: null,
    }),
  ],
  awaiting: [
    sampleReview({
      status: "awaiting_human",
      verdict: null,
      steps: [sampleStep(), lint],
      audits: [good],
      finished_at: null,
    }),
  ],
  checking: [
    sampleReview({
      status: "running",
      verdict: null,
      steps: [
        { ...lint, index: 0 },
        sampleStep({
          index: 1,
          finished: false,
          exit_code: null,
          duration_ms: null,
          stdout_tail: "",
        }),
        sampleStep({
          index: 2,
          command: "npm run e2e",
          exit_code: 1,
          stdout_tail: "2 of 41 failed",
        }),
      ],
      finished_at: null,
      started_at: at(1),
    }),
  ],
};
const passedReview = sampleReview({
  status: "passed",
  verdict: "pass",
  steps: [sampleStep(), lint],
  audits: [good],
  decided_by: "user:board",
});

const merges: Readonly<Record<string, readonly ReturnType<typeof sampleMerge>[]>> = {
  dirty: [],
  conflict: [
    sampleMerge({ status: "conflict", merge_commit: null, created_at: at(6) }),
    sampleMerge({
      id: "m0",
      status: "failed",
      merge_commit: null,
      reason: "the target moved five times",
      created_at: at(40),
    }),
  ],
  done: [sampleMerge()],
};

const pulls: Readonly<Record<string, ReturnType<typeof sampleTaskPullRequest>>> = {
  pull: sampleTaskPullRequest({
    told: ["c1"],
    pull_request: samplePullRequest({
      unread: [{ what: "check runs", why: "the token may not read them" }],
    }),
  }),
  unreachable: sampleTaskPullRequest({
    trouble: "github.com did not answer: the name could not be resolved.",
    remedy: "Forge asks again automatically",
    checked_at: at(40),
    next_check_at: at(-2),
  }),
  closed: sampleTaskPullRequest({ pull_request: samplePullRequest({ state: "closed" }) }),
  donePull: sampleTaskPullRequest({
    next_check_at: null,
    pull_request: samplePullRequest({ state: "merged", comments: [], checks: [] }),
  }),
};

const standing = sampleStanding({
  configured: false,
  token: null,
  reachable: false,
  problem: "There is no token for github.com.",
  remedy: "Sign in with gh auth login, or keep a token here.",
});

const given = sampleDelivery({ merge: null, commits: [], checks: [], audit: null, summary: null });

function deliveryOf(id: string) {
  if (id === "doneOld") return refuse("not_found", "failed to read the delivery: there is none");
  if (id === "gone") return given;
  if (id !== "donePull") return sampleDelivery();
  const { number, url } = samplePullRequest();
  return sampleDelivery({ merge: null, pull_request: { number, url, state: "merged" } });
}

export function reviewAnswers(): Handlers {
  return {
    task_reviews: ({ task_id: id }) => {
      const known = kinds.find((each) => each.id === id);
      return pageOf(reviews[id] ?? (known?.review_passed_at ? [passedReview] : []));
    },
    task_merges: ({ task_id: id }) => pageOf(merges[id] ?? []),
    task_conflict: ({ task_id: id }) => ({
      conflict: id === "conflict" ? sampleConflict() : null,
      standing: id === "conflict" ? "open" : null,
    }),
    task_comments: ({ task_id: id }) =>
      pageOf(
        id === "awaiting" ? ["k1", "k2", "k3"].map((each) => sampleComment({ id: each })) : [],
      ),
    project_merge_queue: () =>
      pageOf([
        sampleQueueEntry({ task_id: "dirty", number: 7, title: "The checkout is dirty" }),
        sampleQueueEntry({ place: 1, waiting: null }),
        sampleQueueEntry({ task_id: "queued", number: 6, title: "It stands in line", place: 2 }),
      ]),
    task_pull_request: ({ task_id: id }) => ({ pull_request: pulls[id] ?? null }),
    task_delivery: ({ task_id: id }) => deliveryOf(id),
    project_code_host: () => standing,
  };
}

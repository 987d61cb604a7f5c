/** Reviews, merges, pull requests and deliveries: facts for tests and for the sample host. */
import type {
  AuditReport,
  Comment,
  Conflict,
  ConflictPath,
  Delivery,
  HostConfig,
  HostStanding,
  Merge,
  MergeQueueEntry,
  PullRequest,
  Review,
  ReviewStep,
  TaskPullRequest,
} from "#ui/api/generated.ts";
import { cast, first, recorded } from "./recorded.ts";
import { sampleUsage } from "./sample.ts";

const reviews = recorded("task_reviews", { task_id: cast.tasks.judged });
const delivery = recorded("task_delivery", { task_id: cast.tasks.done });

const at = (minutesAgo: number) => new Date(Date.now() - minutesAgo * 60_000).toISOString();

const step = first({ items: first(reviews).steps });

export function sampleStep(change: Partial<ReviewStep> = {}): ReviewStep {
  return {
    ...step,
    command: "npm test",
    duration_ms: 41_200,
    stdout_tail: "214 passed",
    log_id: "c1",
    ...change,
  };
}

export function sampleAudit(change: Partial<AuditReport> = {}): AuditReport {
  return {
    execution_id: "e-audit",
    agent_id: "a2",
    text: "## What I looked at\n\nThe limiter and its tests.\n\n- The window slides as asked.\n- The header is missing.",
    log_id: "e-audit",
    at: at(9),
    verdict: "fail",
    reason: "The limit is kept per process, so two servers allow twice as many attempts.",
    score: 41,
    findings: [
      {
        file: "src/limit.rs",
        line: 88,
        severity: "error",
        text: "The counter lives in this process alone.",
      },
      {
        file: "src/limit.rs",
        line: 12,
        severity: "warning",
        text: "`WINDOW` is read from the environment at every call.",
      },
      {
        file: "docs/api.md",
        line: null,
        severity: "info",
        text: "Says nothing of the new answer.",
      },
    ],
    ...change,
  };
}

/** One that ended without a decision. */
export const unusableAudit = (change: Partial<AuditReport> = {}): AuditReport =>
  sampleAudit({
    text: "I could not read the repository.",
    verdict: null,
    reason: null,
    score: null,
    findings: [],
    ...change,
  });

/** One that failed, of which nothing else is known. */
export function sampleReview(change: Partial<Review> = {}): Review {
  return {
    ...first(reviews),
    id: "r1",
    task_id: "t1",
    steps: [],
    audits: [],
    report: null,
    score: null,
    findings: [],
    work_execution_id: "e1",
    note: null,
    reason: null,
    decided_by: null,
    measures: null,
    base_commit: "1c0ffee1c0ffee11",
    reviewed_commit: "9f4c1d27ab5e4e07",
    started_at: at(12),
    finished_at: at(9),
    ...change,
  };
}

const comment = first(recorded("task_comments", { task_id: cast.tasks.awaiting }));

export function sampleComment(change: Partial<Comment> = {}): Comment {
  return {
    ...comment,
    id: "k1",
    task_id: "t1",
    path: "src/limit.rs",
    line: 88,
    last_line: 88,
    now_line: 88,
    now_last_line: 88,
    excerpt: [],
    text: "Keep it in the database.",
    created_at: at(3),
    updated_at: at(3),
    ...change,
  };
}

const merge = first(recorded("task_merges", { task_id: cast.tasks.done }));

export function sampleMerge(change: Partial<Merge> = {}): Merge {
  return {
    ...merge,
    id: "m1",
    task_id: "t1",
    source_commit: "9f4c1d27ab5e4e07",
    merge_commit: "77aa5512c0ffee00",
    target_before: "1c0ffee1c0ffee11",
    created_at: at(6),
    ...change,
  };
}

const { conflict: found } = recorded("task_conflict", { task_id: cast.tasks.conflict });
const conflict = first({ items: found ? [found] : [] });
const place = first({ items: conflict.paths });

/** The recorded file in conflict, of another name and kind. */
export const samplePath = (change: Partial<ConflictPath>): ConflictPath => ({
  ...place,
  ...change,
});

export function sampleConflict(change: Partial<Conflict> = {}): Conflict {
  return {
    ...conflict,
    target_commit: "1c0ffee1c0ffee11",
    source_commit: "9f4c1d27ab5e4e07",
    paths: [
      samplePath({ path: "src/settings.rs" }),
      samplePath({ path: "src/limit.rs", kind: "modify/delete", hunks: [], places: [] }),
    ],
    ...change,
  };
}

export function sampleQueueEntry(change: Partial<MergeQueueEntry> = {}): MergeQueueEntry {
  return {
    task_id: "t9",
    number: 9,
    title: "Drop the old parser",
    target: "main",
    place: 0,
    waiting: null,
    since: at(4),
    ...change,
  };
}

export const sampleCodeHost: HostConfig = {
  kind: "github",
  base_url: null,
  owner: "acme",
  repo: "website",
  remote: "origin",
};

export function sampleStanding(change: Partial<HostStanding> = {}): HostStanding {
  return {
    host: sampleCodeHost,
    configured: true,
    token: "keychain",
    reachable: true,
    problem: null,
    remedy: null,
    ...change,
  };
}

export function samplePullRequest(change: Partial<PullRequest> = {}): PullRequest {
  return {
    number: 128,
    url: "https://github.com/acme/website/pull/128",
    title: "Rate-limit the login endpoint",
    state: "open",
    draft: false,
    head: "forge/0199f3a2",
    base: "main",
    head_commit: "9f4c1d27ab5e4e07",
    merge_commit: null,
    mergeable: "yes",
    checks: [
      { name: "build", status: "passed", url: "https://ci.acme.dev/1", summary: null },
      { name: "e2e", status: "failed", url: "https://ci.acme.dev/2", summary: "2 of 41 failed" },
      { name: "coverage", status: "pending", url: null, summary: null },
      { name: "deploy", status: "skipped", url: null, summary: null },
    ],
    comments: [
      {
        id: "c1",
        author: "kim",
        body: "Please name the **window** in seconds.",
        verdict: null,
        path: "src/limit.rs",
        line: 12,
        url: "https://github.com/acme/website/pull/128#c1",
        at: at(50),
      },
      {
        id: "c2",
        author: "lee",
        body: "",
        verdict: "changes_requested",
        path: null,
        line: null,
        url: null,
        at: at(20),
      },
    ],
    unread: [],
    updated_at: at(20),
    ...change,
  };
}

export function sampleTaskPullRequest(change: Partial<TaskPullRequest> = {}): TaskPullRequest {
  return {
    task_id: "t1",
    host: sampleCodeHost,
    head: "forge/0199f3a2",
    pushed_commit: "9f4c1d27ab5e4e07",
    pull_request: samplePullRequest(),
    told: [],
    checked_at: at(2),
    next_check_at: at(-3),
    trouble: null,
    remedy: null,
    ...change,
  };
}

export function sampleDelivery(change: Partial<Delivery> = {}): Delivery {
  return {
    ...delivery,
    summary:
      "Five attempts a minute per address, kept in the database.\n\n- the answer is 429 with `Retry-After`\n- tests cover two servers",
    merge: sampleMerge(),
    commits: [
      {
        id: "5f0e1d2c3b4a5968",
        subject: "Limit attempts per address",
        author: "Sam",
        at: at(60),
      },
      { id: "9f4c1d27ab5e4e07", subject: "Say when to try again", author: "Sam", at: at(30) },
    ],
    diff_stat: { files: 4, added: 212, removed: 38 },
    checks: [sampleStep(), sampleStep({ index: 1, command: "npm run lint", duration_ms: 3_100 })],
    audit: sampleAudit({ verdict: "pass", score: 92, reason: "It does what was asked." }),
    decided_by: "user:board",
    attempts: 2,
    runs: 3,
    usage: {
      ...sampleUsage,
      input_uncached: 42_000,
      cache_read: 610_000,
      cache_write: 88_000,
      output: 24_300,
      cost_micro_usd: 2_140_000,
    },
    started_at: at(140),
    finished_at: at(6),
    agent_ms: 1_980_000,
    ...change,
  };
}

/** Tasks that need or wait for something, one of each kind, and how the latest of them got there. */
import type {
  AnnotationType,
  ErrorAnnotation,
  Offer,
  Task,
  Transition,
  WaitReason,
} from "#ui/api/generated.ts";
import { cast, first, recorded } from "./recorded.ts";
import { sampleTask, sampleWorkspace } from "./sample.ts";

const at = (minutesAgo: number) => new Date(Date.now() - minutesAgo * 60_000).toISOString();
const offer = (verb: Offer["verb"], label: string, fields: string[] = []): Offer => ({
  verb,
  label,
  fields,
  why: "What it is good for here.",
});

const lock = {
  execution_id: "e1",
  pid: 48_213,
  start_time: 1,
  host: "desk",
  acquired_at: at(4),
};

function trouble(
  type: AnnotationType,
  message: string,
  offers: Offer[],
  change: Partial<Task> = {},
  more: Partial<ErrorAnnotation> = {},
): Partial<Task> {
  return {
    status: "blocked",
    error_annotation: {
      type,
      from_state: "in_progress",
      message,
      details: null,
      execution_id: null,
      evidence: null,
      at: at(12),
      ...more,
    },
    offers,
    ...change,
  };
}

const wait = (reason: WaitReason, message: string, change: Partial<Task> = {}): Partial<Task> => ({
  status: "in_progress",
  waiting: { reason, message, until: null, files: [] },
  ...change,
});

export const sampleHookOutput =
  "checking 214 packages\nleft-pad 1.3.0: no licence in the package\nerror: 1 package without licence";

const kinds: readonly (Partial<Task> & { title: string })[] = [
  {
    title: "A hook fails before work",
    ...trouble(
      "before_work_hook_failed",
      "scripts/check-licence exits with 3.",
      [
        offer("retry_hook", "Rerun hook"),
        offer("skip_hook_once", "Skip hook once", ["reason"]),
        offer("restart", "Start over"),
      ],
      { status: "in_progress", workspace: sampleWorkspace() },
      {
        hook: { event: "before_work", index: 0, command: "scripts/check-licence" },
        evidence: {
          command: "scripts/check-licence",
          exit_code: 3,
          output: sampleHookOutput,
          log_id: "hook-2",
        },
      },
    ),
  },
  {
    title: "An agent fails",
    ...trouble("executor_failed", "The agent ended with code 1 after two restarts.", [
      offer("retry", "Try again"),
      offer("resume_session", "Message agent", ["message"]),
      offer("restart", "Start over"),
    ]),
  },
  {
    title: "The worktree is gone",
    ...trouble(
      "workspace_reset_required",
      "The worktree and its branch forge/0199f3a2 are gone.",
      [offer("reset_workspace", "Reset worktree")],
      { workspace: sampleWorkspace() },
    ),
  },
  {
    title: "The sequence of its parts stopped",
    ...trouble("subtask_paused", "The turn of #104 could not be committed.", [
      offer("retry", "Try again"),
      offer("resume_session", "Message agent", ["message"]),
    ]),
    subtasks: { closed: 1, total: 3 },
    workspace: sampleWorkspace(),
  },
  {
    title: "Write the importer",
    parent_id: "x4",
    execution_mode: "ordered_turn",
    subtask_order: 1,
    status: "done",
    commit_result: { kind: "forge_commit", before: "9f4c1d27ab5e", after: "1f2e3d4c5b6a" },
  },
  {
    title: "Write its tests, with every kind of quoting that the old importer could not read",
    parent_id: "x4",
    execution_mode: "ordered_turn",
    subtask_order: 2,
    status: "in_progress",
  },
  { title: "Announce it", parent_id: "x4", status: "todo" },
  {
    title: "A task it waited for was cancelled",
    ...trouble("dependency_cancelled", "#9 was cancelled.", [offer("restart", "Start over")]),
    depends_on: ["x9", "x7"],
    blocked_by: ["x7"],
  },
  { title: "Agree on the format", status: "cancelled" },
  {
    title: "Its provider limits the agent",
    ...wait("rate_limited", "The provider limits Claude until 14:05.", {
      waiting: {
        reason: "rate_limited",
        message: "The provider limits Claude until 14:05.",
        until: new Date(Date.now() + 754_000).toISOString(),
        files: [],
      },
    }),
  },
  { title: "Queued", ...wait("agent_busy", "Third in the queue for Claude.") },
  {
    title: "The worktree is in use",
    ...wait("workspace_locked", "Another run changes the worktree.", {
      workspace: sampleWorkspace({ lock }),
    }),
  },
  {
    title: "A lock of git's",
    ...wait("git_locked", "index.lock is held by git (process 4711).", {
      waiting: {
        reason: "git_locked",
        message: "index.lock is held by git (process 4711).",
        until: null,
        files: ["/home/me/website/.git/index.lock"],
      },
    }),
  },
  {
    title: "It waits for others",
    ...wait("dependency_open", "Two tasks are open.", {
      depends_on: ["x7", "x1"],
      blocked_by: ["x7", "x1"],
    }),
  },
  {
    title: "Files that nobody trusts yet",
    ...trouble(
      "trust_required",
      "3 files that programs run code from are not trusted: `.envrc` (removed), `.mcp.json` (changed), `.opencode/plugin/notify.ts` (new). Review the files and trust them, or remove them from the branch, then try again.",
      [
        offer("trust_files", "Trust these files"),
        offer("retry", "Try again"),
        offer("restart", "Start over"),
        offer("reset_workspace", "Reset worktree"),
      ],
      { workspace: sampleWorkspace() },
      {
        evidence: {
          command: null,
          exit_code: null,
          output:
            '.mcp.json (changed):\n@@ -1,5 +1,5 @@\n-    "db": { "command": "npx", "args": ["db-mcp@1"] }\n+    "db": { "command": "npx", "args": ["db-mcp@2"] }',
          log_id: null,
        },
      },
    ),
  },
  {
    title: "Its machine is asleep",
    ...wait("machine_unreachable", "waits for box: not reachable since 2026-11-26 22:14 UTC", {
      machines: ["gpu"],
    }),
  },
  {
    title: "Its job is in the queue of the cluster",
    ...wait(
      "job_pending",
      "waits for hpc: Could not start job 7 yet: the resources that it requests are not free.",
      { machines: ["cluster"] },
    ),
  },
  {
    title: "Its machine is full",
    ...wait(
      "machine_disk_full",
      "waits for box: the disk is full at `/home/me/.forge`; free some space there",
      { machines: ["gpu"] },
    ),
  },
];

export const sampleTroubles = (project: string): Task[] =>
  kinds.map((change, index) =>
    sampleTask({
      id: `x${index + 1}`,
      number: index + 1,
      project_id: project,
      position: index,
      roles: { coder: { type: "agent", id: "a2" } },
      created_at: at(900),
      updated_at: at(3),
      status_since: at(12),
      ...change,
    }),
  );

const moved = first(recorded("task_transitions", { task_id: cast.tasks.done }));
const made = first({ items: moved.steps });

const step = (
  phase: string,
  action: string,
  change: Partial<Transition["steps"][number]> = {},
): Transition["steps"][number] => ({
  ...made,
  phase,
  action,
  reason: null,
  duration_ms: 34,
  ...change,
});

/** A claim, a review that failed, and what followed by itself. */
export const sampleMoves: readonly Transition[] = [
  {
    id: "m1",
    from: "todo",
    to: "in_progress",
    trigger: "claim",
    actor: "user:board",
    reason: null,
    rejection: false,
    at: at(64),
    steps: [
      step("before_enter", "prepare_workspace", { duration_ms: 4_120, log_id: "setup-1" }),
      step("before_work", "before_work[0]", { duration_ms: 640, log_id: "hook-1" }),
      step("before_work", "before_work[1]", {
        outcome: "skipped",
        reason: "skipped once by you: the licence server is down",
        duration_ms: null,
      }),
      step("before_enter", "clear_barrier"),
      step("on_enter", "dispatch_role_agent", { duration_ms: 210 }),
      step("on_enter", "knowledge-inject", { outcome: "skipped", reason: "nothing is known" }),
    ],
  },
  {
    id: "m2",
    from: "in_progress",
    to: "review",
    trigger: "accept",
    actor: "agent:a2",
    reason: null,
    rejection: false,
    at: at(22),
    steps: [
      step("on_exit", "commit_work", { reason: "3 files" }),
      step("before_enter", "run_ci_steps", {
        outcome: "cascade",
        reason: "npm test exits with 1",
        duration_ms: 61_200,
        log_id: "check-1",
      }),
    ],
  },
  {
    id: "m3",
    from: "review",
    to: "in_progress",
    trigger: "reject",
    actor: "system:review",
    reason: "The check npm test failed.",
    rejection: true,
    at: at(20),
    steps: [
      step("before_work", "before_work[0]", {
        outcome: "failed",
        reason: "exits with 3",
        duration_ms: 980,
        log_id: "hook-2",
      }),
    ],
  },
];

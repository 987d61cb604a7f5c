/** What a definition may name: the engine's closed registry of actions, by phase. Pure data. */
import type { Action, Audience, StateKind } from "#ui/api/generated.ts";

export const phases = [
  "before_exit",
  "on_exit",
  "before_enter",
  "on_enter",
  "after_enter",
] as const;
export type Phase = (typeof phases)[number];

export const actionsOf: Readonly<Record<Phase, readonly Action[]>> = {
  before_exit: [
    "dependency_gate",
    "require_clean_worktree",
    "require_plan_complete",
    "require_no_conflict_markers",
    "subtask_sequence_complete",
  ],
  on_exit: [],
  before_enter: ["run_before_work_hooks", "run_ci_steps", "knowledge-inject"],
  on_enter: [
    "dispatch_role_agent",
    "run_merge",
    "cleanup_workspace_now",
    "schedule_workspace_cleanup",
    "satisfy_dependents",
    "propagate_done_to_subtasks",
    "cancel_pending_subtasks",
    "publish_task_blocked",
    "knowledge-inject",
    "knowledge-capture",
  ],
  after_enter: [
    "check_retry_budget",
    "auto_cascade_on_review_pass",
    "auto_cascade_on_unassigned_role",
    "auto_cascade_on_merge_result",
  ],
};

/** Guards and barriers may stop a move; what comes later can only be recorded or sent on. */
export const mayBlock = (phase: Phase): boolean =>
  phase === "before_exit" || phase === "before_enter";

/** What an editor proposes: guards against what agents overlook; a person has seen it. */
export const usualAudience = (action: Action): Audience =>
  action === "dependency_gate" ||
  action === "require_no_conflict_markers" ||
  action === "subtask_sequence_complete"
    ? "agent_only"
    : "all";

export const kinds: readonly StateKind[] = [
  "backlog",
  "initial",
  "active",
  "gate",
  "custom",
  "blocked",
  "terminal",
];

export const audiences: readonly Audience[] = ["all", "agent_only", "user_only"];
export const sessions = ["new", "resume", "fork"] as const;
/** The triggers that the engine itself pulls; others are a person's. */
export const knownTriggers = ["accept", "reject", "fail", "retry"] as const;

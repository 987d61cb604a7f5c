//! The closed registry of workflow actions: which phases each may stand in and what it leans on.

use crate::names;

names! {
    /// A point of a transition at which actions run.
    pub enum Phase {
        /// Before anything is written; may refuse.
        BeforeExit = "before_exit",
        /// The old state is being left.
        OnExit = "on_exit",
        /// The barrier of the new state.
        BeforeEnter = "before_enter",
        /// The new state is entered.
        OnEnter = "on_enter",
        /// May send the task on.
        AfterEnter = "after_enter",
    }
}

names! {
    /// What a hook does.
    pub enum Action {
        /// Refuses while a prerequisite is open.
        DependencyGate = "dependency_gate",
        /// Refuses while the worktree has uncommitted changes.
        RequireCleanWorktree = "require_clean_worktree",
        /// Refuses while conflict markers are left.
        RequireNoConflictMarkers = "require_no_conflict_markers",
        /// Refuses while an ordered subtask is open.
        SubtaskSequenceComplete = "subtask_sequence_complete",
        /// Runs the project's `before_work` hooks.
        RunBeforeWorkHooks = "run_before_work_hooks",
        /// Runs the configured checks.
        RunCiSteps = "run_ci_steps",
        /// Starts the agent that holds the state's role.
        DispatchRoleAgent = "dispatch_role_agent",
        /// Merges the task's branch.
        RunMerge = "run_merge",
        /// Shows what is left of the budget.
        CheckRetryBudget = "check_retry_budget",
        /// Sends the task on when its review passed.
        AutoCascadeOnReviewPass = "auto_cascade_on_review_pass",
        /// Sends the task on when nobody holds the role.
        AutoCascadeOnUnassignedRole = "auto_cascade_on_unassigned_role",
        /// Sends the task on by how the merge ended.
        AutoCascadeOnMergeResult = "auto_cascade_on_merge_result",
        /// Removes the worktree now.
        CleanupWorkspaceNow = "cleanup_workspace_now",
        /// Removes the worktree later.
        ScheduleWorkspaceCleanup = "schedule_workspace_cleanup",
        /// Tells dependents that this prerequisite is met.
        SatisfyDependents = "satisfy_dependents",
        /// Closes ordered subtasks with their parent.
        PropagateDoneToSubtasks = "propagate_done_to_subtasks",
        /// Cancels ordered subtasks with their parent.
        CancelPendingSubtasks = "cancel_pending_subtasks",
        /// Tells the person that the task is blocked.
        PublishTaskBlocked = "publish_task_blocked",
    }
}

impl Action {
    /// The phases it may stand in.
    #[must_use]
    pub const fn phases(self) -> &'static [Phase] {
        match self {
            Self::DependencyGate
            | Self::RequireCleanWorktree
            | Self::RequireNoConflictMarkers
            | Self::SubtaskSequenceComplete => &[Phase::BeforeExit],
            Self::RunBeforeWorkHooks | Self::RunCiSteps => &[Phase::BeforeEnter],
            Self::CheckRetryBudget
            | Self::AutoCascadeOnReviewPass
            | Self::AutoCascadeOnUnassignedRole
            | Self::AutoCascadeOnMergeResult => &[Phase::AfterEnter],
            Self::DispatchRoleAgent
            | Self::RunMerge
            | Self::CleanupWorkspaceNow
            | Self::ScheduleWorkspaceCleanup
            | Self::SatisfyDependents
            | Self::PropagateDoneToSubtasks
            | Self::CancelPendingSubtasks
            | Self::PublishTaskBlocked => &[Phase::OnEnter],
        }
    }

    /// The `on_enter` action without which an `after_enter` action has nothing to say.
    #[must_use]
    pub const fn depends_on(self) -> Option<Self> {
        match self {
            Self::AutoCascadeOnMergeResult => Some(Self::RunMerge),
            _ => None,
        }
    }
}

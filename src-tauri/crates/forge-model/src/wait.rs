//! Why a task is held up, or waits.

use crate::{contract, names, time::Timestamp};

names! {
    /// Why a task is blocked, or held in its state.
    pub enum AnnotationType {
        /// All automatic retries in review are used up.
        ReviewBudgetExhausted = "review_budget_exhausted",
        /// Attempts make no progress, and the project is set to stop then.
        ReviewStagnant = "review_stagnant",
        /// Checks failed after a conflict fix.
        CiFailedAfterMergeFix = "ci_failed_after_merge_fix",
        /// The agent failed and cannot be restarted automatically.
        ExecutorFailed = "executor_failed",
        /// The agent's program could not be started.
        ExecutorUnavailable = "executor_unavailable",
        /// The worktree could not be prepared.
        EnvironmentNotReady = "environment_not_ready",
        /// The repository's hooks refused the commit.
        CommitRefused = "commit_refused",
        /// The files that determine which programs git runs differ from the accepted ones.
        RepositoryChanged = "repository_changed",
        /// Startup files differ from the trusted ones.
        TrustRequired = "trust_required",
        /// The worktree contains a repository that `.gitmodules` does not list.
        EmbeddedRepository = "embedded_repository",
        /// A submodule's commit is on no branch of its remote.
        SubmoduleNotPushed = "submodule_not_pushed",
        /// A guard rejected the engine's own move.
        GuardRejected = "guard_rejected",
        /// The target branch kept moving.
        TargetUnstable = "target_unstable",
        /// The worktree and the branch are gone.
        WorkspaceResetRequired = "workspace_reset_required",
        /// The repository, a branch or the reviewed commit is missing, so nothing can be merged.
        WorkMissing = "work_missing",
        /// Only work without a review is left to merge.
        WorkChanged = "work_changed_since_review",
        /// An operation on the worktree failed.
        WorkspaceError = "workspace_error",
        /// A blocking `before_work` hook failed; the task stays in its state, and no agent starts.
        BeforeWorkHookFailed = "before_work_hook_failed",
        /// A blocking `before_work` hook timed out; the task stays in its state, and no agent starts.
        BeforeWorkHookTimeout = "before_work_hook_timeout",
        /// An ordered subtask's turn could not finish.
        SubtaskPaused = "subtask_paused",
        /// A dependency was cancelled.
        DependencyCancelled = "dependency_cancelled",
        /// More than three cascades in a row.
        CascadeLimit = "cascade_limit",
        /// No run or person is acting on the task.
        RecoveryRequired = "recovery_required",
        /// A person blocked it.
        Manual = "manual",
        /// The reviewer gave no verdict (the task stays in review).
        ReviewerUnusable = "reviewer_unusable",
        /// The merge conflicts (the task stays in merge_failed).
        MergeConflict = "merge_conflict",
        /// The merge failed for a reason other than a conflict.
        MergeError = "merge_error",
        /// The branch could not be pushed, or the code host refused the pull request.
        PrFailed = "pr_failed",
        /// The pull request was closed and its work is not in the target.
        PrClosedWithoutMerge = "pr_closed_without_merge",
        /// No entry of a race passed.
        RaceNoWinner = "race_no_winner",
        /// The winner's commits could not become the task's branch.
        RaceNotPromoted = "race_not_promoted",
    }
}

names! {
    /// What a task waits for before it continues automatically.
    pub enum WaitReason {
        /// The short time in which a drag can be undone.
        Undo = "undo",
        /// The agent has no free slot.
        AgentBusy = "agent_busy",
        /// The project has no free slot.
        ProjectBusy = "project_busy",
        /// The agent or the project is paused.
        Paused = "paused",
        /// A person put the task on hold.
        Held = "held",
        /// Local changes in the target's checkout block the merge.
        TargetCheckoutDirty = "target_checkout_dirty",
        /// Another program holds a git lock.
        GitLocked = "git_locked",
        /// The agent's provider limits its use; continues at `until`.
        RateLimited = "rate_limited",
        /// Another run is using the same worktree.
        WorkspaceLocked = "workspace_locked",
        /// A dependency is open.
        DependencyOpen = "dependency_open",
        /// Another task is being merged into the same target.
        MergeQueue = "merge_queue",
        /// Its pull request is open at the code host.
        AwaitingMerge = "awaiting_merge",
        /// The code host cannot be reached; it is polled again at `until`.
        HostUnreachable = "host_unreachable",
        /// No machine has the labels, or those that have them are draining.
        NoMachine = "no_machine",
        /// Every machine with the labels is at its limit of runs.
        MachineBusy = "machine_busy",
        /// Every machine with the labels has reached its daily quota; continues at `until`.
        MachineQuota = "machine_quota",
        /// Its machine, or every machine with the labels, is unreachable.
        MachineUnreachable = "machine_unreachable",
        /// It was imported from a public repository and starts only when a person starts it.
        StartRequired = "start_required",
        /// Its cluster job was submitted and has not started.
        JobPending = "job_pending",
        /// The disk of its machine is full, and holds its agent's work.
        MachineDiskFull = "machine_disk_full",
        /// The project's runs have reached their daily cost limit; continues at `until`.
        CostLimit = "cost_limit",
        /// Entries of its race are running.
        RaceRunning = "race_running",
        /// Its race has a suggested winner, and waits for a person's choice.
        RaceCrown = "race_crown",
    }
}

contract! {
    /// What a task waits for.
    pub struct Waiting {
        /// Why.
        pub reason: WaitReason,
        /// End of the wait, if known.
        pub until: Option<Timestamp>,
        /// The files that block it.
        pub files: Vec<String>,
        /// Message for people, one sentence.
        pub message: String,
    }
}

//! Why a task is held up, or waits.

use crate::{contract, names, time::Timestamp};

names! {
    /// Why a task is blocked, or held up where it is.
    pub enum AnnotationType {
        /// Every automatic retry in review is spent.
        ReviewBudgetExhausted = "review_budget_exhausted",
        /// Attempts get nowhere, and the project wants to stop then.
        ReviewStagnant = "review_stagnant",
        /// Checks failed after a conflict fix.
        CiFailedAfterMergeFix = "ci_failed_after_merge_fix",
        /// The agent failed and may not be started again by itself.
        ExecutorFailed = "executor_failed",
        /// The agent's program cannot be started.
        ExecutorUnavailable = "executor_unavailable",
        /// The worktree could not be prepared.
        EnvironmentNotReady = "environment_not_ready",
        /// The repository's hooks refused the commit.
        CommitRefused = "commit_refused",
        /// The files of the repository that say which programs git runs are not as a person accepted them.
        RepositoryChanged = "repository_changed",
        /// Files that run code as soon as a program starts are not as a person trusted them.
        TrustRequired = "trust_required",
        /// A repository that `.gitmodules` does not list lies in the worktree.
        EmbeddedRepository = "embedded_repository",
        /// A submodule's commit is on no branch of its remote.
        SubmoduleNotPushed = "submodule_not_pushed",
        /// A guard refused the engine's own move.
        GuardRejected = "guard_rejected",
        /// The target branch moved again and again.
        TargetUnstable = "target_unstable",
        /// The worktree and the branch are gone.
        WorkspaceResetRequired = "workspace_reset_required",
        /// The repository, a branch or the reviewed commit is missing, so nothing can be merged.
        WorkMissing = "work_missing",
        /// Only work that nobody reviewed is left to merge.
        WorkChanged = "work_changed_since_review",
        /// An operation on the worktree failed.
        WorkspaceError = "workspace_error",
        /// A blocking `before_work` hook failed (the task stays where it is, nobody is started).
        BeforeWorkHookFailed = "before_work_hook_failed",
        /// A blocking `before_work` hook ran out of time (likewise).
        BeforeWorkHookTimeout = "before_work_hook_timeout",
        /// An ordered subtask's turn could not be finished.
        SubtaskPaused = "subtask_paused",
        /// A prerequisite was cancelled.
        DependencyCancelled = "dependency_cancelled",
        /// More than three cascades in a row.
        CascadeLimit = "cascade_limit",
        /// Nobody acts on the task.
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
    /// What a task waits for when it goes on by itself.
    pub enum WaitReason {
        /// A moment in which a drag can be undone.
        Undo = "undo",
        /// The agent has no free place.
        AgentBusy = "agent_busy",
        /// The project has no free place.
        ProjectBusy = "project_busy",
        /// The agent or the project is paused.
        Paused = "paused",
        /// A person asked to start nothing.
        Held = "held",
        /// Local changes in the target's checkout are in the way.
        TargetCheckoutDirty = "target_checkout_dirty",
        /// Another program holds a lock of git's.
        GitLocked = "git_locked",
        /// The agent's provider limits its use; it goes on at `until`.
        RateLimited = "rate_limited",
        /// Another execution changes the same worktree.
        WorkspaceLocked = "workspace_locked",
        /// An open prerequisite.
        DependencyOpen = "dependency_open",
        /// Another task is being merged into the same target.
        MergeQueue = "merge_queue",
        /// Its pull request is open at the code host.
        AwaitingMerge = "awaiting_merge",
        /// The code host cannot be reached; it is asked again at `until`.
        HostUnreachable = "host_unreachable",
        /// No machine has the labels, or the only ones that have them start nothing new.
        NoMachine = "no_machine",
        /// Every machine that has the labels runs as much as it may.
        MachineBusy = "machine_busy",
        /// Every machine that has the labels has reached its daily quota; it goes on at `until`.
        MachineQuota = "machine_quota",
        /// Its machine, or every machine that has the labels, cannot be reached.
        MachineUnreachable = "machine_unreachable",
        /// Its job of a cluster was submitted and has not begun.
        JobPending = "job_pending",
        /// The disk of its machine is full, and holds what its agent did.
        MachineDiskFull = "machine_disk_full",
        /// The project's runs have cost today what they may; it goes on at `until`.
        CostLimit = "cost_limit",
        /// Entries of its race are at work.
        RaceRunning = "race_running",
        /// Its race is elected, and a person is to crown.
        RaceCrown = "race_crown",
    }
}

contract! {
    /// What a task waits for.
    pub struct Waiting {
        /// Why.
        pub reason: WaitReason,
        /// Until when, if that is known.
        pub until: Option<Timestamp>,
        /// The files in the way.
        pub files: Vec<String>,
        /// A sentence for people.
        pub message: String,
    }
}

//! Tasks: what is to be done, where it stands and why it waits.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    budget::Budgets,
    contract,
    execution::Usage,
    hook::HookRef,
    ids::{AgentId, ExecutionId, ProjectId, TaskId},
    inner_loop::TaskRace,
    names,
    offer::Offer,
    pull_request::PullRequestLink,
    race::RaceBadge,
    review::{ReviewConfig, ReviewStatus, Verdict, WorkChanged},
    settings::MergeConfig,
    time::Timestamp,
    workflow::RetryBudgets,
    workspace::Workspace,
};

names! {
    /// Where a subtask works.
    pub enum ExecutionMode {
        /// In a worktree of its own.
        Independent = "independent",
        /// In its parent's, in order.
        OrderedTurn = "ordered_turn",
        /// In a worktree of its own, as an entry of its parent's race; it is on no board.
        RaceEntry = "race_entry",
    }
}

names! {
    /// How the work of an ordered subtask's turn was committed.
    pub enum CommitResultKind {
        /// Forge committed what the agent had left.
        ForgeCommit = "forge_commit",
        /// The agent committed everything itself.
        AgentCommitRange = "agent_commit_range",
        /// Nothing changed.
        NoDiff = "no_diff",
    }
}

names! {
    /// Whether a person or an agent holds a role.
    pub enum HolderKind {
        /// An agent profile.
        Agent = "agent",
        /// The person.
        User = "user",
    }
}

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
    /// How a task is, in a word.
    pub enum TaskHealth {
        /// Somebody works on it: an agent, or its checks.
        Ok = "ok",
        /// It waits, and goes on by itself.
        Waiting = "waiting",
        /// Something went wrong, and it needs a person.
        Trouble = "trouble",
        /// Nothing happens: it was not begun, a person is to act, or it is over.
        Idle = "idle",
    }
}

impl TaskHealth {
    /// How a task is by what went wrong, what it waits for and what is under way.
    #[must_use]
    pub const fn of(trouble: bool, waits: bool, works: bool) -> Self {
        match (trouble, waits, works) {
            (true, ..) => Self::Trouble,
            (false, true, _) => Self::Waiting,
            (false, false, true) => Self::Ok,
            (false, false, false) => Self::Idle,
        }
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
        /// The project's runs have cost today what they may; it goes on at `until`.
        CostLimit = "cost_limit",
        /// Entries of its race are at work.
        RaceRunning = "race_running",
        /// Its race is elected, and a person is to crown.
        RaceCrown = "race_crown",
    }
}

contract! {
    /// Who holds a role.
    pub struct RoleHolder {
        /// An agent or the person.
        #[serde(rename = "type")]
        pub kind: HolderKind,
        /// The agent's profile; null for the person.
        pub id: Option<AgentId>,
    }

    /// Why a task needs a person.
    pub struct ErrorAnnotation {
        /// The kind of trouble.
        #[serde(rename = "type")]
        pub kind: AnnotationType,
        /// The state it came from.
        pub from_state: String,
        /// What happened, in a sentence.
        pub message: String,
        /// More of it, structured by kind.
        #[specta(type = specta_typescript::Unknown)]
        pub details: Value,
        /// The execution concerned.
        pub execution_id: Option<ExecutionId>,
        /// The lifecycle hook concerned.
        #[serde(default)]
        pub hook: Option<HookRef>,
        /// Evidence: command, exit code, tail of the output.
        pub evidence: Option<Evidence>,
        /// Since when.
        pub at: Timestamp,
    }

    /// What a person needs to see to believe it.
    pub struct Evidence {
        /// The command that failed.
        pub command: Option<String>,
        /// Its exit code.
        pub exit_code: Option<i32>,
        /// The end of what it printed.
        pub output: String,
        /// Where the whole output is.
        pub log_id: Option<String>,
    }

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

    /// How the work of an ordered subtask's turn was committed.
    pub struct CommitResult {
        /// How.
        pub kind: CommitResultKind,
        /// The branch's commit before the turn.
        pub before: Option<String>,
        /// The branch's commit after it.
        pub after: Option<String>,
    }

    /// How far a task's subtasks are.
    #[derive(Copy, Default, Eq)]
    pub struct SubtaskCounts {
        /// Closed ones.
        pub closed: u32,
        /// All.
        pub total: u32,
    }

    /// What holds a task at the entry of its state.
    pub struct EntryBarrier {
        /// The state that is being entered.
        pub state: String,
        /// Since when.
        pub since: Timestamp,
    }

    /// A task's own limits.
    #[derive(Default)]
    #[serde(deny_unknown_fields, default)]
    pub struct TaskStateConfig {
        /// Limits of automatic retries.
        pub retry_budgets: RetryBudgets,
    }

    /// What an agent does for a task right now.
    pub struct LiveExecution {
        /// Which run.
        pub execution_id: ExecutionId,
        /// Which agent.
        pub agent_id: AgentId,
        /// As which role.
        pub role: String,
        /// What it is doing, in a few words.
        pub activity: String,
        /// Since when it runs.
        pub started_at: Timestamp,
    }

    /// The state of a task's latest review, for its card.
    pub struct ReviewBadge {
        /// Which attempt.
        pub attempt_number: u32,
        /// Where it is.
        pub status: ReviewStatus,
        /// What it decided.
        pub verdict: Option<Verdict>,
        /// The commit that it is about; null before any work was committed.
        pub reviewed_commit: Option<String>,
    }

    /// How much a task's branch changes.
    #[derive(Copy)]
    pub struct DiffStat {
        /// Changed files.
        pub files: u32,
        /// Added lines.
        pub added: u32,
        /// Removed lines.
        pub removed: u32,
    }

    /// A task with everything that is derived from its rows.
    pub struct Task {
        /// Identity.
        pub id: TaskId,
        /// Small number, per project.
        pub number: u32,
        /// The project it belongs to.
        pub project_id: ProjectId,
        /// One line.
        pub title: String,
        /// Markdown.
        pub description: String,
        /// A state of the project's workflow.
        pub status: String,
        /// Higher goes first.
        pub priority: i32,
        /// Order in its column, ascending.
        pub position: f64,
        /// Rises with every change; asked back when something is changed.
        pub version: u32,
        /// The task it is part of.
        pub parent_id: Option<TaskId>,
        /// Where it works, when it is a part.
        pub execution_mode: ExecutionMode,
        /// Its turn among its parent's ordered parts.
        pub subtask_order: Option<u32>,
        /// How its turn was committed, when it is an ordered part.
        pub commit_result: Option<CommitResult>,
        /// How far its own parts are.
        pub subtasks: SubtaskCounts,
        /// What must be done before it.
        pub depends_on: Vec<TaskId>,
        /// Those of them that are still open.
        pub blocked_by: Vec<TaskId>,
        /// Who holds which role.
        pub roles: BTreeMap<String, Option<RoleHolder>>,
        /// Checks and reviewer, on top of the project's.
        pub review_config: Option<ReviewConfig>,
        /// How it is merged, on top of the project's.
        pub merge_config: Option<MergeConfig>,
        /// Its own limits.
        pub task_state_config: Option<TaskStateConfig>,
        /// Its race, on top of the project's.
        pub race: Option<TaskRace>,
        /// When its review last passed, while that stands.
        pub review_passed_at: Option<Timestamp>,
        /// What holds it at the entry of its state.
        pub entry_barrier: Option<EntryBarrier>,
        /// Why it needs a person.
        pub error_annotation: Option<ErrorAnnotation>,
        /// What it waits for, when it goes on by itself.
        pub waiting: Option<Waiting>,
        /// Whether a person asked that nothing be started.
        pub held: bool,
        /// How it is, by `error_annotation`, `waiting`, `live` and a `review` that runs.
        pub health: TaskHealth,
        /// What a person can do now.
        pub offers: Vec<Offer>,
        /// What is left of the automatic retries.
        pub budgets: Budgets,
        /// The latest workspace record.
        pub workspace: Option<Workspace>,
        /// What runs now.
        pub live: Option<LiveExecution>,
        /// The latest review.
        pub review: Option<ReviewBadge>,
        /// Its latest race, once it was raced.
        pub raced: Option<RaceBadge>,
        /// Its pull request, once there is one, as last seen.
        pub pull_request: Option<PullRequestLink>,
        /// How much its branch changes, as last measured.
        pub diff_stat: Option<DiffStat>,
        /// Commits of its branch that the target lacks, as last counted.
        pub unmerged_commits: u32,
        /// Whether a person closed it without a merge.
        pub closed_unmerged: bool,
        /// How its work differs from the reviewed commit, where that kept it from being approved.
        pub work_changed: Option<WorkChanged>,
        /// What its runs used and cost.
        pub usage: Usage,
        /// When it was made.
        pub created_at: Timestamp,
        /// When it last changed.
        pub updated_at: Timestamp,
        /// When it entered its state.
        pub status_since: Timestamp,
    }
}

impl Task {
    /// What a person should know about a task that they closed without a merge; none for any other task.
    #[must_use]
    pub fn closing_notice(&self) -> Option<String> {
        self.closed_unmerged.then(|| closed_without_merging(self.unmerged_commits, &self.id))
    }
}

/// Says that a task was closed without a merge, and where its commits are.
#[must_use]
pub fn closed_without_merging(commits: u32, task: &TaskId) -> String {
    match commits {
        0 => "closed without merging".to_owned(),
        1 => format!("closed without merging; 1 commit stays on forge/{task}"),
        _ => format!("closed without merging; {commits} commits stay on forge/{task}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_notice_counts_the_commits_that_stay() {
        let task = TaskId("t1".to_owned());
        assert_eq!(closed_without_merging(0, &task), "closed without merging");
        assert_eq!(closed_without_merging(1, &task), "closed without merging; 1 commit stays on forge/t1");
        assert_eq!(closed_without_merging(3, &task), "closed without merging; 3 commits stay on forge/t1");
    }
}

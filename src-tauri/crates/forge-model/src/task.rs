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

pub use crate::{
    diff_stat::DiffStat,
    wait::{AnnotationType, WaitReason, Waiting},
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
        /// Labels that its machine must all have, none for this computer; null leaves them to its agent and project.
        pub machines: Option<Vec<String>>,
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

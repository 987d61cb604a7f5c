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
    issue::IssueLink,
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
        /// In its own worktree.
        Independent = "independent",
        /// In its parent's, in order.
        OrderedTurn = "ordered_turn",
        /// In its own worktree, as an entry of its parent's race; not shown on any board.
        RaceEntry = "race_entry",
    }
}

names! {
    /// How the work of an ordered subtask's turn was committed.
    pub enum CommitResultKind {
        /// Forge committed the agent's uncommitted changes.
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
    /// State of a task, one word.
    pub enum TaskHealth {
        /// An agent or its checks are working on it.
        Ok = "ok",
        /// It waits, and continues automatically.
        Waiting = "waiting",
        /// Something went wrong, and it needs a person.
        Trouble = "trouble",
        /// Nothing is running: it has not started, waits for a person, or is closed.
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
        /// Message, one sentence.
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

    /// Evidence for a person.
    pub struct Evidence {
        /// The command that failed.
        pub command: Option<String>,
        /// Its exit code.
        pub exit_code: Option<i32>,
        /// The end of its output.
        pub output: String,
        /// Log with the full output.
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

    /// Progress of a task's subtasks.
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

    /// Current activity of a task's agent.
    pub struct LiveExecution {
        /// Which run.
        pub execution_id: ExecutionId,
        /// Which agent.
        pub agent_id: AgentId,
        /// As which role.
        pub role: String,
        /// Current activity, in a few words.
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
        /// Its decision.
        pub verdict: Option<Verdict>,
        /// The reviewed commit; null before any work was committed.
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
        /// Increases with every change; required with changes.
        pub version: u32,
        /// Its parent task.
        pub parent_id: Option<TaskId>,
        /// Where it works, if it is a subtask.
        pub execution_mode: ExecutionMode,
        /// Position among its parent's ordered subtasks.
        pub subtask_order: Option<u32>,
        /// How its turn was committed, if it is an ordered subtask.
        pub commit_result: Option<CommitResult>,
        /// Progress of its subtasks.
        pub subtasks: SubtaskCounts,
        /// Tasks that it depends on.
        pub depends_on: Vec<TaskId>,
        /// Dependencies that are still open.
        pub blocked_by: Vec<TaskId>,
        /// Holders of its roles.
        pub roles: BTreeMap<String, Option<RoleHolder>>,
        /// Check settings that override the project's.
        pub review_config: Option<ReviewConfig>,
        /// Merge settings that override the project's.
        pub merge_config: Option<MergeConfig>,
        /// Its own limits.
        pub task_state_config: Option<TaskStateConfig>,
        /// Race settings that override the project's.
        pub race: Option<TaskRace>,
        /// Labels that its machine must all have, none for this computer; null leaves them to its agent and project.
        pub machines: Option<Vec<String>>,
        /// When its review last passed, if that still applies.
        pub review_passed_at: Option<Timestamp>,
        /// What holds it at the entry of its state.
        pub entry_barrier: Option<EntryBarrier>,
        /// Why it needs a person.
        pub error_annotation: Option<ErrorAnnotation>,
        /// What it waits for before it continues automatically.
        pub waiting: Option<Waiting>,
        /// Whether a person put it on hold.
        pub held: bool,
        /// Its state, derived from `error_annotation`, `waiting`, `live` and a running `review`.
        pub health: TaskHealth,
        /// The actions available to a person now.
        pub offers: Vec<Offer>,
        /// Remaining automatic retries.
        pub budgets: Budgets,
        /// The latest workspace record.
        pub workspace: Option<Workspace>,
        /// Current runs.
        pub live: Option<LiveExecution>,
        /// The latest review.
        pub review: Option<ReviewBadge>,
        /// Its latest race, once it was raced.
        pub raced: Option<RaceBadge>,
        /// Its pull request, once there is one, as last seen.
        pub pull_request: Option<PullRequestLink>,
        /// The issue that it was imported from.
        pub issue: Option<IssueLink>,
        /// Size of its branch's changes, as last measured.
        pub diff_stat: Option<DiffStat>,
        /// Commits of its branch that the target lacks, as last counted.
        pub unmerged_commits: u32,
        /// Whether a person closed it without a merge.
        pub closed_unmerged: bool,
        /// How its work differs from the reviewed commit, if that prevented its approval.
        pub work_changed: Option<WorkChanged>,
        /// Usage and cost of its runs.
        pub usage: Usage,
        /// When it was created.
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

//! What a finished task delivered, on one page: what, by which commits, checked and judged by whom, at which
//! price and in which time.

use crate::{
    contract,
    execution::Usage,
    merge::Merge,
    pull_request::PullRequestLink,
    review::{AuditReport, ReviewStep},
    task::DiffStat,
    time::Timestamp,
};

contract! {
    /// One commit of a task.
    #[derive(Eq)]
    pub struct DeliveredCommit {
        /// Its name (hex).
        pub id: String,
        /// The first line of its message.
        pub subject: String,
        /// Who wrote it.
        pub author: String,
        /// When.
        pub at: Timestamp,
    }

    /// Delivery of a task.
    pub struct Delivery {
        /// The agent's summary from its last run.
        pub summary: Option<String>,
        /// The merge; null if a person closed the task without one.
        pub merge: Option<Merge>,
        /// The pull request that it went through.
        pub pull_request: Option<PullRequestLink>,
        /// The task's commits, oldest first; at most 200.
        pub commits: Vec<DeliveredCommit>,
        /// Size of the changes.
        pub diff_stat: Option<DiffStat>,
        /// The checks of the review that passed.
        pub checks: Vec<ReviewStep>,
        /// The reviewer's result in it.
        pub audit: Option<AuditReport>,
        /// Who decided: a person, an agent or the engine by its rules; null if nobody was asked.
        pub decided_by: Option<crate::actor::Actor>,
        /// Attempts at passing the review.
        pub attempts: u32,
        /// Runs of agents.
        pub runs: u32,
        /// Usage and cost of all runs.
        pub usage: Usage,
        /// When work began.
        pub started_at: Option<Timestamp>,
        /// When the task was closed.
        pub finished_at: Timestamp,
        /// Total agent time, in milliseconds.
        #[specta(type = f64)]
        pub agent_ms: i64,
    }
}

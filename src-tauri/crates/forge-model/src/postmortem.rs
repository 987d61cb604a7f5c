//! What is to be learned from how a task went: its attempts, what they took, which gates flap, what failed first. The
//! engine makes it of what is stored.

use crate::{
    contract,
    election::GateResult,
    execution::Usage,
    ids::{ReviewId, TaskId},
    names,
    race::RaceEntryStatus,
    review::ReviewStatus,
    time::Timestamp,
};

names! {
    /// Why a postmortem was written.
    pub enum PostmortemCause {
        /// A gate failed, and no small fix could be drafted.
        GateFailed = "gate_failed",
        /// The task is closed.
        TaskClosed = "task_closed",
    }
}

contract! {
    /// A gate that rejected the work.
    #[derive(Eq)]
    pub struct GateFailure {
        /// The gate: the command of a check, `auditor`, or `person`.
        pub gate: String,
        /// In which attempt.
        pub attempt: u32,
        /// Whose attempt, when it was an entry of a race.
        pub strategy: Option<String>,
        /// How it failed, one sentence without a full stop.
        pub what: String,
        /// The first error in its output, otherwise its last line.
        pub line: Option<String>,
        /// When.
        pub at: Timestamp,
    }

    /// One attempt at passing a gate.
    pub struct PostmortemAttempt {
        /// 1, 2, ... per task.
        pub number: u32,
        /// The gate's state.
        pub state: String,
        /// Where it is.
        pub status: ReviewStatus,
        /// The failure; null if nothing failed.
        pub failed: Option<GateFailure>,
        /// The commit that was reviewed.
        pub commit: Option<String>,
        /// Review time, in milliseconds.
        #[specta(type = Option<f64>)]
        pub judged_ms: Option<i64>,
        /// Agent time since the previous attempt, in milliseconds.
        #[specta(type = f64)]
        pub agent_ms: i64,
        /// In how many runs.
        pub runs: u32,
        /// Known cost of those runs, in micro-dollars; null if there is none.
        #[specta(type = Option<f64>)]
        pub cost_micro_usd: Option<u64>,
        /// When it began.
        pub started_at: Timestamp,
    }

    /// Results of one gate over all attempts.
    #[derive(Eq)]
    pub struct PostmortemGate {
        /// The gate: the command of a check, `auditor`, or `person`.
        pub gate: String,
        /// How often it passed.
        pub passed: u32,
        /// How often it failed.
        pub failed: u32,
        /// Whether its results for the same commit differed, or changed more than once.
        pub flapping: bool,
    }

    /// An entry of one of the task's races.
    pub struct PostmortemEntry {
        /// Which race of the task.
        pub race: u32,
        /// The strategy's name.
        pub strategy: String,
        /// Where it is.
        pub status: RaceEntryStatus,
        /// How its checks ended.
        pub gate: GateResult,
        /// The failure; null if nothing failed.
        pub failed: Option<GateFailure>,
        /// How long it took, in milliseconds.
        #[specta(type = Option<f64>)]
        pub duration_ms: Option<i64>,
        /// Cost in micro-dollars; null if unknown.
        #[specta(type = Option<f64>)]
        pub cost_micro_usd: Option<u64>,
    }

    /// How a task went.
    pub struct Postmortem {
        /// The task.
        pub task_id: TaskId,
        /// Its number.
        pub task_number: u32,
        /// Its title.
        pub title: String,
        /// 1, 2, ... per task.
        pub number: u32,
        /// Why it was written.
        pub cause: PostmortemCause,
        /// The review that failed, when one did.
        pub review_id: Option<ReviewId>,
        /// The state that the task was in.
        pub state: String,
        /// When it was written.
        pub at: Timestamp,
        /// The attempts, oldest first.
        pub attempts: Vec<PostmortemAttempt>,
        /// The gates, in the order of their first use.
        pub gates: Vec<PostmortemGate>,
        /// The first failure; null if nothing failed.
        pub first_failure: Option<GateFailure>,
        /// The entries of its races.
        pub entries: Vec<PostmortemEntry>,
        /// Runs of agents, including race entries.
        pub runs: u32,
        /// Usage and cost of all of them.
        pub usage: Usage,
        /// Total agent time, in milliseconds.
        #[specta(type = f64)]
        pub agent_ms: i64,
        /// From the first run to now, in milliseconds; null when nothing ran.
        #[specta(type = Option<f64>)]
        pub wall_ms: Option<i64>,
    }
}

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
        /// A gate failed, and no small local fix was to be drafted.
        GateFailed = "gate_failed",
        /// The task is closed.
        TaskClosed = "task_closed",
    }
}

contract! {
    /// A gate that did not let the work through.
    #[derive(Eq)]
    pub struct GateFailure {
        /// The gate: the command of a check, `auditor`, or `person`.
        pub gate: String,
        /// In which attempt.
        pub attempt: u32,
        /// Whose attempt, when it was an entry of a race.
        pub strategy: Option<String>,
        /// How it failed, in a sentence without its point.
        pub what: String,
        /// The first complaint in its output, else its last line.
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
        /// What failed; null when nothing did.
        pub failed: Option<GateFailure>,
        /// The commit that was judged.
        pub commit: Option<String>,
        /// How long judging took, in milliseconds.
        #[specta(type = Option<f64>)]
        pub judged_ms: Option<i64>,
        /// How long agents had worked on it since the attempt before, in milliseconds.
        #[specta(type = f64)]
        pub agent_ms: i64,
        /// In how many runs.
        pub runs: u32,
        /// What those cost as far as is known, in micro-dollars; null when nothing is.
        #[specta(type = Option<f64>)]
        pub cost_micro_usd: Option<u64>,
        /// When it began.
        pub started_at: Timestamp,
    }

    /// What one gate said over all attempts.
    #[derive(Eq)]
    pub struct PostmortemGate {
        /// The gate: the command of a check, `auditor`, or `person`.
        pub gate: String,
        /// How often it passed.
        pub passed: u32,
        /// How often it failed.
        pub failed: u32,
        /// Whether it said different things of the same commit, or changed its mind more than once.
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
        /// What failed; null when nothing did.
        pub failed: Option<GateFailure>,
        /// How long it took, in milliseconds.
        #[specta(type = Option<f64>)]
        pub duration_ms: Option<i64>,
        /// What it cost, in micro-dollars; null when nobody knows.
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
        /// The gates, by when they were first asked.
        pub gates: Vec<PostmortemGate>,
        /// What failed before anything else; null when nothing did.
        pub first_failure: Option<GateFailure>,
        /// The entries of its races.
        pub entries: Vec<PostmortemEntry>,
        /// Runs of agents, those of entries included.
        pub runs: u32,
        /// What all of them used and cost.
        pub usage: Usage,
        /// How long agents worked altogether, in milliseconds.
        #[specta(type = f64)]
        pub agent_ms: i64,
        /// From the first run to now, in milliseconds; null when nothing ran.
        #[specta(type = Option<f64>)]
        pub wall_ms: Option<i64>,
    }
}

//! Drafted fixes: small patches of one file, proposed when a check failed.
//!
//! A proposal is drafted once and then only judged: applied and verified, rolled back, rejected, or overtaken by other
//! work on its file. How its patch is read from an agent's answer is in `forge-reading`.

use crate::{
    actor::Actor,
    contract,
    ids::{AgentId, ExecutionId, ReviewId, TaskId},
    names,
    time::Timestamp,
};

/// The most ids of failures that a proposal keeps.
pub const MAX_FAILURE_IDS: usize = 50;

names! {
    /// State of a drafted fix.
    pub enum FixStatus {
        /// It waits for a decision.
        Drafted = "drafted",
        /// It is in the task's branch, and the failed step reruns next.
        Applied = "applied",
        /// The step passed with it.
        Verified = "verified",
        /// It was rolled back.
        RolledBack = "rolled_back",
        /// It was rejected.
        Rejected = "rejected",
        /// It no longer applies: its file changed, or the work that it was drafted on is none of the task's.
        Superseded = "superseded",
    }
}

impl FixStatus {
    /// Whether somebody may still do something with it.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Drafted | Self::Applied)
    }
}

names! {
    /// State of the drafting of a fix.
    pub enum DraftStatus {
        /// The agent is drafting.
        Drafting = "drafting",
        /// It led to a proposal.
        Drafted = "drafted",
        /// It led to nothing.
        Dropped = "dropped",
    }
}

contract! {
    /// The check that failed.
    #[derive(Eq)]
    #[serde(rename_all = "camelCase")]
    pub struct FixGate {
        /// Its place in the list, from 0.
        pub step: u32,
        /// The command.
        pub command: String,
        /// Null when a signal or its time limit ended it.
        pub exit_code: Option<i32>,
        /// Its error messages, sorted.
        pub failure_ids: Vec<String>,
    }

    /// Who drafted.
    #[derive(Eq)]
    #[serde(rename_all = "camelCase")]
    pub struct FixAuthor {
        /// The agent.
        pub agent: AgentId,
        /// Its model, if known.
        pub model: Option<String>,
    }

    /// The failing step, run again with the patch.
    #[derive(Eq)]
    #[serde(rename_all = "camelCase")]
    pub struct FixVerification {
        /// Whether it passed.
        pub passed: bool,
        /// Its exit code.
        pub exit_code: Option<i32>,
        /// Whether it timed out.
        pub timed_out: bool,
        /// How long it took, in milliseconds.
        #[specta(type = f64)]
        pub duration_ms: i64,
        /// Log with its output.
        pub log_id: String,
        /// When it ended.
        pub at: Timestamp,
    }

    /// A drafted fix.
    #[serde(rename_all = "camelCase")]
    pub struct FixProposal {
        /// Identity within its task: the hash of base tree and patch.
        pub fix_id: String,
        /// The task.
        pub task_id: TaskId,
        /// The run that drafted it.
        pub execution_id: ExecutionId,
        /// The review whose check failed.
        pub review_id: ReviewId,
        /// The commit that it was drafted on.
        pub base_commit: String,
        /// The entry of the task's race whose work it was drafted on; null for the task's own work.
        pub strategy: Option<String>,
        /// The file that it changes.
        pub files: Vec<String>,
        /// How many lines it adds.
        pub added_lines: u32,
        /// How many lines it removes.
        pub removed_lines: u32,
        /// What failed.
        pub gate: FixGate,
        /// Who drafted it.
        pub author: FixAuthor,
        /// Cost of drafting it in micro-dollars; null if unknown.
        #[specta(type = Option<f64>)]
        pub cost_micro_usd: Option<u64>,
        /// Where it is.
        pub status: FixStatus,
        /// When it was drafted.
        pub created_at: Timestamp,
        /// The commit that it was applied as.
        pub applied_commit: Option<String>,
        /// Result of the failed step with it.
        pub verification: Option<FixVerification>,
        /// Reason for its state, if there is one.
        pub reason: Option<String>,
        /// Who decided that.
        pub decided_by: Option<Actor>,
        /// The reviewer who asked for it while at work on the task: it is applied if they send the work back.
        pub wanted_by: Option<Actor>,
        /// When it entered its state.
        pub updated_at: Timestamp,
        /// What it changes.
        pub patch: String,
    }

    /// One attempt at drafting; at most one per review.
    #[serde(rename_all = "camelCase")]
    pub struct FixDraft {
        /// The review whose check failed.
        pub review_id: ReviewId,
        /// The task.
        pub task_id: TaskId,
        /// The run, once there is one.
        pub execution_id: Option<ExecutionId>,
        /// Who drafts.
        pub agent_id: AgentId,
        /// The entry of the task's race whose work it is drafted on; null for the task's own work.
        pub strategy: Option<String>,
        /// The file that the check's errors name.
        pub file: String,
        /// The commit that was reviewed.
        pub base_commit: String,
        /// What failed.
        pub gate: FixGate,
        /// Where it is.
        pub status: DraftStatus,
        /// Why it led to nothing.
        pub reason: Option<String>,
        /// The proposal that it led to.
        pub fix_id: Option<String>,
        /// When it began.
        pub started_at: Timestamp,
        /// When it ended.
        pub finished_at: Option<Timestamp>,
    }

    /// Fixes drafted for a task, oldest first.
    pub struct Fixes {
        /// The proposals.
        pub proposals: Vec<FixProposal>,
        /// The attempts at drafting.
        pub drafts: Vec<FixDraft>,
    }
}

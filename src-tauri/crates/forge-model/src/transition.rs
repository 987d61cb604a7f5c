//! The record of a task's moves, and the durable steps that follow each.

use crate::{actor::Actor, contract, correction::SaidMessage, ids::TransitionId, names, time::Timestamp};

names! {
    /// State of a step.
    pub enum StepStatus {
        /// Still to run.
        Pending = "pending",
        /// Running now.
        Running = "running",
        /// Over.
        Done = "done",
    }
}

names! {
    /// How a step ended.
    pub enum StepOutcome {
        /// It succeeded.
        Ok = "ok",
        /// There was nothing to do, or it did not apply.
        Skipped = "skipped",
        /// It failed.
        Failed = "failed",
        /// It moved the task.
        Cascade = "cascade",
    }
}

names! {
    /// What a step does. Workflow actions and the engine's own work share one queue.
    pub enum StepKind {
        /// Waits until a drag can no longer be undone.
        UndoWindow = "undo_window",
        /// Waits for a free place of the agent and the project.
        Admit = "admit",
        /// Makes the worktree and runs the set-up commands.
        PrepareWorkspace = "prepare_workspace",
        /// Opens the barrier of the entered state.
        ClearBarrier = "clear_barrier",
        /// Runs one action of the workflow.
        Action = "action",
        /// Runs one lifecycle hook of the project.
        Hook = "hook",
        /// Commits what an agent left.
        CommitWork = "commit_work",
        /// Commits what the worktree holds, and begins the review of that commit.
        Capture = "capture",
        /// Moves the task on after its agent finished.
        Advance = "advance",
        /// Starts an agent again after a failure.
        Restart = "restart",
        /// Blocks the tasks that wait for a cancelled one.
        BlockDependents = "block_dependents",
        /// Passes on what a person said while the agent was at work.
        FollowUp = "follow_up",
        /// Removes a worktree whose time has come.
        Cleanup = "cleanup",
        /// Has several agents work on the task and elects one of them.
        Race = "race",
        /// Makes the winner's commits the task's branch.
        Promote = "promote",
        /// Ends what is left of a race.
        EndRace = "end_race",
        /// Runs a failed check again with a drafted fix.
        VerifyFix = "verify_fix",
        /// Keeps what a closed task teaches.
        Debrief = "debrief",
    }
}

contract! {
    /// One step of a transition, as shown to people.
    pub struct TransitionStep {
        /// The phase it belongs to.
        pub phase: String,
        /// The action, or the engine's own work.
        pub action: String,
        /// Where it is.
        pub status: StepStatus,
        /// How it ended.
        pub outcome: Option<StepOutcome>,
        /// Why.
        pub reason: Option<String>,
        /// How long it took, in milliseconds.
        #[specta(type = Option<f64>)]
        pub duration_ms: Option<i64>,
        /// Log with its output.
        pub log_id: Option<String>,
        /// The message that it sends to the agent, while it waits.
        pub message: Option<SaidMessage>,
    }

    /// One move of a task.
    pub struct Transition {
        /// Identity.
        pub id: TransitionId,
        /// The state it left.
        pub from: String,
        /// The state it entered.
        pub to: String,
        /// What caused it: a trigger's name, `move`, `claim`, `block`, `cancel`, ...; `override` for a person's move
        /// that the workflow does not declare.
        pub trigger: String,
        /// Who.
        pub actor: Actor,
        /// Why, in words.
        pub reason: Option<String>,
        /// Whether it is a rejection that the review budget counts.
        pub rejection: bool,
        /// Steps that ran after it.
        pub steps: Vec<TransitionStep>,
        /// When.
        pub at: Timestamp,
    }
}

//! A step while it runs: its input ([`Stepping`]), its end ([`End`]), its findings ([`Finding`]), and effects after
//! the commit ([`Effect`]).

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use forge_model::ids::{ExecutionId, MachineId, TaskId};
use forge_model::task::{WaitReason, Waiting};
use forge_model::time::Timestamp;
use forge_model::transition::StepKind;
use forge_model::workflow::Action;
use forge_store::Tx;
use forge_store::table::steps::StepRow;
use forge_store::table::tasks::TaskRow;
use forge_store::table::transitions::TransitionRow;
use serde_json::Value;

use crate::{
    World,
    core::{block_reason::BlockReason, context::ProjectContext, moves::Move},
    error::Result,
};

/// How a step ended.
#[derive(Clone)]
pub(crate) enum End {
    /// It did what it is for; with a remark.
    Ok(Option<String>),
    /// There was nothing to do, and why.
    Skipped(String),
    /// It failed; its hook's policy decides.
    Failed(BlockReason),
    /// It sends the task on.
    Go(Box<Move>),
    /// It blocks the task, whatever the policy.
    Block(BlockReason),
    /// It cannot go on yet and will be run again.
    Wait(Waiting),
    /// It was stopped from outside and stays pending; a hook is settled by the next worker.
    Interrupted,
    /// What it found out is to be decided on in the transaction that writes its end.
    Found(Arc<dyn Finding>),
    /// How it ended is written already, with what follows; whether to go on with the task's next step.
    Written(bool),
}

/// What a step found out.
#[async_trait]
pub(crate) trait Finding: Send + Sync {
    /// Writes what was found and says how the step ends.
    async fn decide(
        &self,
        world: &World,
        tx: &mut Tx,
        s: &mut Stepping,
        effects: &mut Vec<Effect>,
    ) -> Result<End>;

    /// How the step ends, where that is known before.
    fn end(&self) -> Option<&End> {
        None
    }

    /// The finding as one that may pass a gate, whose guards are asked first.
    fn at_gate(self: Arc<Self>) -> Option<Arc<dyn AtGate>> {
        None
    }
}

/// A finding that may send its task out of a gate.
#[async_trait]
pub(crate) trait AtGate: Finding {
    /// The end of its step when the gate's guards do not let the task go.
    async fn held_back(self: Arc<Self>, world: &World, s: &Stepping, by: HeldBack) -> Result<End>;
}

/// What the guards of a gate say to a task that was about to pass.
pub(crate) enum HeldBack {
    /// It goes somewhere else.
    Redirected(Box<Move>),
    /// It stays, and why.
    Refused(Box<BlockReason>),
}

impl End {
    pub(crate) const fn ok() -> Self {
        Self::Ok(None)
    }

    pub(crate) fn skipped(reason: impl Into<String>) -> Self {
        Self::Skipped(reason.into())
    }

    pub(crate) fn go(mv: Move) -> Self {
        Self::Go(Box::new(mv))
    }

    pub(crate) fn wait(reason: WaitReason, message: impl Into<String>) -> Self {
        Self::Wait(Waiting { reason, until: None, files: Vec::new(), message: message.into() })
    }
}

/// What is done once the transaction is committed.
pub(crate) enum Effect {
    /// Start the process of this task's execution.
    Launch(TaskId, ExecutionId),
    /// Run the pending steps of another task.
    Kick(TaskId),
    /// Places became free: ask whoever waits for one.
    WakeWaiting,
    /// Ask whoever waits for a place once more at a time.
    WakeAt(Timestamp),
    /// Somebody waits for a machine that cannot be reached.
    AwaitMachine(MachineId),
    /// A turn became free: ask whoever stands in line.
    WakeLines,
}

/// Why the steps after a failed barrier did not run.
pub(crate) const BEHIND_BARRIER: &str = "an earlier blocking step failed";

/// Everything a step is given.
pub(crate) struct Stepping {
    pub step: StepRow,
    pub task: TaskRow,
    pub context: Arc<ProjectContext>,
    /// The move that the step belongs to.
    pub transition: TransitionRow,
}

impl Stepping {
    /// The same, to be tried on its own.
    pub(crate) fn again(&self) -> Self {
        Self {
            step: self.step.clone(),
            task: self.task.clone(),
            context: Arc::clone(&self.context),
            transition: self.transition.clone(),
        }
    }
}

/// The action's name, the hook's place, or the engine's own work.
pub(crate) fn name_of(step: &StepRow) -> Cow<'static, str> {
    match step.kind {
        StepKind::Hook => Cow::Owned(shown_name(step)),
        StepKind::UndoWindow
        | StepKind::Admit
        | StepKind::PrepareWorkspace
        | StepKind::ClearBarrier
        | StepKind::Action
        | StepKind::CommitWork
        | StepKind::Capture
        | StepKind::Advance
        | StepKind::Restart
        | StepKind::BlockDependents
        | StepKind::Race
        | StepKind::Promote
        | StepKind::EndRace
        | StepKind::VerifyFix
        | StepKind::Debrief
        | StepKind::FollowUp
        | StepKind::Cleanup => Cow::Borrowed(step.action.map_or(step.kind.as_str(), Action::as_str)),
    }
}

/// The event and place of a hook's row, as people see it.
pub(crate) fn shown_name(step: &StepRow) -> String {
    let index = step.params.as_ref().and_then(|params| params.get("index")).and_then(Value::as_u64);
    format!("{}[{}]", step.phase, index.unwrap_or_default())
}

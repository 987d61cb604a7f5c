//! Tasks on hold: running work continues to its end, and the next step that would start something waits.

use forge_model::task::WaitReason;
use forge_model::transition::{StepKind, StepStatus};
use forge_model::workflow::{Action, LifecycleEvent};
use forge_store::Tx;
use forge_store::table::steps::StepRow;

use crate::{
    core::world::step::{Effect, End},
    error::Result,
};

/// What becomes of the next step of a task on hold; none when it is run all the same. The place of its agent
/// goes to others meanwhile.
pub(crate) async fn hold_back(tx: &mut Tx, step: &StepRow, effects: &mut Vec<Effect>) -> Result<Option<End>> {
    if !starts_something(step) {
        return Ok(None);
    }
    if tx.slots_mut().release(&step.task_id).await? {
        effects.push(Effect::WakeWaiting);
    }
    Ok(Some(End::wait(WaitReason::Held, "on hold")))
}

/// Whether a step begins work on the task; tidying up after it and telling others of it are none.
fn starts_something(step: &StepRow) -> bool {
    match step.kind {
        StepKind::PrepareWorkspace => true,
        // One that was begun is settled, not begun again.
        StepKind::Hook => {
            step.phase == LifecycleEvent::BeforeWork.as_str() && step.status == StepStatus::Pending
        }
        StepKind::VerifyFix => true,
        StepKind::Action => {
            matches!(step.action, Some(Action::RunCiSteps | Action::DispatchRoleAgent | Action::RunMerge))
        }
        // A place is given by its own rules, which ask the same.
        StepKind::Admit
        | StepKind::UndoWindow
        | StepKind::ClearBarrier
        | StepKind::CommitWork
        | StepKind::Capture
        | StepKind::Advance
        | StepKind::Restart
        | StepKind::BlockDependents
        | StepKind::Race
        | StepKind::Promote
        | StepKind::EndRace
        | StepKind::Debrief
        | StepKind::FollowUp
        | StepKind::Cleanup => false,
    }
}

//! Messages that a person sent while the agent was at work: they wait for the worktree, then another run begins with
//! them, before the task moves on.

use forge_model::correction::Correction;
use forge_model::task::WaitReason;
use forge_model::transition::{StepKind, StepOutcome, StepStatus};
use forge_store::Tx;
use forge_store::table::{steps::StepRow, tasks::TaskRow};

use crate::{
    World,
    core::{
        self,
        entry::corrupt_step,
        moves::EntryInput,
        world::step::{Effect, End, Stepping},
    },
    error::Result,
};

/// Queues a message behind the run that goes on. Returns its step's number.
pub(crate) async fn queue_follow_up(
    world: &World,
    tx: &mut Tx,
    task: &TaskRow,
    said: Correction,
) -> Result<i64> {
    let mut step = StepRow::pending(&task.id, &task.status, StepKind::FollowUp, "work_end");
    step.transition_seq = tx.transitions().last(&task.id).await?.map(|last| last.seq);
    step.params = Some(serde_json::to_value(said).map_err(corrupt_step)?);
    tx.steps_mut().insert(&mut step).await?;
    super::attachments::queue_changed(world, tx, &task.id).await?;
    Ok(step.id)
}

/// Starts the run that carries what was said. What the last run left is committed first; moving on waits
/// until this one is over.
pub(crate) async fn follow_up_now(
    world: &World,
    tx: &mut Tx,
    s: &mut Stepping,
    effects: &mut Vec<Effect>,
) -> Result<End> {
    let running = tx.executions().open(Some(std::slice::from_ref(&s.task.id))).await?;
    if !running.is_empty() {
        let message = "your message is sent to the agent after its run";
        return Ok(End::wait(WaitReason::WorkspaceLocked, message.to_owned()));
    }
    let mut input = EntryInput { cause: Some("your message".to_owned()), ..EntryInput::default() };
    for mut step in tx.steps().open(&s.task.id).await? {
        match step.kind {
            StepKind::FollowUp => {
                let said = serde_json::from_value(step.params.clone().unwrap_or_default());
                input.corrections.push(said.map_err(corrupt_step)?);
                if step.id == s.step.id {
                    continue;
                }
            }
            StepKind::Advance | StepKind::Restart => {}
            _ => continue,
        }
        step.status = StepStatus::Done;
        step.outcome = Some(StepOutcome::Skipped);
        step.reason = Some("a message goes to the agent first".to_owned());
        step.finished_at = Some(world.now());
        tx.steps_mut().update(&step).await?;
    }
    core::again::re_enter(world, tx, s, input, effects).await?;
    Ok(End::Ok(Some("another run follows".to_owned())))
}

//! Writing the end of a step, with what follows from it, in one transaction.

use std::sync::Arc;

use forge_model::actor::Cause;
use forge_model::event::EventType;
use forge_model::notification::NotificationKind;
use forge_model::task::{WaitReason, Waiting};
use forge_model::transition::{StepKind, StepOutcome, StepStatus};
use forge_model::workflow::{Action, OnFailure};
use forge_store::Tx;
use forge_store::table::{steps::StepRow, tasks::TaskRow};
use serde_json::json;

use crate::{
    World,
    core::{
        block_reason::BlockReason,
        context::ProjectContext,
        entry::failure_policy,
        follow::act,
        moves::Move,
        world::step::{BEHIND_BARRIER, Effect, End, Stepping, name_of},
    },
    error::Result,
};

/// Writes how a step ended, unless the task was moved meanwhile. Says whether to go on.
pub(crate) async fn finish_step(world: &World, s: &Stepping, end: End) -> Result<bool> {
    let mut effects = Vec::new();
    let mut tx = world.store().write().await?;
    let Some(mut task) = tx.tasks().get(&s.task.id).await? else { return Ok(false) };
    let current = tx.steps().next(&s.task.id).await?.filter(|step| step.id == s.step.id);
    let Some(mut step) = current else { return Ok(true) };
    let context = super::contexts::context_of(world, &mut tx, &task).await?;
    let end = match end {
        End::Found(found) => {
            let transition = s.transition.clone();
            let mut now = Stepping { step, task, context: Arc::clone(&context), transition };
            let end = found.decide(world, &mut tx, &mut now, &mut effects).await?;
            (task, step) = (now.task, now.step);
            end
        }
        end => end,
    };
    let go_on = record(world, &mut tx, &context, &mut task, &mut step, end, &mut effects).await?;
    tx.commit().await?;
    act(world, effects);
    Ok(go_on)
}

/// Writes an end and what follows from it. Says whether to go on with the task's next step.
pub(crate) async fn record(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
    step: &mut StepRow,
    end: End,
    effects: &mut Vec<Effect>,
) -> Result<bool> {
    // Whoever stands behind it is asked again, unless it only stands in line itself.
    let stands = matches!(&end, End::Wait(waiting) if waiting.reason == WaitReason::MergeQueue);
    if step.action == Some(Action::RunMerge) && !stands {
        effects.push(Effect::WakeLines);
    }
    let waited = task.waiting.is_some();
    let mut done = |outcome: StepOutcome, reason: Option<String>| {
        step.status = StepStatus::Done;
        step.outcome = Some(outcome);
        step.reason = reason;
        step.finished_at = Some(world.now());
    };
    match end {
        End::Interrupted => {
            // A hook that was begun is not begun again: that it was is what the next worker must see.
            let begun = step.kind == StepKind::Hook;
            step.status = if begun { StepStatus::Running } else { StepStatus::Pending };
            step.reason = Some("interrupted".to_owned());
            tx.steps_mut().update(step).await?;
            return Ok(false);
        }
        End::Wait(waiting) => {
            step.status = StepStatus::Pending;
            step.reason = Some(waiting.message.clone());
            tx.steps_mut().update(step).await?;
            begin_to_wait(world, tx, context, task, step, waiting).await?;
            return Ok(false);
        }
        End::Ok(remark) => done(StepOutcome::Ok, remark),
        End::Skipped(reason) => done(StepOutcome::Skipped, Some(reason)),
        End::Failed(trouble) => {
            done(StepOutcome::Failed, Some(trouble.message.clone()));
            tx.steps_mut().update(step).await?;
            return follow_policy(world, tx, context, task, step, trouble, effects).await;
        }
        End::Written(go_on) => return Ok(go_on),
        // It was decided on before.
        End::Found(_) => {}
        End::Go(mv) => {
            done(StepOutcome::Cascade, Some(format!("to {}", mv.to)));
            tx.steps_mut().update(step).await?;
            super::transition::cascade(world, tx, context, task, *mv).await?;
            effects.push(Effect::WakeWaiting);
            return Ok(true);
        }
        End::Block(trouble) => {
            done(StepOutcome::Failed, Some(trouble.message.clone()));
            tx.steps_mut().update(step).await?;
            super::transition::block(world, tx, context, task, trouble, Cause::Workflow).await?;
            effects.push(Effect::WakeWaiting);
            return Ok(true);
        }
    }
    tx.steps_mut().update(step).await?;
    if waited {
        task.waiting = None;
        tx.tasks_mut().update(task, world.now()).await?;
    }
    let facts = json!({ "step": name_of(step), "outcome": step.outcome });
    world.emit(tx, EventType::TaskUpdated, task, task.id.as_str(), &facts).await?;
    Ok(true)
}

async fn begin_to_wait(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
    step: &StepRow,
    waiting: Waiting,
) -> Result<()> {
    if task.waiting.as_ref() == Some(&waiting) {
        return Ok(());
    }
    if matches!(waiting.reason, WaitReason::TargetCheckoutDirty | WaitReason::GitLocked) {
        let cause = format!("waiting:{}:{}", step.id, waiting.reason);
        super::notices::notify(world, tx, context, task, NotificationKind::Waiting, &waiting.message, &cause)
            .await?;
    }
    let facts = json!({ "waiting": waiting.reason });
    task.waiting = Some(waiting);
    tx.tasks_mut().update(task, world.now()).await?;
    world.emit(tx, EventType::TaskUpdated, task, task.id.as_str(), &facts).await
}

async fn follow_policy(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
    step: &StepRow,
    trouble: BlockReason,
    effects: &mut Vec<Effect>,
) -> Result<bool> {
    let facts = json!({ "action": name_of(step), "reason": trouble.message });
    world.emit(tx, EventType::TransitionEffectFailed, task, task.id.as_str(), &facts).await?;
    match failure_policy(step) {
        OnFailure::Log => Ok(true),
        OnFailure::Block => stay_behind_barrier(world, tx, context, task, step, trouble, effects).await,
        OnFailure::Cascade(to) => {
            let Some(from) = tx.transitions().last(&task.id).await? else { return Ok(true) };
            let mut mv = Move::cascade(&to, "cascade", Cause::Workflow, &from);
            mv.reason = Some(trouble.message);
            super::transition::cascade(world, tx, context, task, mv).await?;
            effects.push(Effect::WakeWaiting);
            Ok(true)
        }
    }
}

/// Keeps a task in its state with nobody started, until a person says how to go on.
pub(crate) async fn stay_behind_barrier(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
    step: &StepRow,
    trouble: BlockReason,
    effects: &mut Vec<Effect>,
) -> Result<bool> {
    super::entry::skip_open(world, tx, task, BEHIND_BARRIER).await?;
    tx.slots_mut().release(&task.id).await?;
    effects.push(Effect::WakeWaiting);
    let body = trouble.message.clone();
    task.error_annotation = Some(trouble.annotation(&task.status, world.now()));
    task.waiting = None;
    tx.tasks_mut().update(task, world.now()).await?;
    let kind = task.error_annotation.as_ref().map(|annotation| annotation.kind);
    world.emit(tx, EventType::TaskBlocked, task, task.id.as_str(), &json!({ "type": kind })).await?;
    let cause = format!("barrier:{}", step.id);
    super::notices::notify(world, tx, context, task, NotificationKind::Blocked, &body, &cause).await?;
    Ok(true)
}

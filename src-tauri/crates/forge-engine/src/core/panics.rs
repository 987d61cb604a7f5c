//! What follows a panic of a worker or a run.
//!
//! A unit of work is a task's worker, a run, a request or a background timer. [`guarded`] catches a panic of one and
//! says where it happened. A worker's step and a run are started once more; when they panic again, the task goes to
//! a person with `recovery_required`. Timers are started again after a pause that doubles.

use std::collections::HashSet;

use forge_model::actor::Cause;
use forge_model::event::EventType;
use forge_model::execution::ExecutionError;
use forge_model::ids::TaskId;
use forge_model::notification::NotificationKind;
use forge_model::task::AnnotationType;
use forge_model::transition::{StepOutcome, StepStatus};
use forge_model::workflow::{State, StateKind};
use forge_store::Tx;
use forge_store::table::tasks::TaskRow;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    World,
    core::{block_reason::BlockReason, context::ProjectContext, guarded::guarded, world::step::name_of},
    error::{Panic, Result},
};

/// The code of a run's error that a panic ended.
pub(crate) const PANICKED: &str = "panicked";

impl Panic {
    pub(crate) fn error(&self) -> ExecutionError {
        ExecutionError {
            code: PANICKED.to_owned(),
            message: self.to_string(),
            remedy: "Try again. If the problem persists, report it with the engine's log.".to_owned(),
        }
    }

    pub(crate) fn trouble(&self, unit: &str) -> BlockReason {
        let message = format!(
            "{self} ({unit}). Two attempts failed. Retry; if the problem persists, report it with the engine's log."
        );
        let mut trouble = BlockReason::new(AnnotationType::RecoveryRequired, message);
        trouble.details = json!({ "place": self.place, "panic": self.message, "unit": unit });
        trouble
    }
}

/// Runs a task's steps. The step that panics is begun once more.
pub(crate) async fn work_guarded(world: &World, task: &TaskId, cancel: &CancellationToken) {
    let mut panicked = HashSet::new();
    while let Err(panic) = guarded(super::runner::work(world, task, cancel)).await {
        // Whoever stops the worker decides about the task, and its steps stay pending.
        if cancel.is_cancelled() {
            return;
        }
        let recorded =
            guarded(super::disk::with_patience(world, || step_panicked(world, task, &panic, &panicked)))
                .await;
        match recorded {
            Ok(Ok(step)) => drop(panicked.insert(step)),
            Ok(Err(error)) => {
                tracing::error!(%task, %error, "failed to record a panic; the task's steps stay pending");
                return;
            }
            Err(_) => return,
        }
    }
}

/// Records that the worker of a task panicked. The step that it was at is begun again, unless it has panicked
/// before: then the task goes to a person. Gives the step.
async fn step_panicked(
    world: &World,
    id: &TaskId,
    panic: &Panic,
    before: &HashSet<Option<i64>>,
) -> Result<Option<i64>> {
    let mut tx = world.store().write().await?;
    let step = tx.steps().next(id).await?;
    let at = step.as_ref().map(|step| step.id);
    let Some(mut task) = tx.tasks().get(id).await? else { return Ok(at) };
    let unit = step.as_ref().map_or_else(|| "work on a task".into(), name_of).into_owned();
    let facts = json!({ "action": unit, "reason": panic.to_string() });
    world.emit(&mut tx, EventType::TransitionEffectFailed, &task, id.as_str(), &facts).await?;
    let gives_up = before.contains(&at);
    if let Some(mut step) = step {
        step.reason = Some(panic.to_string());
        if gives_up {
            step.status = StepStatus::Done;
            step.outcome = Some(StepOutcome::Failed);
            step.finished_at = Some(world.now());
        }
        tx.steps_mut().update(&step).await?;
    }
    for settle in &world.features().moments.on_panic {
        settle(world, &mut tx, &task, &panic.error()).await?;
    }
    if gives_up {
        let context = super::contexts::context_of(world, &mut tx, &task).await?;
        give_to_person(world, &mut tx, &context, &mut task, panic.trouble(&unit)).await?;
    }
    tx.commit().await?;
    // What was to be done after the last commit may not have been.
    super::disk::resume_work(world);
    Ok(at)
}

/// Blocks a task; one that is blocked or closed stays where it is.
pub(crate) async fn give_to_person(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
    trouble: BlockReason,
) -> Result<()> {
    let state = context.workflow.state(&task.status);
    let stays = |state: &State| state.is_terminal() || state.kind == StateKind::Blocked;
    if !state.is_some_and(stays) {
        super::transition::block(world, tx, context, task, trouble, Cause::Recovery).await?;
        return Ok(());
    }
    let (now, body) = (world.now(), trouble.message.clone());
    task.error_annotation = Some(trouble.annotation(&task.status, now));
    tx.tasks_mut().update(task, now).await?;
    world.emit(tx, EventType::TaskUpdated, task, task.id.as_str(), &json!({})).await?;
    let cause = format!("panic:{}:{}", task.id, now.0);
    super::notices::notify(world, tx, context, task, NotificationKind::Blocked, &body, &cause).await
}

//! How a task that is held up continues: the failed work is tried again, or its agent gets another run.
//!
//! Absent: whether a retry is left, which is `core/retry_budget.rs`.

use forge_model::actor::Actor;
use forge_model::correction::Correction;
use forge_model::event::EventType;
use forge_model::offer::Verb;
use forge_model::review::ReviewStatus;
use forge_model::task::{AnnotationType, ErrorAnnotation};
use forge_store::Tx;
use forge_store::table::{tasks::TaskRow, transitions::TransitionRow};
use serde_json::Value;

use crate::{
    EngineError, World,
    core::{
        self,
        context::ProjectContext,
        moves::{EntryInput, Move},
    },
    error::Result,
    review, subtask,
};

/// Runs again what failed, in the state it came from.
pub(crate) async fn retry(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
    actor: Actor,
    annotation: Option<ErrorAnnotation>,
    correction: Option<Correction>,
) -> Result<()> {
    let mut input = EntryInput { cause: Some("retried by hand".to_owned()), ..EntryInput::default() };
    input.corrections.extend(correction);
    let kind = annotation.as_ref().map(|annotation| annotation.kind);
    let last_run = tx.executions().last(&task.id).await?;
    input.subtask_turn = kind == Some(AnnotationType::SubtaskPaused)
        || subtask::turns::is_open_turn(tx, context, last_run.as_ref()).await?
        || (kind != Some(AnnotationType::MergeConflict) && subtask::turns::is_failed_turn(last_run.as_ref()));
    let from_state = annotation
        .as_ref()
        .map(|annotation| annotation.from_state.clone())
        .filter(|from| context.workflow.state(from).is_some())
        .map_or_else(|| work_state(context), Ok)?;
    let is_conflict = kind == Some(AnnotationType::MergeConflict);
    let to = if is_conflict { work_state(context)? } else { from_state };
    if is_conflict {
        let all = tx.executions().list(&task.id).await?;
        if let Some(conflict) = all.into_iter().rev().find_map(|row| row.execution.conflict) {
            let (target, paths) = (conflict.target, conflict.paths);
            input.corrections.push(Correction::Conflict { target, paths, begun: false });
        }
    }
    if to == task.status {
        let last = tx
            .transitions()
            .last(&task.id)
            .await?
            .ok_or_else(|| EngineError::not_found("transition of task", &task.id))?;
        if kind == Some(AnnotationType::ReviewerUnusable) {
            return audit_again(world, tx, task, &last, input).await;
        }
        review_anew(world, tx, context, task, &last).await?;
        return core::entry::insert_entry(world, tx, context, task, &last, input).await;
    }
    let mut mv = Move::by(&to, "retry", actor);
    // Repeating what failed is no new judgement of the work.
    mv.keeps_pass = true;
    mv.input = input;
    core::transition::apply(world, tx, context, task, mv).await.map(drop)
}

/// What a review came to stays on its row: another try at its gate is another review. One of work begins with the
/// work's commit, once the gate is entered anew.
async fn review_anew(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &TaskRow,
    last: &TransitionRow,
) -> Result<()> {
    let Some(state) = context.workflow.state(&task.status).filter(|state| state.plans()) else {
        return Ok(());
    };
    let review = tx.reviews().last(&task.id).await?.filter(|review| review.state == state.name);
    let is_over = review
        .is_none_or(|review| !matches!(review.status, ReviewStatus::Running | ReviewStatus::AwaitingHuman));
    if is_over {
        core::transition::begin_review(world, tx, task, state, last, None).await?;
    }
    Ok(())
}

/// Only the auditor failed: it alone is asked again.
async fn audit_again(
    world: &World,
    tx: &mut Tx,
    task: &mut TaskRow,
    last: &TransitionRow,
    input: EntryInput,
) -> Result<()> {
    if let Some(mut review) = tx.reviews().last(&task.id).await? {
        review.status = ReviewStatus::Running;
        review.note = None;
        tx.reviews_mut().update(&review).await?;
    }
    task.error_annotation = None;
    tx.tasks_mut().update(task, world.now()).await?;
    review::audit::ask_auditor(tx, task, last, input).await?;
    world.emit(tx, EventType::TaskUpdated, task, task.id.as_str(), &Value::Null).await
}

#[expect(clippy::too_many_arguments, reason = "the facts of one move; a struct would only rename them")]
pub(crate) async fn back_to_work(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
    actor: Actor,
    verb: Verb,
    correction: Correction,
    reason: Option<String>,
) -> Result<()> {
    let to = work_state(context)?;
    let last_run = tx.executions().last(&task.id).await?;
    let input = EntryInput {
        corrections: vec![correction],
        cause: Some(verb.to_string()),
        subtask_turn: subtask::turns::is_open_turn(tx, context, last_run.as_ref()).await?,
        ..EntryInput::default()
    };
    if to == task.status {
        let last = tx
            .transitions()
            .last(&task.id)
            .await?
            .ok_or_else(|| EngineError::not_found("transition of task", &task.id))?;
        task.review_passed_at = None;
        return core::entry::insert_entry(world, tx, context, task, &last, input).await;
    }
    let mut mv = Move::by(&to, verb.as_str(), actor);
    mv.reason = reason;
    mv.input = input;
    core::transition::apply(world, tx, context, task, mv).await.map(drop)
}

fn work_state(context: &ProjectContext) -> Result<String> {
    let state = context.workflow.work_state();
    Ok(state.ok_or_else(|| EngineError::not_found("state", "of kind active"))?.name.clone())
}

//! Answering the approvals that agents ask for.

use forge_model::actor::Actor;
use forge_model::approval::{Approval, ApprovalStatus};
use forge_model::ids::{ApprovalId, ExecutionId, TaskId};

use crate::{ConflictCode, EngineError, World, error::Result};

/// The longest note that goes with an answer, in bytes.
const MAX_NOTE_BYTES: usize = 16 * 1024;

/// What agents ask: of one task or of all, all of it or what waits for an answer; oldest first.
pub(crate) async fn approvals(
    world: &World,
    task: Option<&TaskId>,
    pending_only: bool,
) -> Result<Vec<Approval>> {
    let mut conn = world.store().read().await?;
    Ok(conn.approvals().list(task, pending_only).await?)
}

/// Answers a question of a run. The answer is stored before it is passed on.
pub(crate) async fn answer_approval(
    world: &World,
    actor: Actor,
    execution: &ExecutionId,
    id: &ApprovalId,
    option: &str,
    note: Option<String>,
) -> Result<Approval> {
    let mut tx = world.store().write().await?;
    let found = tx.approvals().get(id).await?.filter(|found| found.execution_id == *execution);
    let mut approval = found.ok_or_else(|| EngineError::not_found("approval", id))?;
    let known: Vec<_> = approval.options.iter().map(|option| option.id.as_str()).collect();
    if !known.contains(&option) {
        let message = format!("must be one of {}", known.join(", "));
        return Err(EngineError::invalid("option", message));
    }
    if note.as_ref().is_some_and(|note| note.len() > MAX_NOTE_BYTES) {
        return Err(EngineError::invalid("note", format!("must be at most {MAX_NOTE_BYTES} bytes")));
    }
    if approval.status != ApprovalStatus::Pending {
        return Err(EngineError::conflict(
            ConflictCode::NotAwaiting,
            format!("the approval is already {}", approval.status),
        ));
    }
    approval.status = ApprovalStatus::Answered;
    approval.answer = Some(option.to_owned());
    approval.note = note.filter(|note| !note.trim().is_empty());
    approval.answered_by = Some(actor.to_string());
    approval.answered_at = Some(world.now());
    tx.approvals_mut().answer(&approval).await?;
    super::events::question_settled(world, &mut tx, &approval.task_id, execution).await?;
    tx.commit().await?;
    if !super::events::pass_on(world, &approval) {
        return Err(EngineError::conflict(
            ConflictCode::NotAwaiting,
            "the run that asked has ended; it asks again when it is resumed",
        ));
    }
    Ok(approval)
}

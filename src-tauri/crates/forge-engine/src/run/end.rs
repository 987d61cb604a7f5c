//! The end of a run: what is written with it, and what follows.

use forge_agents::AgentError;
use forge_agents::RunOutcome;
use forge_agents::marker_of;
use forge_model::event::EventType;
use forge_model::execution::{Execution, ExecutionError, ExecutionRole, ExecutionStatus};
use forge_model::ids::{ExecutionId, TaskId};
use forge_model::task::AnnotationType;
use forge_model::time::Timestamp;
use forge_model::transition::StepKind;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{self, block_reason::block_reason_of, entry::append_work_steps, lineage::audits},
    cost::{self, prices::Cost},
    error::Result,
};

/// Records that a run could not be brought to its end.
pub(crate) async fn record_failure(world: &World, id: &ExecutionId, error: &EngineError) -> Result<()> {
    tracing::error!(execution = %id, %error, "failed to run an execution");
    // A run that Forge's own end, or the disk up to it, kept from its end is settled by the next start.
    if world.inner.shutdown.is_cancelled() || core::disk::passes_with_storage(world, error).await {
        return Ok(());
    }
    core::disk::with_patience(world, || fail_to_start(world, id, error)).await
}

/// Writes how a run ended and what follows. A run that Forge's own end cut short stays recorded as
/// running: the next start sees that and goes on.
pub(crate) async fn end_run(
    world: &World,
    execution: &Execution,
    task_id: &TaskId,
    (outcome, cost): (&RunOutcome, Cost),
    cancel: &CancellationToken,
) -> Result<()> {
    world.point("execution.ended");
    let marker = marker_of(execution.id.as_str());
    let mut tx = world.store().write().await?;
    tx.processes_mut().delete(&marker.0).await?;
    if world.inner.shutdown.is_cancelled() && outcome.result.is_err() {
        tx.commit().await?;
        return Ok(());
    }
    let Some(task) = tx.tasks().get(task_id).await? else { return Ok(()) };
    let Some(row) = tx.executions().get(&execution.id).await? else { return Ok(()) };
    let mut execution = row.execution;
    if outcome.result == Err(AgentError::Lost) {
        cost.write_into(&mut execution);
        super::lost::lose_run(world, &mut tx, &task, execution).await?;
        tx.commit().await?;
        return Ok(());
    }
    let stopped = cancel.is_cancelled() && outcome.result == Err(AgentError::Cancelled);
    write_end(&mut execution, outcome, cost, stopped, world.now());
    tx.executions_mut().update(&execution).await?;
    if outcome.carry.is_some() {
        tx.executions_mut().set_carry(&execution.id, outcome.carry.as_ref()).await?;
    }
    tx.approvals_mut().expire(&execution.id, None, world.now()).await?;
    tx.slots_mut().release(task_id).await?;
    if execution.status == ExecutionStatus::Finished {
        cost::record_sample(world, &mut tx, &task).await?;
    }
    let limited = match &outcome.result {
        Err(AgentError::RateLimited { until_ms }) if !stopped => Some(Timestamp(*until_ms)),
        _ => None,
    };
    if let Some(until) = limited {
        tx.limits_mut().put(&execution.agent_id, until).await?;
    }
    // What an auditor leaves is settled however it ended.
    if !stopped || audits(execution.role) {
        let kinds: &[StepKind] = match (&outcome.result, execution.role) {
            (Ok(()), ExecutionRole::Planner) | (_, ExecutionRole::Reviewer) => &[StepKind::Advance],
            (Ok(()), _) => &[StepKind::CommitWork, StepKind::Advance],
            (Err(_), _) => &[StepKind::Restart],
        };
        append_work_steps(&mut tx, &task, &execution.id, kinds).await?;
    }
    let facts = json!({
        "status": execution.status, "error": execution.error.as_ref().map(|error| &error.code), "until": limited,
    });
    let event = if limited.is_some() { EventType::ExecutionWaiting } else { EventType::ExecutionFinished };
    world.emit(&mut tx, event, &task, execution.id.as_str(), &facts).await?;
    tx.commit().await?;
    if let Some(until) = limited {
        core::scheduler::wake_at(world, until);
    }
    world.point("execution.finished");
    Ok(())
}

/// A run that could not even be started, for a reason other than the agent's program.
async fn fail_to_start(world: &World, id: &ExecutionId, error: &EngineError) -> Result<()> {
    let mut tx = world.store().write().await?;
    let Some(row) = tx.executions().get(id).await? else { return Ok(()) };
    let mut execution = row.execution;
    let Some(mut task) = tx.tasks().get(&execution.task_id).await? else { return Ok(()) };
    let context = core::contexts::context_of(world, &mut tx, &task).await?;
    execution.status = ExecutionStatus::Failed;
    execution.finished_at = Some(world.now());
    execution.error = Some(ExecutionError {
        code: "environment".to_owned(),
        message: error.to_string(),
        remedy: "Fix the reported problem, then try again.".to_owned(),
    });
    tx.executions_mut().update(&execution).await?;
    tx.processes_mut().delete(&marker_of(id.as_str()).0).await?;
    let mut trouble = block_reason_of(error, AnnotationType::EnvironmentNotReady);
    trouble.execution = Some(id.clone());
    core::transition::block(
        world,
        &mut tx,
        &context,
        &mut task,
        trouble,
        forge_model::actor::Cause::Workflow,
    )
    .await?;
    tx.commit().await?;
    core::workers::kick(world, &task.id);
    Ok(())
}

/// Writes how a run ended into its record; one that was stopped failed in nothing.
pub(crate) fn write_end(
    execution: &mut Execution,
    outcome: &RunOutcome,
    cost: Cost,
    stopped: bool,
    at: Timestamp,
) {
    execution.status = match &outcome.result {
        Ok(()) => ExecutionStatus::Finished,
        Err(_) if stopped => ExecutionStatus::Cancelled,
        Err(_) => ExecutionStatus::Failed,
    };
    execution.error = outcome.result.as_ref().err().filter(|_| !stopped).map(describe);
    cost.write_into(execution);
    execution.activity.clone_from(&outcome.activity);
    if outcome.session_id.is_some() {
        execution.session_id.clone_from(&outcome.session_id);
    }
    execution.summary.clone_from(&outcome.summary);
    execution.finished_at = Some(at);
}

fn describe(error: &AgentError) -> ExecutionError {
    ExecutionError {
        code: error.code().to_owned(),
        message: error.to_string(),
        remedy: error.remedy().to_owned(),
    }
}

//! The processes of runs as the keeper knows them, and runs that go on without an engine.

use std::{collections::HashMap, sync::Mutex};

use forge_agents::{kept_id, marker_of};
use forge_model::execution::ExecutionStatus;
use forge_model::ids::{ExecutionId, TaskId};

use crate::{EngineError, Work, World, core::sync::locked, error::Result, run::memo::KeptLaunch};

/// How many processes a run has at most.
const PROCESSES: u32 = 2;

/// What the keeper may know the processes of a run by.
pub(super) fn kept_ids(id: &ExecutionId) -> impl Iterator<Item = String> {
    (1..=PROCESSES).map(|process| kept_id(id.as_str(), process))
}

/// Runs that go on, and that this engine was not told of.
#[derive(Default)]
pub(super) struct Unattended(pub(super) Mutex<HashMap<TaskId, (ExecutionId, KeptLaunch)>>);

/// Ends what goes on for a task without an engine, and writes down that it was stopped. An engine that does all work
/// has gone on with every run.
pub(super) async fn end_unattended(world: &World, task: &TaskId) -> Result<()> {
    if world.inner.config.work == Work::All {
        return Ok(());
    }
    let open = world.store().read().await?.executions().open(Some(std::slice::from_ref(task))).await?;
    if open.is_empty() {
        return Ok(());
    }
    let asked = |error| EngineError::io("ask what goes on without Forge")(error);
    let known = world.keeper().runs().await.map_err(asked)?;
    for row in open {
        let mut run = row.execution;
        let kept: Vec<String> =
            kept_ids(&run.id).filter(|id| known.iter().any(|known| known.id == *id)).collect();
        if kept.is_empty() {
            continue;
        }
        for id in kept {
            world.keeper().forget(&id).await.map_err(asked)?;
        }
        locked(&world.part::<Unattended>().0).remove(task);
        run.status = ExecutionStatus::Cancelled;
        run.finished_at = Some(world.now());
        let mut tx = world.store().write().await?;
        tx.executions_mut().update(&run).await?;
        tx.approvals_mut().expire(&run.id, None, world.now()).await?;
        tx.slots_mut().release(task).await?;
        tx.processes_mut().delete(&marker_of(run.id.as_str()).0).await?;
        tx.commit().await?;
    }
    Ok(())
}

/// Has the keeper drop a run's processes. Done once its end is written.
pub(crate) async fn forget_processes(world: &World, id: &ExecutionId) {
    for kept in kept_ids(id) {
        if let Err(error) = world.keeper().forget(&kept).await {
            tracing::warn!(%error, execution = %id, "failed to drop a process that ended");
        }
    }
}

//! The processes of runs as the keeper knows them, and runs that go on without an engine.

use std::{collections::HashMap, sync::Mutex};

use forge_agents::{kept_id, marker_of};
use forge_keeper::RunState;
use forge_model::execution::ExecutionStatus;
use forge_model::ids::{ExecutionId, TaskId};

use crate::{
    EngineError, Work, World,
    core::{self, sync::locked},
    error::Result,
    run::memo::{Found, KeptLaunch, LaunchMemo},
};

/// How many processes a run has at most.
const PROCESSES: u32 = 2;

/// What the keeper may know the processes of a run by.
pub(super) fn kept_ids(id: &ExecutionId) -> impl Iterator<Item = String> {
    (1..=PROCESSES).map(|process| kept_id(id.as_str(), process))
}

/// What a keeper has of a run, if it has something of it.
pub(super) fn kept_launch(kept: &[RunState], id: &ExecutionId) -> Option<KeptLaunch> {
    let first = kept_id(id.as_str(), 1);
    let memo = LaunchMemo::read(&kept.iter().find(|kept| kept.id == first)?.memo)?;
    let is_kept = |id: &String| kept.iter().any(|kept| kept.id == *id);
    let processes = u32::try_from(kept_ids(id).filter(is_kept).count()).unwrap_or(1);
    Some(KeptLaunch { memo, processes })
}

/// Drafts of fixes that go on and that nobody has taken yet.
#[derive(Default)]
pub(super) struct KeptDrafts(pub(super) Mutex<HashMap<ExecutionId, KeptLaunch>>);

/// What a draft was begun with that went on while no engine was there. Whoever asks goes on with it.
pub(crate) fn take_draft(world: &World, id: &ExecutionId) -> Option<KeptLaunch> {
    locked(&world.part::<KeptDrafts>().0).remove(id)
}

/// Runs that go on, and that this engine was not told of.
#[derive(Default)]
pub(super) struct Unattended(pub(super) Mutex<HashMap<TaskId, (ExecutionId, Found)>>);

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
    for row in open {
        let mut run = row.execution;
        let keeper = core::location::contacts::keeper_of(world, run.machine_id.as_ref(), task).await?;
        let known = keeper.runs().await.map_err(asked)?;
        let kept: Vec<String> =
            kept_ids(&run.id).filter(|id| known.iter().any(|known| known.id == *id)).collect();
        if kept.is_empty() {
            continue;
        }
        for id in kept {
            keeper.forget(&id).await.map_err(asked)?;
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
    let drop_them = async {
        let row = world.store().read().await?.executions().get(id).await?;
        let keeper = match row.map(|row| row.execution) {
            Some(run) => {
                let machine = run.machine_id.as_ref();
                core::location::contacts::keeper_of(world, machine, &run.task_id).await?
            }
            // A trial of an agent, which is no run and is always here.
            None => world.keeper().clone(),
        };
        for kept in kept_ids(id) {
            keeper.forget(&kept).await.map_err(EngineError::io("drop a process"))?;
        }
        Ok::<(), EngineError>(())
    };
    // On a machine that cannot be reached, the next contact finds it as nobody's.
    if let Err(error) = drop_them.await {
        tracing::warn!(%error, execution = %id, "failed to drop a process that ended");
    }
}

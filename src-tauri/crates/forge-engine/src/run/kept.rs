//! The processes of runs as the keeper knows them, and runs that go on without an engine.

use std::{collections::HashMap, sync::Mutex};

use forge_agents::kept_id;
use forge_model::ids::{ExecutionId, TaskId};

use crate::{World, core::sync::locked, run::memo::LaunchMemo};

/// How many processes a run has at most.
const PROCESSES: u32 = 2;

/// What the keeper may know the processes of a run by.
pub(super) fn kept_ids(id: &ExecutionId) -> impl Iterator<Item = String> {
    (1..=PROCESSES).map(|process| kept_id(id.as_str(), process))
}

/// Runs that go on, and that this engine was not told of.
#[derive(Default)]
pub(super) struct Unattended(pub(super) Mutex<HashMap<TaskId, (ExecutionId, LaunchMemo)>>);

/// Ends what goes on for a task without an engine.
pub(super) async fn end_unattended(world: &World, task: &TaskId) {
    let open =
        async { world.store().read().await?.executions().open(Some(std::slice::from_ref(task))).await };
    let open = match open.await {
        Ok(open) => open,
        Err(error) => {
            tracing::error!(%task, %error, "failed to look for a run that goes on without an engine");
            return;
        }
    };
    locked(&world.part::<Unattended>().0).remove(task);
    for row in &open {
        forget_processes(world, &row.execution.id).await;
    }
}

/// Has the keeper drop a run's processes. Done once its end is written.
pub(crate) async fn forget_processes(world: &World, id: &ExecutionId) {
    for kept in kept_ids(id) {
        if let Err(error) = world.keeper().forget(&kept).await {
            tracing::warn!(%error, execution = %id, "failed to drop a process that ended");
        }
    }
}

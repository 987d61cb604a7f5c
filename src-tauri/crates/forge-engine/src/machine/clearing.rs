//! What a keeper has that is nobody's any more is ended and removed.

use std::collections::HashSet;

use forge_agents::marker_of;
use forge_keeper::TransferError;
use forge_model::ids::{MachineId, TaskId};

use crate::{
    EngineError, World,
    core::{
        guarded::in_background,
        location::{asked::Asked, left_there},
    },
    error::Result,
};

/// Does something about a machine beside everything else, until this engine ends.
pub(super) fn until_end(world: &World, act: impl Future<Output = Result<()>> + Send + 'static) {
    let ends = world.inner.shutdown.clone();
    in_background(world, async move {
        let acted = tokio::select! {
            acted = act => acted,
            () = ends.cancelled() => return,
        };
        if let Err(error) = acted {
            tracing::warn!(%error, "failed on a machine; the next contact tries again");
        }
    });
}

/// Ends there what no row names, and removes the copies of worktrees that are not there any more. What a copy holds that
/// was not fetched is kept as a backup first. Whoever calls has the turn.
pub(super) async fn clear_up_in_turn(world: &World, asked: &Asked) -> Result<()> {
    let machine = &asked.id.machine;
    let kept = asked.keeper.runs().await.map_err(unreachable)?;
    let trees = asked.keeper.far_trees(false).await.map_err(EngineError::Transfer)?;
    // Read afterwards: whoever starts something there has written it down before.
    let named = names_on(world, machine).await?;
    for run in kept.iter().filter(|run| !named.runs.contains(&run.id)) {
        asked.keeper.forget(&run.id).await.map_err(unreachable)?;
    }
    for tree in trees.into_iter().filter(|tree| !named.tasks.contains(&TaskId(tree.task.clone()))) {
        left_there::keep_and_remove(world, asked, &tree.task, &tree.project).await?;
    }
    Ok(())
}

/// What the rows say is on a machine.
struct Named {
    /// Names of programs as its keeper has them.
    runs: HashSet<String>,
    tasks: HashSet<TaskId>,
}

async fn names_on(world: &World, machine: &MachineId) -> Result<Named> {
    let mut conn = world.store().read().await?;
    let mut runs: HashSet<String> = HashSet::new();
    for row in conn.executions().open(None).await? {
        if row.execution.machine_id.as_ref() == Some(machine) {
            let id = row.execution.id;
            runs.extend((1..=2).map(|process| forge_agents::kept_id(id.as_str(), process)));
            runs.insert(marker_of(id.as_str()).0);
        }
    }
    let processes = conn.processes().list().await?;
    runs.extend(
        processes.into_iter().filter(|it| it.machine_id.as_ref() == Some(machine)).map(|it| it.marker),
    );
    let tasks = conn.workspaces().tasks_on(machine).await?.into_iter().map(|task| task.id).collect();
    Ok(Named { runs, tasks })
}

pub(super) fn unreachable(error: std::io::Error) -> EngineError {
    EngineError::Transfer(TransferError::Unreachable(error))
}

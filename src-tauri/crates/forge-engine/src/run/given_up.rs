//! Runs on a machine that a person gave up, or that is gone.

use forge_agents::marker_of;
use forge_model::execution::{Execution, ExecutionError};
use forge_model::ids::ExecutionId;

use crate::{World, core, error::Result, run};

/// What a run ends with whose machine was given up.
const ABANDONED: &str = "abandoned";

/// Ends a run without its machine: what was lent is taken back as it was, its token is worth nothing any more, and it
/// begins anew elsewhere. What the machine has of it is kept as a backup when it comes back.
pub(crate) async fn abandon(world: &World, id: &ExecutionId) -> Result<()> {
    let mut conn = world.store().read().await?;
    let Some(row) = conn.executions().get(id).await?.filter(|row| row.execution.finished_at.is_none()) else {
        return Ok(());
    };
    let Some(task) = conn.tasks().get(&row.execution.task_id).await? else { return Ok(()) };
    let context = core::contexts::context_of(world, &mut conn, &task).await?;
    let workspace = conn.workspaces().last(&task.id).await?;
    drop(conn);
    if let Some(workspace) = workspace {
        core::confinement::take_back_unfetched(world, &context, &workspace).await?;
    }
    let mut tx = world.store().write().await?;
    let given_up = || ExecutionError {
        code: ABANDONED.to_owned(),
        message: "its machine was given up".to_owned(),
        remedy: "What the machine has of it is kept as a backup of the task when it can be reached again."
            .to_owned(),
    };
    // Why a machine is gone was written down with the task's leave.
    let told = row.execution.error.clone();
    let fails = told.as_ref().is_some_and(|error| !core::location::given_up::is_bad_luck(error));
    let run = Execution { error: told.or_else(|| Some(given_up())), ..row.execution };
    tx.processes_mut().delete(&marker_of(id.as_str()).0).await?;
    tx.approvals_mut().expire(id, None, world.now()).await?;
    match fails {
        true => run::lost::fail_run(world, &mut tx, &task, run).await?,
        false => run::lost::lose_run(world, &mut tx, &task, run).await?,
    }
    Ok(tx.commit().await?)
}

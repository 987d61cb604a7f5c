//! What follows when the job of a task is over.

use forge_machines::{JobOver, SlurmFault};
use forge_model::execution::ExecutionError;

use crate::{
    World,
    core::{lent_folders, location::keeper_id::KeeperId},
    error::Result,
};

use super::{jobs, leaving};

/// Has the task of a job that is over go on in another one, if its worktree was in it. Of a job that may still be at work
/// only a person says that.
pub(super) async fn ended(world: &World, keeper: &KeeperId, over: &JobOver) -> Result<()> {
    let Some(task) = keeper.task.clone().filter(|_| over.is_certain()) else { return Ok(()) };
    let mut conn = world.store().read().await?;
    let workspace = conn.workspaces().last(&task).await?;
    let machine = conn.machines().get(&keeper.machine).await?;
    drop(conn);
    let has_worktree = workspace.is_some_and(|workspace| {
        workspace.machine_id.as_ref() == Some(&keeper.machine) && lent_folders::is_there(&workspace)
    });
    if has_worktree {
        let fault = SlurmFault::Over(over.clone());
        let why = ExecutionError {
            code: over.code().to_owned(),
            message: fault.to_string(),
            remedy: fault.remedy(),
        };
        return leaving::leave(world, &task, Some(why)).await;
    }
    if let Some(machine) = machine {
        jobs::clear_up_later(world, &machine, &task);
    }
    Ok(())
}

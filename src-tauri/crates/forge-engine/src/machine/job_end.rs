//! What follows when the job of a task is over.

use std::time::Duration;

use forge_machines::{JobEnd, JobFault, JobOver};
use forge_model::execution::ExecutionError;

use crate::{
    World,
    core::{lent_folders, location::keeper_id::KeeperId},
    error::Result,
};

use super::{clearing::until_end, jobs, leaving};

/// From one attempt to write down what follows to the next.
const PAUSE: Duration = Duration::from_secs(5);

/// Has the task of a job that is over go on in another one, if its worktree was in it. Of a job that may still be at work
/// only a person says that. A full disk delays it.
pub(super) fn ended_later(world: &World, keeper: &KeeperId, fault: &JobFault) {
    let over = match fault {
        JobFault::Over(over) => over.clone(),
        // Its row went with the worktree that it had, before anybody looked.
        JobFault::NoJob => JobOver::of(None, JobEnd::Unknown),
        _ => return,
    };
    let (world, keeper) = (world.clone(), keeper.clone());
    until_end(&world.clone(), async move {
        while let Err(error) = ended(&world, &keeper, &over).await {
            tracing::warn!(%error, "failed to write down that a job is over; trying again");
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    });
}

async fn ended(world: &World, keeper: &KeeperId, over: &JobOver) -> Result<()> {
    let Some(task) = keeper.task.clone().filter(|_| over.is_certain()) else { return Ok(()) };
    let mut conn = world.store().read().await?;
    let workspace = conn.workspaces().last(&task).await?;
    let machine = conn.machines().get(&keeper.machine).await?;
    drop(conn);
    let has_worktree = workspace.is_some_and(|workspace| {
        workspace.machine_id.as_ref() == Some(&keeper.machine) && lent_folders::is_there(&workspace)
    });
    if has_worktree {
        let fault = JobFault::Over(over.clone());
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

//! Copies of worktrees that are left on machines: of tasks that were given up there, removed or begun anew.

use std::path::Path;

use forge_keeper::TransferError;
use forge_model::ids::{ProjectId, TaskId};

use crate::{EngineError, World, core, error::Result};

use super::contacts::Asked;

/// The folder of copies that are fetched to be kept, in the data folder.
const FETCHED: &str = "fetched";

/// Fetches what the copy of a worktree holds that nobody works in any more, keeps it under the task's backups, and
/// removes the copy. Of a project that is gone, nothing is left to keep it in.
pub(crate) async fn keep_and_remove(world: &World, asked: &Asked, task: &str, project: &str) -> Result<()> {
    let login = asked.login().await.map_err(|error| unreachable(std::io::Error::other(error)))?;
    let far = asked.keeper.far_tree(task, project, &login);
    let project = ProjectId(project.to_owned());
    let known = world.store().read().await?.projects().get(&project).await?;
    if known.is_some() {
        let context = core::contexts::context(world, &mut *world.store().read().await?, &project).await?;
        let Some(repo) = core::repository::present_repo(world, &context).await? else { return Ok(()) };
        let folder = world.data_dir().join(FETCHED).join(task);
        // What an engine left that was killed here is fetched anew.
        remove_folder(&folder).await?;
        core::private_data::make(&folder).map_err(EngineError::io("make a folder for a worktree"))?;
        let copy = repo.copy_in(&folder).await?;
        far.fetch(&copy, true).await.map_err(EngineError::Transfer)?;
        let task = TaskId(task.to_owned());
        let message = "What a task's machine had when the task was not there any more";
        let prefix = core::context::backup_prefix_of(&task);
        let kept = repo.keep_copy(&copy, &prefix, message).await?;
        tracing::info!(%task, kept, "fetched what a machine had of a task");
        remove_folder(&folder).await?;
    }
    far.remove().await.map_err(EngineError::Transfer)
}

async fn remove_folder(folder: &Path) -> Result<()> {
    match tokio::fs::remove_dir_all(folder).await {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(EngineError::io("remove the folder of a worktree")(error))
        }
        _ => Ok(()),
    }
}

fn unreachable(error: std::io::Error) -> EngineError {
    EngineError::Transfer(TransferError::Unreachable(error))
}

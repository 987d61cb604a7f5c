//! Copies of worktrees that are left on machines: of tasks that were given up there, removed or begun anew.

use std::{collections::HashMap, path::Path, sync::Mutex};

use forge_keeper::{FarTree, TransferError, last_held};
use forge_model::ids::{ProjectId, TaskId};
use forge_model::workspace::Workspace;

use crate::{
    EngineError, World,
    core::{self, lent_folders::transfer_of, sync::locked},
    error::Result,
};

use super::asked::Asked;

/// The folder of copies that are fetched to be kept, in the data folder.
const FETCHED: &str = "fetched";

/// The snapshots that copies on machines were as when they were last sent or fetched, by their tasks.
#[derive(Debug, Default)]
struct LastKnown(Mutex<HashMap<TaskId, String>>);

/// Fetches what the copy of a worktree holds that nobody works in any more, keeps it under the task's backups, and
/// removes the copy. Of a project that is gone, nothing is left to keep it in.
pub(crate) async fn keep_and_remove(world: &World, asked: &Asked, task: &str, project: &str) -> Result<()> {
    let login = asked.login().await.map_err(|error| unreachable(std::io::Error::other(error)))?;
    let far = asked.keeper.far_tree(task, project, &login);
    let task_id = TaskId(task.to_owned());
    let last = locked(&world.part::<LastKnown>().0).get(&task_id).cloned();
    if let Some(last) = last
        && far.is_still(&last).await.map_err(EngineError::Transfer)?
    {
        return remove(world, &far, &task_id).await;
    }
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
        far.fetch_copy(&copy, repo.newest_tips().await?).await.map_err(EngineError::Transfer)?;
        let message = "Files left on a task's machine after the task had moved on";
        let prefix = core::context::backup_prefix_of(&task_id);
        let kept = repo.keep_copy(&copy, &prefix, message).await?;
        tracing::info!(task, kept, "fetched what a machine had of a task");
        remove_folder(&folder).await?;
    }
    remove(world, &far, &task_id).await
}

async fn remove(world: &World, far: &FarTree, task: &TaskId) -> Result<()> {
    far.remove().await.map_err(EngineError::Transfer)?;
    locked(&world.part::<LastKnown>().0).remove(task);
    Ok(())
}

/// Notes what the copy of a worktree was when it was last sent or fetched, before that is forgotten here: a copy that is
/// still so holds nothing that is not known, and need not be fetched.
pub(crate) async fn note_last_known(world: &World, workspace: &Workspace) {
    let store = transfer_of(workspace);
    if let Ok(Some(last)) = tokio::task::spawn_blocking(move || last_held(&store)).await {
        locked(&world.part::<LastKnown>().0).insert(workspace.task_id.clone(), last);
    }
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

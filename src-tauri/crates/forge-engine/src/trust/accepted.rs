//! What a repository may have git run: recorded before the first run of an agent in it, and compared when it is
//! opened again.

use std::path::PathBuf;

use forge_git::{Fingerprint, FingerprintFile, Repo};
use forge_store::table::{accepted::AcceptedFile, tasks::TaskRow};

use crate::{World, core::context::ProjectContext, error::Result};

/// Has git run only what the repository names now, unless that was settled before. To be called before an agent
/// starts: nothing that it plants counts then.
pub(crate) async fn require_accepted(world: &World, context: &ProjectContext, repo: &Repo) -> Result<()> {
    if repo.accepted().is_none() {
        let now = repo.fingerprint().await?;
        store_accepted(world, context, &now).await?;
        repo.accept(now);
    }
    Ok(())
}

/// Has an opened repository hold to what was accepted of it.
pub(crate) async fn recall_accepted(world: &World, context: &ProjectContext, repo: &Repo) -> Result<()> {
    let stored = world.store().read().await?.accepted_repositories().get(&context.project.repo_path).await?;
    if let Some(files) = stored {
        repo.accept(Fingerprint { files: files.into_iter().map(from_row).collect() });
    }
    Ok(())
}

/// Records what Forge itself changed among the accepted files.
pub(crate) async fn keep_own_changes(world: &World, context: &ProjectContext, repo: &Repo) -> Result<()> {
    let Some(now) = repo.accepted() else { return Ok(()) };
    let stored = world.store().read().await?.accepted_repositories().get(&context.project.repo_path).await?;
    let rows: Vec<AcceptedFile> = now.files.iter().cloned().map(to_row).collect();
    if stored.as_ref() == Some(&rows) { Ok(()) } else { store_accepted(world, context, &now).await }
}

pub(crate) async fn store_accepted(world: &World, context: &ProjectContext, now: &Fingerprint) -> Result<()> {
    let rows: Vec<AcceptedFile> = now.files.iter().cloned().map(to_row).collect();
    let mut tx = world.store().write().await?;
    tx.accepted_repositories_mut().put(&context.project.repo_path, &rows, world.now()).await?;
    tx.commit().await?;
    Ok(())
}

/// Where things are kept that were moved out of a task's worktree, or out of its repository.
pub(crate) fn kept_folder(world: &World, task: &TaskRow) -> PathBuf {
    world.data_dir().join("kept").join(task.project_id.as_str()).join(task.id.as_str())
}

fn to_row(file: FingerprintFile) -> AcceptedFile {
    let FingerprintFile { path, executable, sha256, content } = file;
    AcceptedFile { path, executable, sha256, content }
}

fn from_row(row: AcceptedFile) -> FingerprintFile {
    let AcceptedFile { path, executable, sha256, content } = row;
    FingerprintFile { path, executable, sha256, content }
}

//! Opening the repository of a project, one handle for each path, and the worktree of a task.
//!
//! Invariant: work on a task reaches its worktree by [`worktree`] alone.

use std::collections::HashMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Mutex;

use forge_git::{Repo, Worktree};
use forge_model::workspace::Workspace;

use crate::{
    EngineError, World,
    core::{context::ProjectContext, sync::locked},
    error::Result,
};

/// Repositories that were opened, by path.
#[derive(Default)]
struct Repos(Mutex<HashMap<PathBuf, Repo>>);

/// Has a repository opened again.
pub(crate) fn forget_repo(world: &World, path: &Path) {
    locked(&world.part::<Repos>().0).remove(path);
}

/// The project's repository. Its git commands get the variables that the project's environment policy passes.
pub(crate) async fn repo(world: &World, context: &ProjectContext) -> Result<Repo> {
    let path = PathBuf::from(&context.project.repo_path);
    let policy = &context.settings.environment;
    let repos = world.part::<Repos>();
    if let Some(repo) = locked(&repos.0).get(&path) {
        return Ok(repo.passing(policy));
    }
    let repo = Repo::open(&world.git().passing(policy), &path).await?;
    for prepare in &world.features().moments.on_repository {
        prepare(world, context, &repo).await?;
    }
    locked(&repos.0).insert(path, repo.clone());
    Ok(repo)
}

/// The worktree of a task's workspace. No other function makes one of a workspace's path: where that path leads is known
/// here alone.
pub(crate) async fn worktree(
    world: &World,
    context: &ProjectContext,
    workspace: &Workspace,
) -> Result<Worktree> {
    Ok(repo(world, context).await?.worktree_at(&workspace.path))
}

/// A project's repository; none when it is not where the project says.
pub(crate) async fn present_repo(world: &World, context: &ProjectContext) -> Result<Option<Repo>> {
    match repo(world, context).await {
        Ok(repo) => Ok(Some(repo).filter(Repo::is_there)),
        Err(EngineError::Git(
            forge_git::GitError::NotARepository { .. } | forge_git::GitError::NoCommit { .. },
        )) => Ok(None),
        Err(error) => Err(error),
    }
}

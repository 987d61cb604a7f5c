//! The size of a task's changes.

use forge_model::task::DiffStat;
use forge_model::workspace::Workspace;

use crate::{
    World,
    core::{self, world::step::Stepping},
    error::Result,
};

/// How much the branch changes.
pub(crate) async fn measure(world: &World, s: &Stepping, workspace: &Workspace) -> Result<DiffStat> {
    let worktree = core::repository::worktree(world, &s.context, workspace).await?;
    let (repo, head) = (worktree.repo(), worktree.head().await?);
    let target = format!("refs/heads/{}", s.context.target_branch(&s.task));
    let base = repo.merge_base(&target, &head).await?.unwrap_or_else(|| workspace.base_commit.clone());
    let counts = repo.diff_counts(&base, &head).await?;
    Ok(DiffStat { files: counts.files, added: counts.added, removed: counts.removed })
}

//! Guards that look at the worktree of a task.

use std::path::Path;

use forge_model::words::counted;
use forge_model::workspace::WorkspaceStatus;
use forge_store::table::tasks::TaskRow;
use serde_json::json;

use crate::{
    World,
    core::{self, context::ProjectContext, world::features::Objection},
    error::Result,
};

/// Objects while a file is not committed.
pub(crate) async fn uncommitted(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<Option<Objection>> {
    let Some(workspace) = active_workspace(world, task).await? else { return Ok(None) };
    let status = core::repository::worktree(world, context, &workspace).await?.status().await?;
    Ok((!status.is_empty()).then(|| {
        let paths: Vec<&str> = status.iter().map(|entry| entry.path.as_str()).collect();
        let said = counted(paths.len() as u64, "uncommitted file", "uncommitted files");
        (said, json!({ "files": paths }))
    }))
}

/// Objects while a changed file has conflict markers.
pub(crate) async fn markers(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<Option<Objection>> {
    let Some(workspace) = active_workspace(world, task).await? else { return Ok(None) };
    let worktree = core::repository::worktree(world, context, &workspace).await?;
    let changed = worktree.changed_paths(&workspace.base_commit).await?;
    let marked = worktree.conflict_markers(&changed).await?;
    Ok((!marked.is_empty())
        .then(|| (format!("conflict markers are left in {}", marked.join(", ")), json!({ "files": marked }))))
}

async fn active_workspace(
    world: &World,
    task: &TaskRow,
) -> Result<Option<forge_model::workspace::Workspace>> {
    let mut conn = world.store().read().await?;
    let last = conn.workspaces().last(&task.id).await?;
    Ok(last.filter(|w| w.status == WorkspaceStatus::Active && Path::new(&w.path).is_dir()))
}

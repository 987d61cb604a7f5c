//! Removing what a reviewing or planning run left in a worktree.

use std::path::Path;

use forge_model::event::EventType;
use forge_model::execution::ExecutionRole;
use forge_model::workspace::Workspace;
use forge_store::table::tasks::TaskRow;
use serde_json::json;

use crate::{
    World,
    core::{
        self,
        context::{ProjectContext, backup_prefix},
    },
    error::Result,
    workspace,
};

/// Whether a worktree is after a run of this role as it was before it.
pub(crate) const fn leaves_no_trace(role: ExecutionRole) -> bool {
    matches!(role, ExecutionRole::Reviewer | ExecutionRole::Planner)
}

/// Undoes what such runs did in a worktree: tracked files, index and branch go back to the commit that they found,
/// untracked files that were not there go. A person may have worked there meanwhile: all of it is kept as backups.
pub(crate) async fn remove_traces(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
    workspace: &Workspace,
) -> Result<()> {
    let left = world.store().read().await?.executions().with_traces(&task.id).await?;
    for (execution, untracked) in left {
        let mut kept = Vec::new();
        if let Some(before) = execution.before_commit.as_ref().filter(|_| Path::new(&workspace.path).is_dir())
        {
            workspace::nested::mend_worktree(world, context, task, workspace).await?;
            let prefix = backup_prefix(task);
            let worktree = core::repository::worktree(world, context, workspace).await?;
            let undone = worktree.discard_changes(&workspace.branch, before, &untracked, &prefix).await?;
            kept = undone.kept;
        }
        world.point("traces.discarded");
        let mut tx = world.store().write().await?;
        tx.executions_mut().set_traces(&execution.id, None).await?;
        if !kept.is_empty() {
            let message = format!(
                "worktree changes made during the {} are kept at {}",
                execution.role,
                kept.join(", ")
            );
            tracing::info!(task = %task.id, %message, "a worktree is as it was before a run");
            let facts = json!({ "path": workspace.path, "kept": kept, "message": message });
            world.emit(&mut tx, EventType::WorkspaceRecovered, task, workspace.id.as_str(), &facts).await?;
        }
        tx.commit().await?;
    }
    Ok(())
}

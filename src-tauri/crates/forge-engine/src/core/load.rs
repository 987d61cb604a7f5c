//! Loading a task for a command, at the version that the caller read.

use std::sync::Arc;

use forge_model::ids::TaskId;
use forge_store::ReadConnection;
use forge_store::table::tasks::TaskRow;

use crate::{
    EngineError, World,
    core::{context::ProjectContext, lineage::require_no_entry},
    error::Result,
};

/// A task with its project, at the version that the caller believes in.
pub(crate) async fn load(
    world: &World,
    conn: &mut ReadConnection,
    id: &TaskId,
    version: Option<u32>,
) -> Result<(TaskRow, Arc<ProjectContext>)> {
    let task = conn.tasks().get(id).await?.ok_or_else(|| EngineError::not_found("task", id))?;
    if let Some(expected) = version
        && expected != task.version
    {
        return Err(EngineError::VersionConflict { expected, actual: task.version });
    }
    let context = super::contexts::context_of(world, conn, &task).await?;
    Ok((task, context))
}

/// The same for what changes a task: an entry of a race is its race's alone.
pub(crate) async fn load_own(
    world: &World,
    conn: &mut ReadConnection,
    id: &TaskId,
    version: Option<u32>,
) -> Result<(TaskRow, Arc<ProjectContext>)> {
    let (task, context) = load(world, conn, id, version).await?;
    require_no_entry(&task)?;
    Ok((task, context))
}

//! The contexts of projects as they were read last, so that a project is read again only when it changed.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use forge_model::event::EventType;
use forge_model::ids::ProjectId;
use forge_model::project::Project;
use forge_store::{ReadConnection, Tx, table::tasks::TaskRow};
use serde_json::json;

use crate::{
    EngineError, World,
    core::{context::ProjectContext, lineage::is_entry, sync::locked},
    error::Result,
};

/// Contexts that were read, by project.
#[derive(Default)]
struct Contexts(Mutex<HashMap<ProjectId, Arc<ProjectContext>>>);

/// The context of a project as it was read last; none when nothing was done for it yet.
pub(crate) fn known_context(world: &World, id: &ProjectId) -> Option<Arc<ProjectContext>> {
    locked(&world.part::<Contexts>().0).get(id).map(Arc::clone)
}

/// Has a project's context read again.
pub(crate) fn forget_context(world: &World, id: &ProjectId) {
    locked(&world.part::<Contexts>().0).remove(id);
}

/// The project's context, from the cache when nothing changed.
pub(crate) async fn context(
    world: &World,
    conn: &mut ReadConnection,
    id: &ProjectId,
) -> Result<Arc<ProjectContext>> {
    let row = conn.projects().get(id).await?.ok_or_else(|| EngineError::not_found("project", id))?;
    let contexts = world.part::<Contexts>();
    let mut cache = locked(&contexts.0);
    if let Some(context) = cache.get(id)
        && context.project.version == row.project.version
    {
        return Ok(Arc::clone(context));
    }
    let context = Arc::new(ProjectContext::read(&row)?);
    cache.insert(id.clone(), Arc::clone(&context));
    Ok(context)
}

/// The project of a task, as that task sees it.
pub(crate) async fn context_of(
    world: &World,
    conn: &mut ReadConnection,
    task: &TaskRow,
) -> Result<Arc<ProjectContext>> {
    let context = context(world, conn, &task.project_id).await?;
    if is_entry(task) { context.for_entries() } else { Ok(context) }
}

/// Records that a project was changed, and what of it.
pub(crate) async fn project_changed(world: &World, tx: &mut Tx, project: &Project, what: &str) -> Result<()> {
    tx.emit(
        EventType::ProjectChanged,
        world.now(),
        Some(&project.id),
        None,
        project.id.as_str(),
        &json!({ "change": what }),
    )
    .await?;
    Ok(())
}

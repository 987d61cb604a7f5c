//! Disk usage of worktrees: measured after they were made, after each run, and when a person asks; one at a time,
//! outside the engine's own threads. Crossing a project's limit is notified once.

use std::path::{Path, PathBuf};

use forge_git::disk_usage;
use forge_model::event::EventType;
use forge_model::ids::{ProjectId, TaskId};
use forge_model::notification::NotificationKind;
use forge_model::workspace::{ProjectDisk, WorkspaceStatus};
use forge_store::Tx;
use forge_store::table::{projects::Places, tasks::TaskRow};
use serde_json::json;

use crate::{
    World,
    core::{self, context::ProjectContext},
    error::Result,
    workspace,
};

/// Whose turn it is to measure.
#[derive(Default)]
struct MeterTurns(tokio::sync::Mutex<()>);

const MEBIBYTE: u64 = 1024 * 1024;

/// The disk space of each project's worktrees, as last measured.
pub(crate) async fn disk(world: &World) -> Result<Vec<ProjectDisk>> {
    let mut conn = world.store().read().await?;
    let mut all = Vec::new();
    for row in conn.projects().list().await? {
        let id = row.project.id;
        let context = core::contexts::context(world, &mut conn, &id).await?;
        let (tasks_bytes, unmeasured) = conn.workspaces().disk_of(&id).await?;
        let places = conn.projects().places(&id).await?;
        let cap_bytes = cap_of(&context);
        all.push(ProjectDisk {
            over: cap_bytes.is_some_and(|cap| tasks_bytes + places.slots_bytes > cap),
            project_id: id,
            tasks_bytes,
            unmeasured,
            slots: places.slots,
            slots_bytes: places.slots_bytes,
            cap_bytes,
        });
    }
    Ok(all)
}

/// Measures all worktrees anew, in the background.
pub(crate) async fn measure_workspaces(world: &World) -> Result<()> {
    measure_all_later(world);
    Ok(())
}

/// Measures a task's worktree in the background.
pub(crate) fn measure_later(world: &World, task: &TaskId) {
    let (world, task) = (world.clone(), task.clone());
    core::guarded::in_background(&world.clone(), async move {
        if let Err(error) = measure_worktree(&world, &task).await {
            tracing::warn!(%task, %error, "failed to measure a worktree");
        }
    });
}

/// Measures a project's finished worktrees in the background.
pub(crate) fn measure_slots_later(world: &World, project: &ProjectId) {
    let (world, project) = (world.clone(), project.clone());
    core::guarded::in_background(&world.clone(), async move { measure_slots(&world, &project).await });
}

/// Measures everything in the background.
pub(crate) fn measure_all_later(world: &World) {
    let world = world.clone();
    core::guarded::in_background(&world.clone(), async move {
        let known = async {
            let mut conn = world.store().read().await?;
            Ok::<_, crate::EngineError>((conn.workspaces().present().await?, conn.projects().list().await?))
        };
        match known.await {
            Ok((present, projects)) => {
                for workspace in present {
                    if let Err(error) = measure_worktree(&world, &workspace.task_id).await {
                        tracing::warn!(path = %workspace.path, %error, "failed to measure a worktree");
                    }
                }
                for row in projects {
                    measure_slots(&world, &row.project.id).await;
                }
            }
            Err(error) => tracing::warn!(%error, "failed to look for worktrees to measure"),
        }
    });
}

async fn measure_worktree(world: &World, task: &TaskId) -> Result<()> {
    let turns = world.part::<MeterTurns>();
    let _turn = turns.0.lock().await;
    let workspace = world.store().read().await?.workspaces().last(task).await?;
    let present = workspace.filter(|w| w.status != WorkspaceStatus::Cleaned);
    let Some(workspace) = present.filter(|w| Path::new(&w.path).is_dir()) else { return Ok(()) };
    let Some(bytes) = space_of(world, vec![PathBuf::from(&workspace.path)]).await else { return Ok(()) };
    let mut tx = world.store().write().await?;
    let Some(row) = tx.tasks().get(task).await? else { return Ok(()) };
    let context = core::contexts::context(world, &mut tx, &row.project_id).await?;
    tx.workspaces_mut().set_disk(&workspace.id, bytes).await?;
    if workspace.disk_bytes != Some(bytes) {
        let facts = json!({ "disk_bytes": bytes });
        world.emit(&mut tx, EventType::TaskUpdated, &row, workspace.id.as_str(), &facts).await?;
    }
    let places = tx.projects().places(&row.project_id).await?;
    assess_disk(world, &mut tx, &context, places, Some(&row)).await?;
    tx.commit().await?;
    Ok(())
}

pub(crate) async fn measure_slots(world: &World, project: &ProjectId) {
    let measured = async {
        let turns = world.part::<MeterTurns>();
        let _turn = turns.0.lock().await;
        let context = {
            let mut conn = world.store().read().await?;
            if conn.projects().get(project).await?.is_none() {
                return Ok(());
            }
            core::contexts::context(world, &mut conn, project).await?
        };
        let pool = workspace::folders::pool_folder(world, &context);
        let slots = if pool.is_dir() {
            core::repository::repo(world, &context).await?.slots(&pool).await?
        } else {
            Vec::new()
        };
        let count = u32::try_from(slots.len()).unwrap_or(u32::MAX);
        let Some(bytes) = space_of(world, slots).await else { return Ok(()) };
        let mut tx = world.store().write().await?;
        let before = tx.projects().places(project).await?;
        let now = Places { slots: count, slots_bytes: bytes, over: before.over };
        assess_disk(world, &mut tx, &context, now, None).await?;
        if before != now {
            let facts = json!({ "change": "disk" });
            let kind = EventType::ProjectChanged;
            tx.emit(kind, world.now(), Some(project), None, project.as_str(), &facts).await?;
        }
        tx.commit().await?;
        Ok::<_, crate::EngineError>(())
    };
    if let Err(error) = measured.await {
        tracing::warn!(%project, %error, "failed to measure finished worktrees");
    }
}

/// The space of folders; `None` when the engine stops meanwhile.
pub(crate) async fn space_of(world: &World, folders: Vec<PathBuf>) -> Option<u64> {
    let measured = tokio::task::spawn_blocking(move || folders.iter().map(|folder| disk_usage(folder)).sum());
    tokio::select! {
        () = world.inner.shutdown.cancelled() => None,
        bytes = measured => bytes.ok(),
    }
}

/// Writes what was measured, and tells the person when the project's cap was crossed just now.
async fn assess_disk(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    mut places: Places,
    task: Option<&TaskRow>,
) -> Result<()> {
    let project = &context.project.id;
    let (bytes, _) = tx.workspaces().disk_of(project).await?;
    let (total, was_over) = (bytes + places.slots_bytes, places.over);
    let cap = cap_of(context);
    places.over = cap.is_some_and(|cap| total > cap);
    tx.projects_mut().set_places(project, places).await?;
    let Some(cap) = cap.filter(|_| places.over && !was_over) else { return Ok(()) };
    // A notification is about a task: the one whose worktree was measured, or changed last.
    let latest = match task {
        Some(task) => Some(task.clone()),
        None => tx.workspaces().latest_of(project).await?,
    };
    let Some(task) = latest else { return Ok(()) };
    let body = format!(
        "Worktrees of {} use {} MiB; {} MiB are allowed.",
        context.project.name,
        total.div_ceil(MEBIBYTE),
        cap / MEBIBYTE
    );
    let cause = format!("disk:{project}:{}", world.now().0);
    core::notices::notify(world, tx, context, &task, NotificationKind::Disk, &body, &cause).await
}

fn cap_of(context: &ProjectContext) -> Option<u64> {
    context.settings.workspace_disk_cap_mib.map(|mebibytes| u64::from(mebibytes) * MEBIBYTE)
}

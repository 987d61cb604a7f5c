//! What people do about worktrees: listing them, removing one now, and keeping one.

use std::path::Path;

use forge_git::guard::{Entry, Root};
use forge_model::event::EventType;
use forge_model::ids::{ProjectId, TaskId};
use forge_model::workflow::State;
use forge_model::workspace::{ImportOffer, Workspace, WorkspacePlace, WorkspaceStatus, WorkspaceView};
use forge_reading::imports::{FILES, import};
use forge_store::table::tasks::TaskRow;
use serde_json::json;

use crate::{
    ConflictCode, EngineError, World,
    core::{self, context::ProjectContext, worktree_lock::read_lock},
    error::{Result, whole},
    workspace::{
        self,
        removal::{Goes, unless_unfinished},
    },
};

/// The largest file of another tool that is read.
const IMPORT_BYTES: u64 = 256 * 1024;

/// A task's latest workspace record, also when its worktree is gone.
pub(crate) async fn workspace_of(world: &World, id: &TaskId) -> Result<Workspace> {
    let mut conn = world.store().read().await?;
    core::load::load(world, &mut conn, id, None).await?;
    let mut workspace =
        conn.workspaces().last(id).await?.ok_or_else(|| EngineError::not_found("workspace of task", id))?;
    workspace.lock = read_lock(&workspace);
    Ok(workspace)
}

/// Where the files are that a task's programs are working on.
pub(crate) async fn place_of(world: &World, id: &TaskId) -> Result<WorkspacePlace> {
    let mut conn = world.store().read().await?;
    let (_, context) = core::load::load(world, &mut conn, id, None).await?;
    let workspace =
        conn.workspaces().last(id).await?.ok_or_else(|| EngineError::not_found("workspace of task", id))?;
    drop(conn);
    let there = core::live::place_there(world, &context, &workspace).await?;
    Ok(WorkspacePlace { path: workspace.path, there })
}

/// Worktrees that exist, with their tasks.
pub(crate) async fn workspace_views(world: &World) -> Result<Vec<WorkspaceView>> {
    let mut views = world.store().read().await?.workspaces().views().await?;
    for view in &mut views {
        view.workspace.lock = read_lock(&view.workspace);
    }
    Ok(views)
}

/// Removes a closed task's worktree now instead of later.
pub(crate) async fn remove_workspace_now(
    world: &World,
    id: &TaskId,
    end_terminals: bool,
) -> Result<Workspace> {
    let _hold = core::workers::hold(world, id).await;
    let (context, task, workspace) = closed_workspace(world, id).await?;
    core::world::features::require_idle(world, std::slice::from_ref(id), end_terminals).await?;
    if let Err(reason) =
        workspace::removal::remove_workspace(world, &context, &task, workspace, Goes::ForReuse).await?
    {
        let message = format!("could not remove the worktree: {reason}");
        return Err(EngineError::conflict(ConflictCode::InUse, message));
    }
    workspace_of(world, id).await
}

/// Keeps a closed task's worktree until a person removes it.
pub(crate) async fn keep_workspace_for_good(world: &World, id: &TaskId) -> Result<Workspace> {
    let _hold = core::workers::hold(world, id).await;
    let (_, task, workspace) = closed_workspace(world, id).await?;
    let status = unless_unfinished(workspace.status, WorkspaceStatus::Active);
    let kept = Workspace { status, cleanup_at: None, error: None, ..workspace };
    let mut tx = world.store().write().await?;
    tx.workspaces_mut().put(&kept, world.now()).await?;
    let facts = json!({ "kept": true, "workspace": kept.id });
    world.emit(&mut tx, EventType::TaskUpdated, &task, kept.id.as_str(), &facts).await?;
    tx.commit().await?;
    workspace_of(world, id).await
}

/// Settings that other tools' files in the repository's checkout ask for.
pub(crate) async fn imports(world: &World, project: &ProjectId) -> Result<Vec<ImportOffer>> {
    let context = {
        let mut conn = world.store().read().await?;
        core::contexts::context(world, &mut conn, project).await?
    };
    let repo = core::repository::repo(world, &context).await?;
    let root = repo.root().to_owned();
    let offers = tokio::task::spawn_blocking(move || -> Result<Vec<ImportOffer>> {
        let root = Root::open(&root).map_err(forge_git::GitError::from)?;
        Ok(FILES.iter().filter_map(|file| offer(&root, file)).collect())
    });
    offers.await.map_err(|error| EngineError::io("read the files")(std::io::Error::other(error)))?
}

/// The worktree that a closed task still has.
async fn closed_workspace(
    world: &World,
    id: &TaskId,
) -> Result<(std::sync::Arc<ProjectContext>, TaskRow, Workspace)> {
    let mut conn = world.store().read().await?;
    let (task, context) = core::load::load(world, &mut conn, id, None).await?;
    if !context.workflow.state(&task.status).is_some_and(State::is_terminal) {
        return Err(EngineError::conflict(ConflictCode::TaskOpen, "the task is open: close it first"));
    }
    let workspace = conn.workspaces().last(id).await?;
    let present = workspace.filter(|w| w.status != WorkspaceStatus::Cleaned);
    let present = present.ok_or_else(|| {
        EngineError::conflict(ConflictCode::WorkspaceMissing, "the task no longer has a worktree")
    })?;
    Ok((context, task, present))
}

/// What one file asks for; none when there is no such file.
fn offer(root: &Root, file: &str) -> Option<ImportOffer> {
    let unread = |error: String| ImportOffer {
        source: file.to_owned(),
        copy_files: Vec::new(),
        setup: Vec::new(),
        notes: Vec::new(),
        error: Some(error),
    };
    let content = match root.read(Path::new(file), IMPORT_BYTES) {
        Ok(Some(Entry::File { content, .. })) => content,
        Ok(Some(Entry::Large { .. })) => return Some(unread("it is too large".to_owned())),
        Ok(Some(Entry::Link(_) | Entry::Directory | Entry::Special)) => {
            return Some(unread("it is not a regular file".to_owned()));
        }
        Ok(None) => return None,
        Err(error) => return Some(unread(format!("Could not {}", whole(&error)))),
    };
    Some(match import(file, &String::from_utf8_lossy(&content)) {
        Ok(found) => ImportOffer {
            source: found.source,
            copy_files: found.copy_files,
            setup: found.setup,
            notes: found.notes,
            error: None,
        },
        Err(error) => unread(format!("Could not {}", whole(&error))),
    })
}

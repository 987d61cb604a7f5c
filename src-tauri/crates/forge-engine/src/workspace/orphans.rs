//! Orphaned folders: those under the workspace root that belong to no task. They are listed and never removed
//! automatically; a person reclaims one (what only it has is backed up first) or makes it the worktree of a new
//! task.
//!
//! Only a folder that the list names, by its real path, is ever touched.

use std::{
    collections::HashSet,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use forge_git::{FolderFacts, guard::GuardError};
use forge_model::event::EventType;
use forge_model::ids::{ProjectId, TaskId};
use forge_model::time::Timestamp;
use forge_model::workspace::{OrphanFolder, Workspace, WorkspaceStatus};
use serde_json::json;

use crate::{
    ConflictCode, EngineError, World,
    core::{
        self,
        context::{ProjectContext, slug, task_branch, task_folder},
        worktree_lock::live_lock_in,
    },
    error::Result,
    workspace::{
        self,
        backups::{BACKUPS, ORPHAN},
        folders::project_folder,
        removal::require_nobody_in,
    },
};

/// A folder that belongs to no task, and what was found in it.
pub(crate) struct Orphan {
    /// The folder, by its real path.
    pub folder: PathBuf,
    /// The worktree in it, or where one would be.
    pub tree: PathBuf,
    /// The project whose repository knows the worktree, else the one in whose folder it lies.
    pub context: Option<Arc<ProjectContext>>,
    pub facts: FolderFacts,
}

/// Folders under the workspace root that belong to no task.
pub(crate) async fn orphans(world: &World) -> Result<Vec<OrphanFolder>> {
    let mut list = Vec::new();
    for orphan in find_orphans(world).await? {
        let bytes = super::disk::space_of(world, vec![orphan.folder.clone()]).await.unwrap_or_default();
        list.push(OrphanFolder {
            path: orphan.folder.to_string_lossy().into_owned(),
            project_id: orphan.context.as_ref().map(|context| context.project.id.clone()),
            bytes,
            last_change: orphan.facts.last_change_ms.map(Timestamp),
            unmerged_commits: orphan.facts.unmerged_commits,
            uncommitted: orphan.facts.uncommitted,
            adoptable: orphan.facts.registered
                && orphan.facts.branch.is_some()
                && live_lock_in(&orphan.folder).is_none(),
            branch: orphan.facts.branch,
        });
    }
    Ok(list)
}

/// Removes an orphaned folder, after a backup of what only it has.
pub(crate) async fn reclaim_orphan(world: &World, path: &str) -> Result<()> {
    let orphan = orphan(world, path).await?;
    let Some(context) = orphan.context.as_ref().filter(|_| orphan.facts.registered) else {
        let why = if orphan.facts.foreign { "belongs to another repository" } else { "is not a worktree" };
        let message = format!("{path} {why}, so it cannot be backed up: remove it by hand");
        return Err(not_an_orphan(message));
    };
    let repo = core::repository::repo(world, context).await?;
    let name = orphan.folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = slug(&name.unwrap_or_default(), 80);
    let prefix = format!("{BACKUPS}/{ORPHAN}{name}");
    let withdrawn = repo.withdraw_worktree(&orphan.tree).await?;
    let message = format!("Backup of the folder {name}, which belonged to no task");
    workspace::removal::back_up_withdrawn(&withdrawn, &prefix, &message).await?;
    world.point("orphan.backed_up");
    let trash = repo.remove_worktree(withdrawn).await?;
    trash.delete().await?;
    clear_own_files(&orphan.folder);
    places_changed(world, &context.project.id, "orphan_reclaimed").await
}

/// Says at start what there is.
pub(crate) fn log_orphans(world: &World) {
    let world = world.clone();
    core::guarded::in_background(&world.clone(), async move {
        match find_orphans(&world).await {
            Ok(orphans) => {
                for Orphan { folder, facts, .. } in orphans {
                    tracing::warn!(
                        path = %folder.display(), branch = ?facts.branch,
                        unmerged = facts.unmerged_commits, uncommitted = facts.uncommitted,
                        "this folder belongs to no task; it is listed under workspaces until you remove or adopt it"
                    );
                }
            }
            Err(error) => tracing::warn!(%error, "failed to look for folders that belong to no task"),
        }
    });
}

async fn find_orphans(world: &World) -> Result<Vec<Orphan>> {
    let root = real_root(world)?;
    let (present, rows) = {
        let mut conn = world.store().read().await?;
        (conn.workspaces().present().await?, conn.projects().list().await?)
    };
    let owned: HashSet<PathBuf> =
        present.iter().map(task_folder).map(|folder| folder.canonicalize().unwrap_or(folder)).collect();
    let mut contexts = Vec::new();
    for row in rows {
        let mut conn = world.store().read().await?;
        contexts.push(core::contexts::context(world, &mut conn, &row.project.id).await?);
    }
    let mut orphans = Vec::new();
    for folder in workspace::folders::task_folders(&root) {
        let hidden = folder.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        if hidden || folder.is_symlink() || owned.contains(&folder) || holds_nothing(&folder) {
            continue;
        }
        let tree = if folder.join("tree").is_dir() { folder.join("tree") } else { folder.clone() };
        let (context, facts) = whose(world, &tree, &folder, &contexts).await;
        orphans.push(Orphan { folder, tree, context, facts });
    }
    Ok(orphans)
}

/// The project that a folder is a worktree of, else the one whose name its parent has.
async fn whose(
    world: &World,
    tree: &Path,
    folder: &Path,
    contexts: &[Arc<ProjectContext>],
) -> (Option<Arc<ProjectContext>>, FolderFacts) {
    let of_name =
        |context: &ProjectContext| folder.parent().is_some_and(|p| p.ends_with(project_folder(context)));
    let mut by_likelihood: Vec<&Arc<ProjectContext>> = contexts.iter().collect();
    by_likelihood.sort_by_key(|context| !of_name(context));
    let mut otherwise = (None, FolderFacts::default());
    for context in by_likelihood {
        let facts = async {
            let repo = core::repository::repo(world, context).await?;
            Ok::<_, EngineError>(repo.folder_facts(tree, &context.project.default_branch).await?)
        };
        match facts.await {
            Ok(facts) if facts.registered => return (Some(Arc::clone(context)), facts),
            Ok(facts) if of_name(context) => otherwise = (Some(Arc::clone(context)), facts),
            Ok(facts) if otherwise.0.is_none() => otherwise.1 = facts,
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(path = %tree.display(), %error, "failed to look into a folder that belongs to no task");
            }
        }
    }
    otherwise
}

/// The listed folder that a caller names.
pub(crate) async fn orphan(world: &World, path: &str) -> Result<Orphan> {
    let root = real_root(world)?;
    let real = real_path_inside(&root, path)?;
    let found = find_orphans(world).await?.into_iter().find(|orphan| orphan.folder == real);
    let orphan = found.ok_or_else(|| not_an_orphan(format!("{path} is not an orphaned folder")))?;
    if let Some(lock) = live_lock_in(&orphan.folder) {
        let message = format!("{} is using it (process {})", lock.execution_id, lock.pid);
        return Err(EngineError::conflict(ConflictCode::InUse, message));
    }
    require_nobody_in(&orphan.folder).await?;
    Ok(orphan)
}

pub(crate) async fn move_in(
    world: &World,
    context: &ProjectContext,
    id: &TaskId,
    folder: &Path,
    tree: &Path,
    branch: &str,
    head: &str,
) -> Result<()> {
    let row = {
        let mut conn = world.store().read().await?;
        core::load::load(world, &mut conn, id, None).await?.0
    };
    let repo = core::repository::repo(world, context).await?;
    let path = super::tree_path(world, context, &row);
    let own = task_branch(&row);
    repo.adopt_worktree(tree, &path, &own).await?;
    world.point("orphan.moved");
    let target = format!("refs/heads/{}", context.target_branch(&row));
    let base = repo.merge_base(&target, head).await?.unwrap_or_else(|| head.to_owned());
    let mut tx = world.store().write().await?;
    let workspace = Workspace {
        id: world.new_id(),
        task_id: id.clone(),
        machine_id: None,
        status: WorkspaceStatus::Active,
        path: path.to_string_lossy().into_owned(),
        branch: own,
        base_commit: base,
        cleanup_at: None,
        disk_bytes: None,
        error: None,
        lock: None,
        port_base: super::free_port_base(&mut tx).await?,
        created_at: world.now(),
        updated_at: world.now(),
    };
    tx.workspaces_mut().put(&workspace, world.now()).await?;
    let facts = json!({ "path": workspace.path, "adopted": folder });
    world.emit(&mut tx, EventType::WorkspaceCreated, &row, workspace.id.as_str(), &facts).await?;
    let is_left_over = match branch.strip_prefix("forge/") {
        Some(of) => tx.tasks().get(&TaskId(of.to_owned())).await?.is_none(),
        None => false,
    };
    tx.commit().await?;
    let plan = folder.join("plan.md");
    if plan.exists()
        && let Err(error) = std::fs::rename(&plan, task_folder(&workspace).join("plan.md"))
    {
        tracing::warn!(%error, "failed to take a plan along");
    }
    clear_own_files(folder);
    if is_left_over {
        // Its commits are on the new branch, so this is a change of name. Somebody else's branch stays.
        match repo.delete_branch(branch, head).await {
            Ok(()) => tracing::info!(%branch, "the branch of an adopted worktree has a new name"),
            Err(error) => tracing::info!(%branch, %error, "kept the old branch of an adopted worktree"),
        }
    }
    Ok(())
}

fn real_root(world: &World) -> Result<PathBuf> {
    let root = &world.inner.config.workspace_root;
    root.canonicalize().map_err(EngineError::io(format!("read {}", root.display())))
}

async fn places_changed(world: &World, project: &ProjectId, what: &str) -> Result<()> {
    let mut tx = world.store().write().await?;
    let facts = json!({ "change": what });
    tx.emit(EventType::ProjectChanged, world.now(), Some(project), None, project.as_str(), &facts).await?;
    tx.commit().await?;
    Ok(())
}

pub(crate) fn not_an_orphan(message: String) -> EngineError {
    EngineError::conflict(ConflictCode::NotAnOrphan, message)
}

/// The real path of what a caller names, if it lies under the root and no link stands for it.
fn real_path_inside(root: &Path, path: &str) -> Result<PathBuf> {
    let escape = |why| EngineError::Escape {
        field: "path".to_owned(),
        source: GuardError::Escape { root: root.to_owned(), path: path.into(), why },
    };
    let given = Path::new(path);
    if path.contains('\0') {
        return Err(escape("contains a NUL"));
    }
    if !given.is_absolute() {
        return Err(escape("must be the full path, as listed"));
    }
    if given.components().any(|part| part == Component::ParentDir) {
        return Err(escape("contains `..`"));
    }
    let real = given.canonicalize().map_err(|error| not_an_orphan(format!("{path}: {error}")))?;
    if !real.starts_with(root) || real == root {
        return Err(escape("leads out of the folder"));
    }
    if given.is_symlink() {
        return Err(escape("is a symbolic link"));
    }
    Ok(real)
}

/// Whether nothing lies in a task's folder but what Forge itself wrote there.
fn holds_nothing(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).all(|name| is_own_file(&name.to_string_lossy()))
}

fn is_own_file(name: &str) -> bool {
    let is_prompt = name.starts_with("prompt-") && name.ends_with(".md");
    is_prompt || name == "plan.md" || name.starts_with(".forge.lock") || name.starts_with(".trash-")
}

/// Takes away what Forge wrote into a task's folder, and the folder when nothing else is in it.
pub(crate) fn clear_own_files(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file
            && is_own_file(&entry.file_name().to_string_lossy())
            && let Err(error) = std::fs::remove_file(entry.path())
        {
            tracing::warn!(path = %entry.path().display(), %error, "failed to remove a file of a task that is gone");
        }
    }
    // Refused while something is in it, which is meant.
    let _ = std::fs::remove_dir(folder);
}

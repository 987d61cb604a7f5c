//! A task's worktree: its record, its folder, and how it is made. Made when work starts (`workspace/prepare.rs`),
//! kept through every later run.
//!
//! The task's folder holds `tree/` (the worktree), `.forge.lock` and the prompts.

pub(crate) mod backups;
pub(crate) mod cleanup;
pub(crate) mod command;
pub(crate) mod contribution;
pub(crate) mod diff_scope;
pub(crate) mod disk;
pub(crate) mod folders;
pub(crate) mod guards;
pub(crate) mod measure;
pub(crate) mod nested;
pub(crate) mod orphans;
pub(crate) mod pool;
pub(crate) mod prepare;
pub(crate) mod removal;
pub(crate) mod reviewed;
pub(crate) mod set_up;
pub(crate) mod traces;
pub(crate) mod unfinished;
pub(crate) mod unmerged;
pub(crate) mod watch;

use std::path::{Path, PathBuf};

use forge_git::{NewWorktree, Repo};
use forge_model::workspace::{Workspace, WorkspaceStatus};
use forge_store::ReadConnection;
use forge_store::table::tasks::TaskRow;

use crate::{
    EngineError, World,
    core::{
        self,
        context::{ProjectContext, backup_prefix_of, slug, task_branch},
    },
    error::Result,
    workspace::{
        folders::project_folder,
        pool::{Slots, slots_of},
    },
};

/// The first port that workspaces may use, how many each gets, and how many workspaces have their own.
const FIRST_PORT: u32 = 20_000;
const PORTS_EACH: u32 = 20;
const PORT_BLOCKS: u32 = 1_000;

/// What was found where a task's worktree should be.
pub(crate) enum Found {
    /// Nothing was ever made, or it was cleaned away: make one.
    Absent,
    /// There it is.
    Ready(Workspace),
    /// The record is there, the folder is gone, the branch exists: make it again.
    Lost(Workspace),
    /// Folder and branch are gone.
    Gone(Workspace),
}

/// Takes back a planned removal: the task is worked on again.
pub(crate) async fn keep_workspace(world: &World, workspace: Workspace) -> Result<()> {
    if workspace.status == WorkspaceStatus::Active {
        return Ok(());
    }
    let mut tx = world.store().write().await?;
    let kept = Workspace { status: WorkspaceStatus::Active, cleanup_at: None, error: None, ..workspace };
    tx.workspaces_mut().put(&kept, world.now()).await?;
    tx.commit().await?;
    Ok(())
}

pub(crate) async fn look(world: &World, context: &ProjectContext, task: &TaskRow) -> Result<Found> {
    let last = {
        let mut conn = world.store().read().await?;
        conn.workspaces().last(&task.id).await?
    };
    let Some(workspace) = last else { return Ok(Found::Absent) };
    match workspace.status {
        WorkspaceStatus::Cleaned => Ok(Found::Absent),
        // A record that never became active is made to the end, set-up included.
        WorkspaceStatus::Creating => Ok(Found::Absent),
        _ if holds_something(Path::new(&workspace.path)) => {
            nested::mend_dot_git(world, context, task, &workspace).await?;
            Ok(Found::Ready(workspace))
        }
        WorkspaceStatus::Active | WorkspaceStatus::Scheduled | WorkspaceStatus::Error => {
            let repo = core::repository::repo(world, context).await?;
            match repo.resolve(&format!("refs/heads/{}", workspace.branch)).await? {
                Some(_) => Ok(Found::Lost(workspace)),
                None => Ok(Found::Gone(workspace)),
            }
        }
    }
}

/// The record of a worktree to be made; the one of an interrupted try is used again.
pub(crate) async fn new_record(
    world: &World,
    repo: &Repo,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<Workspace> {
    let mut conn = world.store().read().await?;
    let last = conn.workspaces().last(&task.id).await?;
    if let Some(interrupted) = last.filter(|w| w.status == WorkspaceStatus::Creating) {
        return Ok(interrupted);
    }
    let raced = core::lineage::race_base(&mut conn, task).await?;
    drop(conn);
    let target = context.target_branch(task);
    let found = match raced {
        Some(base) => Some(base),
        None => repo.resolve(&format!("refs/heads/{target}")).await?,
    };
    let base = match found {
        Some(commit) => commit,
        None => {
            return Err(EngineError::invalid("merge_config.target_branch", format!("no branch `{target}`")));
        }
    };
    forge_git::spread(&world.inner.config.workspace_root.join(project_folder(context)));
    // Looked up and taken in one go: nobody else gets the same ports.
    let mut tx = world.store().write().await?;
    let port_base = free_port_base(&mut tx).await?;
    let workspace = Workspace {
        id: world.new_id(),
        task_id: task.id.clone(),
        machine_id: None,
        status: WorkspaceStatus::Creating,
        path: tree_path(world, context, task).to_string_lossy().into_owned(),
        branch: task_branch(task),
        base_commit: base,
        cleanup_at: None,
        disk_bytes: None,
        error: None,
        lock: None,
        port_base,
        created_at: world.now(),
        updated_at: world.now(),
    };
    tx.workspaces_mut().put(&workspace, world.now()).await?;
    tx.commit().await?;
    Ok(workspace)
}

/// The first port of a block that no present worktree has.
pub(crate) async fn free_port_base(conn: &mut ReadConnection) -> Result<u32> {
    Ok(conn.workspaces().free_port_base(FIRST_PORT, PORTS_EACH, PORT_BLOCKS).await?)
}

/// Where the worktree of a task is, or will be.
pub(crate) fn tree_path(world: &World, context: &ProjectContext, task: &TaskRow) -> PathBuf {
    let tail = task.id.as_str().rsplit('-').next().unwrap_or_default();
    let short = tail.get(tail.len().saturating_sub(6)..).unwrap_or(tail);
    world
        .inner
        .config
        .workspace_root
        .join(project_folder(context))
        .join(format!("{}-{}-{short}", task.number, slug(&task.title, 40)))
        .join("tree")
}

/// A worktree made anew from the target branch. Its files and set-up come when work starts in it.
pub(crate) async fn fresh_workspace(
    world: &World,
    repo: &Repo,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<Workspace> {
    let workspace = new_record(world, repo, context, task).await?;
    let _lock = core::worktree_lock::lock_workspace_now(
        world,
        &task.id,
        &workspace,
        &format!("reset-{}", workspace.id),
    )?;
    make(world, repo, context, &workspace).await?;
    Ok(workspace)
}

/// Makes the worktree of a record: a finished one that waits for the next task when there is one, else a
/// new one. Safe to repeat, also after it was dropped half-way.
pub(crate) async fn make(
    world: &World,
    repo: &Repo,
    context: &ProjectContext,
    workspace: &Workspace,
) -> Result<()> {
    // The record of one whose folder is gone goes by this.
    let prefix = backup_prefix_of(&workspace.task_id);
    let worktree = core::repository::worktree(world, context, workspace).await?;
    worktree.keep_record_of_lost(&prefix).await?;
    let spec = NewWorktree {
        path: worktree.path().to_owned(),
        branch: workspace.branch.clone(),
        base: workspace.base_commit.clone(),
    };
    let taken = match slots_of(&context.settings) {
        Slots::None => false,
        Slots::Kept { keep, .. } => {
            let taken = repo.take_slot(&folders::pool_folder(world, context), &spec, keep).await?;
            world.point("workspace.slot");
            taken
        }
    };
    if !taken {
        repo.create_worktree(&spec).await?;
    }
    // While nobody else knows of it. Every git command of this run is the faster for it.
    worktree.trust_checkout_times().await?;
    Ok(())
}

/// Whether a task's worktree lies where its record says. Its `.git` may be missing: it is not what makes files work.
pub(crate) fn is_present(workspace: &Workspace) -> bool {
    workspace.status != WorkspaceStatus::Cleaned && holds_something(Path::new(&workspace.path))
}

/// Whether a folder is there and not empty.
fn holds_something(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

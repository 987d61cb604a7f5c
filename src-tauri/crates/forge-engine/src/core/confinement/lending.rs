//! The git directories of worktrees that are lent to confined programs, and who has them.
//!
//! Several programs of a task may run at once, such as an agent and a hook beside it: they share what is lent, and the
//! last one that ends gives it back. Of an engine that was killed nobody gives anything back: what it left is taken
//! back at the next start, and what a panic left before the task's next step.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use forge_git::{Lending, TakenBack, Worktree};
use forge_model::ids::TaskId;
use forge_model::workspace::Workspace;
use tokio::sync::Mutex as Turn;

use crate::{
    EngineError, World,
    core::{self, context::ProjectContext, context::task_folder, sync::locked},
    error::Result,
};

/// The folder of the lent git directory and of what belongs to it, in the task's folder.
const LENT: &str = "lent";

/// The lent git directory. Claude Code takes a `.git` file for one that somebody planted, and asks before each git
/// command, unless it leads through a folder of this name.
const GIT_DIR: &str = ".git";

/// What is lent, by the path of the worktree.
#[derive(Debug, Default)]
struct Lendings(Mutex<HashMap<PathBuf, Arc<Shared>>>);

/// What the programs of one worktree share.
#[derive(Debug, Default)]
struct Shared {
    /// How many programs have it.
    count: AtomicU32,
    /// Whose turn it is to lend or to take back.
    turn: Turn<()>,
}

/// The hold of one program on what is lent to it. Dropped, it leaves that open, to be taken back later.
#[derive(Debug)]
pub(crate) struct Held {
    worktree: Worktree,
    folder: PathBuf,
    task: TaskId,
    shared: Arc<Shared>,
    /// Whether it was given back.
    is_over: AtomicBool,
}

impl Held {
    /// Gives it back; the last one takes what was done into the repository. After an error it may be tried again.
    pub(super) async fn take_back(&self) -> Result<TakenBack> {
        let _turn = self.shared.turn.lock().await;
        if self.is_over.load(Ordering::Acquire) {
            return Ok(TakenBack::default());
        }
        let is_last = self.shared.count.load(Ordering::Acquire) <= 1;
        let taken = if is_last {
            taken_back(&self.worktree, &self.folder, &self.task).await?
        } else {
            TakenBack::default()
        };
        self.is_over.store(true, Ordering::Release);
        self.shared.count.fetch_sub(1, Ordering::AcqRel);
        Ok(taken)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !*self.is_over.get_mut() {
            self.shared.count.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Lends the git directory of a worktree. What nobody has any more is taken back first, unless a program goes on that
/// has it.
pub(super) async fn lend(
    world: &World,
    worktree: &Worktree,
    workspace: &Workspace,
    goes_on: bool,
) -> Result<(Held, Lending)> {
    let folder = folder_of(workspace);
    let shared = shared_of(world, worktree.path());
    let turn = shared.turn.lock().await;
    if shared.count.load(Ordering::Acquire) == 0 && !goes_on && folder.exists() {
        taken_back_late(worktree, &folder, &workspace.task_id).await?;
    }
    let around = task_folder(workspace).join(LENT);
    core::private_data::make(&around).map_err(EngineError::io("make the folder of a lent git directory"))?;
    let lending = worktree.lend(&folder).await?;
    shared.count.fetch_add(1, Ordering::AcqRel);
    drop(turn);
    let (worktree, task) = (worktree.clone(), workspace.task_id.clone());
    Ok((Held { worktree, folder, task, shared, is_over: AtomicBool::new(false) }, lending))
}

/// Takes back what a program of a task left that has ended, while none of it runs.
pub(crate) async fn recover(world: &World, context: &ProjectContext, task: &TaskId) -> Result<()> {
    let mut conn = world.store().read().await?;
    let Some(workspace) = conn.workspaces().last(task).await? else { return Ok(()) };
    if !folder_of(&workspace).exists() {
        return Ok(());
    }
    let runs = !conn.executions().open(Some(std::slice::from_ref(task))).await?.is_empty();
    drop(conn);
    if runs {
        return Ok(());
    }
    recover_left(world, context, &workspace).await
}

/// The same, for whoever knows that no program of it runs.
pub(crate) async fn recover_left(
    world: &World,
    context: &ProjectContext,
    workspace: &Workspace,
) -> Result<()> {
    let folder = folder_of(workspace);
    if !folder.exists() {
        return Ok(());
    }
    let worktree = core::repository::worktree(world, context, workspace).await?;
    let shared = shared_of(world, worktree.path());
    let _turn = shared.turn.lock().await;
    if shared.count.load(Ordering::Acquire) == 0 {
        taken_back_late(&worktree, &folder, &workspace.task_id).await?;
    }
    Ok(())
}

/// Drops what is kept of the changes that a task's programs made to refs that are not its own.
pub(crate) async fn forget_kept(world: &World, context: &ProjectContext, task: &TaskId) -> Result<()> {
    if let Some(repo) = core::repository::present_repo(world, context).await? {
        repo.forget_sandbox_refs(task.as_str()).await?;
    }
    Ok(())
}

/// Takes back what programs left that were cut short. There is no log of theirs any more that could tell what was kept.
async fn taken_back_late(worktree: &Worktree, folder: &Path, task: &TaskId) -> Result<()> {
    let TakenBack { kept_refs, left_out, rescue, .. } = taken_back(worktree, folder, task).await?;
    tracing::warn!(%task, ?kept_refs, ?left_out, ?rescue, "took back the git directory of programs that were cut short");
    Ok(())
}

async fn taken_back(worktree: &Worktree, folder: &Path, task: &TaskId) -> Result<TakenBack> {
    let taken = worktree.take_back(folder, task.as_str()).await?;
    // It stays where something of it is kept.
    if let Some(around) = folder.parent() {
        let _ = tokio::fs::remove_dir(around).await;
    }
    Ok(taken)
}

fn folder_of(workspace: &Workspace) -> PathBuf {
    task_folder(workspace).join(LENT).join(GIT_DIR)
}

fn shared_of(world: &World, worktree: &Path) -> Arc<Shared> {
    let lendings = world.part::<Lendings>();
    let mut known = locked(&lendings.0);
    known.retain(|_, shared| Arc::strong_count(shared) > 1);
    Arc::clone(known.entry(worktree.to_owned()).or_default())
}

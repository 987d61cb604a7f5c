//! The git directories of worktrees that are lent to confined programs, and to those on another machine, and who has
//! them.
//!
//! To another machine, what is lent is sent with the worktree's files, and both are fetched before they are taken back.
//! A machine that is given up has nothing fetched from it: what was lent is taken back as it was.
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

use forge_git::{Lending, TakenBack, TransferTree, Worktree};
use forge_keeper::TransferError;
use forge_model::ids::TaskId;
use forge_model::workspace::Workspace;
use tokio::sync::Mutex as Turn;
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{
        self,
        context::{ProjectContext, backup_prefix_of, task_folder},
        lent_folders::{LENT, folder_of, transfer_of, tree_of},
        location::{Location, There},
        sync::locked,
    },
    error::Result,
};

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
    lent: Lent,
    location: Location,
    shared: Arc<Shared>,
    /// Whether it was given back.
    is_over: AtomicBool,
}

/// What came back.
#[derive(Debug, Default)]
pub(crate) struct Back {
    pub taken: TakenBack,
    /// What could not be fetched from the machine, and is there still.
    pub left_there: Vec<String>,
    /// The ref that keeps files that were changed here while programs on another machine worked on them.
    pub backup: Option<String>,
}

/// A worktree and the folders of what is lent of it.
#[derive(Debug, Clone)]
struct Lent {
    worktree: Worktree,
    folder: PathBuf,
    /// Where objects are gathered that go to another machine or come from it.
    store: PathBuf,
    task: TaskId,
}

impl Lent {
    fn of(worktree: &Worktree, workspace: &Workspace) -> Self {
        let folder = folder_of(workspace);
        let store = transfer_of(workspace);
        Self { worktree: worktree.clone(), folder, store, task: workspace.task_id.clone() }
    }

    /// Sends it to another machine. False when the wait for that was stopped.
    async fn send(&self, world: &World, there: &There, cancel: &CancellationToken) -> Result<bool> {
        let tree = self.tree().await?;
        let send = || there.reached(world, cancel, || there.tree.send(&tree));
        let mut sent = send().await;
        if matches!(sent, Err(EngineError::Machine { error: TransferError::Foreign, .. })) {
            there.make_room(world).await?;
            sent = send().await;
        }
        let sent = sent?;
        world.point("transfer.sent");
        Ok(sent.is_some())
    }

    /// Fetches it from another machine. Nothing is fetched when the wait for that was stopped.
    async fn fetch(&self, world: &World, there: &There, cancel: &CancellationToken) -> Result<Option<Back>> {
        core::live::end(world, self.worktree.path());
        let tree = self.tree().await?;
        let mut backup = None;
        let fetch = async |replace| there.reached(world, cancel, || there.tree.fetch(&tree, replace)).await;
        let mut fetched = fetch(false).await;
        if matches!(fetched, Err(EngineError::Machine { error: TransferError::LocalChanges, .. })) {
            let message = "Backup of files that were changed here while the task ran on another machine";
            let made = self.worktree.back_up(&backup_prefix_of(&self.task), message).await?;
            backup = made.map(|made| made.ref_name);
            fetched = fetch(true).await;
        }
        let Some(fetched) = fetched? else { return Ok(None) };
        world.point("transfer.fetched");
        let left_there = fetched.left_out.iter().map(|path| path.display().to_string()).collect();
        Ok(Some(Back { left_there, backup, ..Back::default() }))
    }

    /// This end of a transfer.
    async fn tree(&self) -> Result<TransferTree> {
        tree_of(&self.worktree, &self.folder, &self.store).await
    }

    async fn take_back(&self) -> Result<TakenBack> {
        let taken = self.worktree.take_back(&self.folder, self.task.as_str()).await?;
        // It stays where something of it is kept.
        if let Some(around) = self.folder.parent() {
            let _ = tokio::fs::remove_dir(around).await;
        }
        Ok(taken)
    }

    /// Takes back what programs left that were cut short. There is no log of theirs any more that could tell what was
    /// kept. False when the wait for another machine was stopped.
    async fn take_back_late(
        &self,
        world: &World,
        location: &Location,
        cancel: &CancellationToken,
    ) -> Result<bool> {
        let mut back = Back::default();
        if let Location::There(there) = location {
            if !there.end_all(world, cancel).await? {
                return Ok(false);
            }
            match self.fetch(world, there, cancel).await? {
                Some(fetched) => back = fetched,
                None => return Ok(false),
            }
        }
        let TakenBack { kept_refs, left_out, rescue, .. } = self.take_back().await?;
        core::live::clear_up_later(world, self.worktree.path());
        let (task, Back { left_there, backup, .. }) = (&self.task, back);
        tracing::warn!(
            %task, ?kept_refs, ?left_out, ?rescue, ?left_there, ?backup,
            "took back the git directory of programs that were cut short"
        );
        Ok(true)
    }
}

impl Held {
    /// The worktree that it is of.
    pub(super) const fn worktree(&self) -> &Worktree {
        &self.lent.worktree
    }

    /// Gives it back; the last one takes what was done into the repository. After an error it may be tried again.
    pub(super) async fn take_back(&self, world: &World) -> Result<Back> {
        let _turn = self.shared.turn.lock().await;
        let mut back = Back::default();
        if self.is_over.load(Ordering::Acquire) {
            return Ok(back);
        }
        if self.shared.count.load(Ordering::Acquire) <= 1 {
            if let Location::There(there) = &self.location {
                // Only a machine that is given up is not waited for.
                back = self.lent.fetch(world, there, &CancellationToken::new()).await?.unwrap_or_default();
            }
            back.taken = self.lent.take_back().await?;
            core::live::clear_up_later(world, self.lent.worktree.path());
        }
        self.is_over.store(true, Ordering::Release);
        self.shared.count.fetch_sub(1, Ordering::AcqRel);
        Ok(back)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !*self.is_over.get_mut() {
            self.shared.count.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Who borrows.
pub(super) struct Borrower<'b> {
    pub worktree: &'b Worktree,
    pub workspace: &'b Workspace,
    /// Where its program runs.
    pub location: &'b Location,
    /// Whether its program has it already.
    pub goes_on: bool,
}

/// Lends the git directory of a worktree. What nobody has any more is taken back first, unless a program goes on that
/// has it. None when the wait for another machine was stopped.
pub(super) async fn lend(
    world: &World,
    who: Borrower<'_>,
    cancel: &CancellationToken,
) -> Result<Option<(Held, Lending)>> {
    let lent = Lent::of(who.worktree, who.workspace);
    let shared = shared_of(world, who.worktree.path());
    let turn = shared.turn.lock().await;
    let is_first = shared.count.load(Ordering::Acquire) == 0;
    if is_first
        && !who.goes_on
        && lent.folder.exists()
        && !lent.take_back_late(world, who.location, cancel).await?
    {
        return Ok(None);
    }
    let around = task_folder(who.workspace).join(LENT);
    core::private_data::make(&around).map_err(EngineError::io("make the folder of a lent git directory"))?;
    if is_first {
        core::live::begin(world, who.worktree.path());
    }
    let lending = who.worktree.lend(&lent.folder).await?;
    if let Location::There(there) = who.location
        && is_first
        && !who.goes_on
        && !lent.send(world, there, cancel).await?
    {
        return Ok(None);
    }
    shared.count.fetch_add(1, Ordering::AcqRel);
    drop(turn);
    let location = who.location.clone();
    Ok(Some((Held { lent, location, shared, is_over: AtomicBool::new(false) }, lending)))
}

/// Takes back what a program of a task left that has ended, while none of it runs. False when the wait for another
/// machine was stopped.
pub(crate) async fn recover(
    world: &World,
    context: &ProjectContext,
    task: &TaskId,
    cancel: &CancellationToken,
) -> Result<bool> {
    let mut conn = world.store().read().await?;
    let Some(workspace) = conn.workspaces().last(task).await? else { return Ok(true) };
    if !folder_of(&workspace).exists() {
        return Ok(true);
    }
    let runs = !conn.executions().open(Some(std::slice::from_ref(task))).await?.is_empty();
    drop(conn);
    if runs {
        return Ok(true);
    }
    recover_left(world, context, &workspace, cancel).await
}

/// The same, for whoever knows that no program of it runs.
pub(crate) async fn recover_left(
    world: &World,
    context: &ProjectContext,
    workspace: &Workspace,
    cancel: &CancellationToken,
) -> Result<bool> {
    if !folder_of(workspace).exists() {
        return Ok(true);
    }
    let Some(location) = core::location::location_of(world, Some(workspace), cancel).await? else {
        return Ok(false);
    };
    let worktree = core::repository::worktree(world, context, workspace).await?;
    let shared = shared_of(world, worktree.path());
    let _turn = shared.turn.lock().await;
    if shared.count.load(Ordering::Acquire) > 0 {
        return Ok(true);
    }
    Lent::of(&worktree, workspace).take_back_late(world, &location, cancel).await
}

/// The same for a task whose machine was given up: what was lent is taken back as it was.
pub(crate) async fn take_back_unfetched(
    world: &World,
    context: &ProjectContext,
    workspace: &Workspace,
) -> Result<()> {
    if !folder_of(workspace).exists() {
        return Ok(());
    }
    let worktree = core::repository::worktree(world, context, workspace).await?;
    let shared = shared_of(world, worktree.path());
    let _turn = shared.turn.lock().await;
    let lent = Lent::of(&worktree, workspace);
    lent.take_back_late(world, &Location::Here, &CancellationToken::new()).await?;
    forget_transfers(workspace).await
}

/// Forgets what was sent to a machine and fetched from it: what the machine has is nothing that is known here, should the
/// task come to it once more.
pub(crate) async fn forget_transfers(workspace: &Workspace) -> Result<()> {
    for folder in [transfer_of(workspace), task_folder(workspace).join(core::live::FOLDER)] {
        match tokio::fs::remove_dir_all(folder).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(EngineError::io("remove the folder of a transfer")(error));
            }
            _ => {}
        }
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

fn shared_of(world: &World, worktree: &Path) -> Arc<Shared> {
    let lendings = world.part::<Lendings>();
    let mut known = locked(&lendings.0);
    known.retain(|_, shared| Arc::strong_count(shared) > 1);
    Arc::clone(known.entry(worktree.to_owned()).or_default())
}

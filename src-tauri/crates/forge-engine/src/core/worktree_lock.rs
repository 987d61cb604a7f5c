//! The lock on a worktree's files: `.forge.lock` beside it, and the queue of those who wait for it.
//!
//! The file lies beside the worktree, so it is neither committed nor cleaned away. A caller queues in this process
//! first, then takes the file in one step; so the order is that of asking, and at most one caller of this process
//! watches a lock held from outside. The end of such a holder is reported by the system (its file goes, its process
//! ends), not polled. A lock whose process is gone holds nobody up.

use std::{
    collections::HashMap,
    io::ErrorKind,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use forge_exec::ProcessIdentity;
use forge_model::event::EventType;
use forge_model::ids::TaskId;
use forge_model::task::{WaitReason, Waiting};
use forge_model::workspace::{Workspace, WorkspaceLock, WorkspaceStatus};
use futures::future::BoxFuture;
use notify::{RecursiveMode, Watcher as _};
use serde_json::json;
use tokio::sync::{Mutex as Queue, Notify, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;

use crate::{
    ConflictCode, EngineError, World,
    core::{
        context::task_folder,
        sync::locked,
        world::{
            features::Acting,
            step::{End, Stepping, name_of},
        },
    },
    error::Result,
};

const LOCK_FILE: &str = ".forge.lock";
/// For file systems that tell nothing: how often somebody else's lock is looked at all the same.
const FALLBACK: Duration = Duration::from_secs(60);

/// The locks of this process.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    /// One queue per task folder, while somebody has or wants its lock.
    queues: Mutex<HashMap<PathBuf, Arc<Queue<()>>>>,
    /// The lock files that are held on a task's behalf, for the processes that are started under them.
    held: Arc<Mutex<HashMap<TaskId, PathBuf>>>,
}

/// The hold on a worktree; given back when dropped.
#[derive(Debug)]
pub(crate) struct WorkspaceHold {
    path: PathBuf,
    task: TaskId,
    held: Arc<Mutex<HashMap<TaskId, PathBuf>>>,
    /// Fired when runs are left to go on without this engine, and their locks with them.
    leaves: CancellationToken,
    /// Passed on after the file is gone.
    _turn: OwnedMutexGuard<()>,
}

impl Drop for WorkspaceHold {
    fn drop(&mut self) {
        locked(&self.held).remove(&self.task);
        if self.leaves.is_cancelled() {
            return;
        }
        match std::fs::remove_file(&self.path) {
            // A worktree that went took its folder along.
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tracing::warn!(path = %self.path.display(), %error, "failed to release a worktree's lock");
            }
            _ => {}
        }
    }
}

/// What is at the place of a lock.
enum Taken {
    Ours,
    Theirs(WorkspaceLock),
}

/// The lock of a worktree as it is on disk.
pub(crate) fn read_lock(workspace: &Workspace) -> Option<WorkspaceLock> {
    read(&task_folder(workspace).join(LOCK_FILE))
}

/// The lock in a folder, when whoever holds it lives.
pub(crate) fn live_lock_in(folder: &Path) -> Option<WorkspaceLock> {
    read(&folder.join(LOCK_FILE)).filter(lives)
}

fn read(path: &Path) -> Option<WorkspaceLock> {
    serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()
}

fn lives(lock: &WorkspaceLock) -> bool {
    // Nobody can look at the processes of another machine.
    lock.host != host_name()
        || ProcessIdentity::of(lock.pid)
            .is_some_and(|identity| identity.start_time == lock.start_time && identity.is_alive())
}

/// A step that changes files of the worktree, so that nobody else may meanwhile.
pub(crate) fn in_locked_worktree<'a>(
    world: &'a World,
    s: &'a Stepping,
    cancel: &'a CancellationToken,
    run: Acting,
) -> BoxFuture<'a, Result<End>> {
    Box::pin(run_locked(world, s, cancel, run))
}

/// Runs a step with the right to change its task's worktree, which it waits for; at once where there is none.
async fn run_locked(world: &World, s: &Stepping, cancel: &CancellationToken, run: Acting) -> Result<End> {
    let workspace = world.store().read().await?.workspaces().last(&s.task.id).await?;
    let present = workspace.filter(|workspace| workspace.status == WorkspaceStatus::Active);
    let Some(workspace) = present.filter(|workspace| Path::new(&workspace.path).is_dir()) else {
        return run(world, s, cancel).await;
    };
    let holder = format!("{}-{}", name_of(&s.step), s.step.id);
    match lock_workspace(world, &s.task.id, &workspace, &holder, cancel).await? {
        Some(_hold) => run(world, s, cancel).await,
        None => Ok(End::Interrupted),
    }
}

/// Waits, in order, for the right to change a worktree's files. While it waits its task says so. `None`
/// when `cancel` fired first.
pub(crate) async fn lock_workspace(
    world: &World,
    task: &TaskId,
    workspace: &Workspace,
    holder: &str,
    cancel: &CancellationToken,
) -> Result<Option<WorkspaceHold>> {
    let folder = task_folder(workspace);
    let queue = lock_queue(world, &folder);
    let (turn, waited) = match Arc::clone(&queue).try_lock_owned() {
        Ok(turn) => (turn, false),
        Err(_) => {
            say_locked(world, task, read_lock(workspace)).await?;
            tokio::select! {
                () = cancel.cancelled() => return Ok(None),
                turn = queue.lock_owned() => (turn, true),
            }
        }
    };
    let mut waited = waited;
    loop {
        match take(world, &folder, holder)? {
            Taken::Ours => break,
            Taken::Theirs(lock) => {
                say_locked(world, task, Some(lock.clone())).await?;
                waited = true;
                tokio::select! {
                    () = cancel.cancelled() => return Ok(None),
                    () = until_released(&folder, &lock) => {}
                }
            }
        }
    }
    let hold = hold_of(world, task, &folder, turn);
    if waited {
        say_unlocked(world, task).await?;
    }
    Ok(Some(hold))
}

/// Takes that right at once.
///
/// # Errors
/// `WorkspaceLocked` with the holder.
pub(crate) fn lock_workspace_now(
    world: &World,
    task: &TaskId,
    workspace: &Workspace,
    holder: &str,
) -> Result<WorkspaceHold> {
    let folder = task_folder(workspace);
    let Ok(turn) = lock_queue(world, &folder).try_lock_owned() else {
        return Err(refusal(read_lock(workspace).as_ref()));
    };
    match take(world, &folder, holder)? {
        Taken::Ours => Ok(hold_of(world, task, &folder, turn)),
        Taken::Theirs(lock) => Err(refusal(Some(&lock))),
    }
}

/// Refuses a caller that does not want to wait while somebody changes the worktree.
///
/// # Errors
/// `WorkspaceLocked` with the holder.
pub(crate) async fn refuse_locked(world: &World, task: &TaskId, if_locked: IfLocked) -> Result<()> {
    if if_locked == IfLocked::Wait {
        return Ok(());
    }
    let workspace = world.store().read().await?.workspaces().last(task).await?;
    let Some(workspace) = workspace else { return Ok(()) };
    let folder = task_folder(&workspace);
    if lock_queue(world, &folder).try_lock_owned().is_err() {
        return Err(refusal(read_lock(&workspace).as_ref()));
    }
    match live_lock_in(&folder) {
        Some(lock) => Err(refusal(Some(&lock))),
        None => Ok(()),
    }
}

/// Writes the process that works under a task's lock into it, so that a later engine knows whether the
/// holder lives.
pub(crate) fn name_holder(world: &World, task: &TaskId, identity: &ProcessIdentity) {
    name_in_lock(world, task, identity, |_| true);
}

/// The same for a script: a hook that runs beside an agent does not take the lock over.
pub(crate) fn name_script(world: &World, task: &TaskId, identity: &ProcessIdentity) {
    name_in_lock(world, task, identity, |lock| lock.pid == std::process::id() || !lives(lock));
}

fn name_in_lock(
    world: &World,
    task: &TaskId,
    identity: &ProcessIdentity,
    may: impl Fn(&WorkspaceLock) -> bool,
) {
    let Some(path) = locked(&world.part::<Locks>().held).get(task).cloned() else { return };
    let Some(mut lock) = read(&path).filter(may) else { return };
    (lock.pid, lock.start_time) = (identity.pid, identity.start_time);
    let written = serde_json::to_vec(&lock).map_err(std::io::Error::from).and_then(|text| {
        let next = path.with_extension("lock.next");
        std::fs::write(&next, text)?;
        std::fs::rename(next, &path)
    });
    if let Err(error) = written {
        tracing::warn!(%task, %error, "failed to name the process in the worktree's lock");
    }
}

/// Releases a lock whose holder is gone. Called at start, after orphans have been ended; the folder is
/// this engine's alone then, so a lock of another machine is an old one, too.
pub(crate) fn release_stale_lock(workspace: &Workspace) {
    let path = task_folder(workspace).join(LOCK_FILE);
    let lock = read(&path);
    let is_held = lock.as_ref().is_some_and(|lock| lock.host == host_name() && lives(lock));
    if path.exists()
        && !is_held
        && let Err(error) = release(&path, lock.as_ref())
    {
        tracing::warn!(path = %path.display(), %error, "failed to release a worktree's lock");
    }
}

fn lock_queue(world: &World, folder: &Path) -> Arc<Queue<()>> {
    let locks = world.part::<Locks>();
    let mut queues = locked(&locks.queues);
    queues.retain(|_, queue| Arc::strong_count(queue) > 1);
    Arc::clone(queues.entry(folder.to_owned()).or_default())
}

fn hold_of(world: &World, task: &TaskId, folder: &Path, turn: OwnedMutexGuard<()>) -> WorkspaceHold {
    let path = folder.join(LOCK_FILE);
    let held = Arc::clone(&world.part::<Locks>().held);
    locked(&held).insert(task.clone(), path.clone());
    let leaves = world.inner.leave.clone();
    WorkspaceHold { path, task: task.clone(), held, leaves, _turn: turn }
}

/// Takes the file of a folder whose turn the caller has. One that nobody living holds is released first.
fn take(world: &World, folder: &Path, holder: &str) -> Result<Taken> {
    let doing = || format!("lock {}", folder.display());
    let path = folder.join(LOCK_FILE);
    let me = ProcessIdentity::of(std::process::id());
    let mine = WorkspaceLock {
        execution_id: holder.to_owned(),
        pid: std::process::id(),
        start_time: me.map_or(0, |identity| identity.start_time),
        host: host_name(),
        acquired_at: world.now(),
    };
    let text = serde_json::to_vec(&mine).map_err(|error| EngineError::io(doing())(error.into()))?;
    std::fs::create_dir_all(folder).map_err(EngineError::io(doing()))?;
    // Complete before it has its name: nobody ever reads half a lock.
    let fresh = folder.join(format!("{LOCK_FILE}.{}", uuid::Uuid::new_v4().simple()));
    write_private(&fresh, &text).map_err(EngineError::io(doing()))?;
    let taken = loop {
        match std::fs::hard_link(&fresh, &path) {
            Ok(()) => break Ok(Taken::Ours),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => match read(&path) {
                // Of this process none can be alive: the turn is ours. So is that of a run that went on while no engine
                // was there.
                Some(lock)
                    if lock.pid != mine.pid && lock.execution_id != mine.execution_id && lives(&lock) =>
                {
                    break Ok(Taken::Theirs(lock));
                }
                stale => match release(&path, stale.as_ref()) {
                    Ok(()) => {}
                    Err(error) => break Err(EngineError::io(doing())(error)),
                },
            },
            Err(error) => break Err(EngineError::io(doing())(error)),
        }
    };
    if let Err(error) = std::fs::remove_file(&fresh) {
        tracing::warn!(path = %fresh.display(), %error, "failed to remove the draft of a lock");
    }
    taken
}

async fn say_locked(world: &World, task: &TaskId, lock: Option<WorkspaceLock>) -> Result<()> {
    let message = match lock {
        Some(lock) => format!("{} is using the worktree (process {})", lock.execution_id, lock.pid),
        None => "the worktree is in use".to_owned(),
    };
    let waiting = Waiting { reason: WaitReason::WorkspaceLocked, until: None, files: Vec::new(), message };
    set_waiting(world, task, Some(waiting)).await
}

async fn say_unlocked(world: &World, task: &TaskId) -> Result<()> {
    set_waiting(world, task, None).await
}

async fn set_waiting(world: &World, id: &TaskId, waiting: Option<Waiting>) -> Result<()> {
    let mut tx = world.store().write().await?;
    let Some(mut task) = tx.tasks().get(id).await? else { return Ok(()) };
    let of_a_lock = |waiting: &Waiting| waiting.reason == WaitReason::WorkspaceLocked;
    // What it waits for besides is not ours to take away.
    if task.waiting == waiting || (waiting.is_none() && !task.waiting.as_ref().is_some_and(of_a_lock)) {
        return Ok(());
    }
    let facts = json!({ "waiting": waiting.as_ref().map(|waiting| waiting.reason) });
    task.waiting = waiting;
    tx.tasks_mut().update(&mut task, world.now()).await?;
    world.emit(&mut tx, EventType::TaskUpdated, &task, id.as_str(), &facts).await?;
    tx.commit().await?;
    world.made_progress();
    Ok(())
}

/// Why a worktree cannot be changed now.
fn refusal(lock: Option<&WorkspaceLock>) -> EngineError {
    let holder = lock.map_or("somebody", |lock| lock.execution_id.as_str());
    EngineError::Conflict {
        code: ConflictCode::WorkspaceLocked,
        message: format!("{holder} is using the worktree: wait until it finishes, or stop it first"),
        details: json!({ "lock": lock }),
    }
}

fn release(path: &Path, lock: Option<&WorkspaceLock>) -> std::io::Result<()> {
    let execution = lock.map_or("unreadable", |lock| lock.execution_id.as_str());
    tracing::info!(path = %path.display(), execution, "released a lock whose holder is gone");
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn write_private(path: &Path, text: &[u8]) -> std::io::Result<()> {
    use std::io::Write as _;
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text)
}

/// Waits until the lock of somebody outside may be gone: its folder changed, or its process ended.
async fn until_released(folder: &Path, lock: &WorkspaceLock) {
    let changed = Arc::new(Notify::new());
    let signal = Arc::clone(&changed);
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if event.is_ok_and(|event| !event.kind.is_access()) {
            signal.notify_one();
        }
    });
    let watcher = watcher.and_then(|mut watcher| {
        watcher.watch(folder, RecursiveMode::NonRecursive)?;
        Ok(watcher)
    });
    if let Err(error) = &watcher {
        tracing::warn!(%error, "no file events for a worktree's lock; looking once a minute");
    }
    // Released between the look and the watch: no event tells of that.
    if live_lock_in(folder).is_none() {
        return;
    }
    let ended = async {
        let here = ProcessIdentity::of(lock.pid).filter(|_| lock.host == host_name());
        match here {
            Some(identity) if identity.ended().await.is_ok() => {}
            _ => std::future::pending().await,
        }
    };
    tokio::select! {
        () = changed.notified() => {}
        () = ended => {}
        () = tokio::time::sleep(FALLBACK) => {}
    }
}

fn host_name() -> String {
    nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// How a call behaves when it needs a worktree that is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IfLocked {
    /// It waits in the queue.
    #[default]
    Wait,
    /// It is refused.
    Reject,
}

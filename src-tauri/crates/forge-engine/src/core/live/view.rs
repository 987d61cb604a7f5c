//! The copy of one worktree that people look at: asking its machine, bringing it up to date, removing it.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use forge_git::{Git, Repo};
use forge_keeper::{FarTree, Fault, Refusal, TransferError};
use forge_model::{machine::Machine, time::Timestamp, workspace::Workspace};
use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use tokio::{
    sync::{Mutex as Turn, OwnedRwLockReadGuard, RwLock},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{
        context::ProjectContext, guarded::guarded, lent_folders::sent_tree, location::contacts, private_data,
        sync::locked,
    },
    error::{Result, whole},
};

use super::{Freshness, folder_beside};

/// What was fetched that long ago still counts as what stands there.
const MOMENT: Duration = Duration::from_secs(2);

/// So long what somebody was shown is what they ask about.
const SHOWN: Duration = Duration::from_secs(60);

/// With more packs the objects of the copy are fetched anew: each look that brings something adds one.
const MOST_PACKS: usize = 64;

/// The views of an engine, by the path of the worktree.
#[derive(Default)]
struct Views(Mutex<HashMap<PathBuf, Arc<View>>>);

/// What of a worktree on another machine is shown.
#[derive(Debug, Default)]
pub(super) struct View {
    state: Mutex<State>,
    /// Whose turn it is to ask the machine, or to remove the copy.
    turn: Turn<()>,
    /// Whoever reads the copy has it for reading.
    files: Arc<RwLock<()>>,
    /// Whoever needs the copy to be there has it for reading.
    present: Arc<RwLock<()>>,
}

#[derive(Debug, Default)]
struct State {
    looking: Option<Shared<BoxFuture<'static, ()>>>,
    shown: Option<Shown>,
    /// Why the last look brought nothing.
    fault: Option<String>,
    repo: Option<Repo>,
    /// How many run checks in the copy.
    checks: u32,
    /// Whether checks may have written into the copy.
    is_spoilt: bool,
    /// Fires when the programs there have ended.
    over: CancellationToken,
}

/// What the copy holds.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub(super) at: Timestamp,
    pub(super) snapshot: String,
    asked: Instant,
}

pub(super) fn view_of(world: &World, worktree: &Path) -> Arc<View> {
    Arc::clone(locked(&world.part::<Views>().0).entry(worktree.to_owned()).or_default())
}

/// The view of a worktree that somebody looked at.
pub(super) fn known(world: &World, worktree: &Path) -> Option<Arc<View>> {
    locked(&world.part::<Views>().0).get(worktree).cloned()
}

/// What the copy of a view holds.
pub(super) fn shown_again(view: &View) -> Option<Shown> {
    locked(&view.state).shown.clone()
}

impl View {
    pub(super) fn fault(&self) -> Option<String> {
        locked(&self.state).fault.clone()
    }

    pub(super) fn begin_checks(&self) {
        locked(&self.state).checks += 1;
    }

    pub(super) fn end_checks(&self) {
        let mut state = locked(&self.state);
        state.checks -= 1;
        state.is_spoilt = true;
    }

    pub(super) fn begin(&self) {
        let mut state = locked(&self.state);
        (state.over, state.shown, state.fault) = (CancellationToken::new(), None, None);
    }

    pub(super) fn end(&self) {
        locked(&self.state).over.cancel();
    }

    /// Whether the machine is to be asked for what stands there now.
    pub(super) fn wants_look(&self, freshness: Freshness) -> bool {
        let state = locked(&self.state);
        let most = match freshness {
            Freshness::Now => MOMENT,
            Freshness::Shown => SHOWN,
            Freshness::Known => return false,
        };
        let is_old = |shown: &Shown| state.is_spoilt || shown.asked.elapsed() > most;
        !state.over.is_cancelled() && state.checks == 0 && state.shown.as_ref().is_none_or(is_old)
    }

    /// Keeps the copy there, and as it is.
    pub(super) async fn reading(&self) -> (OwnedRwLockReadGuard<()>, OwnedRwLockReadGuard<()>) {
        let present = Arc::clone(&self.present).read_owned().await;
        (present, Arc::clone(&self.files).read_owned().await)
    }

    /// The repository of the copy.
    pub(super) async fn repo(&self, git: &Git, folder: &Path) -> Result<Repo> {
        if let Some(known) = locked(&self.state).repo.clone() {
            return Ok(known);
        }
        let repo = Repo::open(git, &folder.join("tree")).await?;
        locked(&self.state).repo = Some(repo.clone());
        Ok(repo)
    }

    /// Waits for a look: the one that goes on, or else a new one. It goes on when nobody waits any more.
    pub(super) fn look(
        self: &Arc<Self>,
        world: &World,
        context: &Arc<ProjectContext>,
        workspace: &Workspace,
        machine: &Machine,
    ) -> Shared<BoxFuture<'static, ()>> {
        let mut state = locked(&self.state);
        if let Some(looking) = state.looking.as_ref().filter(|looking| looking.peek().is_none()) {
            return looking.clone();
        }
        let over = state.over.clone();
        let (view, world, context) = (Arc::clone(self), world.clone(), Arc::clone(context));
        let (workspace, machine) = (workspace.clone(), machine.clone());
        let task = world.inner.tracker.clone().spawn(async move {
            let look = guarded(view.look_now(&world, &context, &workspace, &machine));
            let looked = tokio::select! {
                () = over.cancelled() => return,
                () = world.inner.shutdown.cancelled() => return,
                looked = look => looked,
            };
            let fault = match looked {
                Ok(Ok(())) => None,
                Ok(Err(error)) => {
                    tracing::info!(task = %workspace.task_id, %error, "could not look at a worktree on another machine");
                    (!is_not_there_yet(&error)).then(|| whole(&error))
                }
                Err(panic) => Some(whole(&panic)),
            };
            locked(&view.state).fault = fault;
        });
        let looking = task.map(drop).boxed().shared();
        state.looking = Some(looking.clone());
        looking
    }

    async fn look_now(
        &self,
        world: &World,
        context: &Arc<ProjectContext>,
        workspace: &Workspace,
        machine: &Machine,
    ) -> Result<()> {
        let _turn = self.turn.lock().await;
        let Some(sent) = sent_tree(world, context, workspace).await? else { return Ok(()) };
        let folder = folder_beside(Path::new(&workspace.path));
        private_data::make(&folder).map_err(EngineError::io("make the folder of a copy"))?;
        let known = sent.last_held();
        let tree = sent.viewed_in(&folder);
        let far = far_tree_of(world, context, workspace, machine).await?;
        let mut changing = None;
        if packs_in(&folder).await > MOST_PACKS {
            changing = Some(self.files.write().await);
            locked(&self.state).shown = None;
            forget_objects(&folder).await.map_err(EngineError::io("remove objects of a copy"))?;
        }
        let (now, at) = (Instant::now(), world.now());
        world.point("live.asked");
        let looked = far.look(&tree, known).await.map_err(EngineError::Transfer)?;
        let snapshot = looked.snapshot.clone();
        let is_spoilt = locked(&self.state).is_spoilt;
        if looked.is_news() || is_spoilt {
            let _changing = match changing {
                Some(changing) => changing,
                None => self.files.write().await,
            };
            {
                let mut state = locked(&self.state);
                if state.checks > 0 {
                    return Ok(());
                }
                // What the copy holds is not known until it is whole.
                (state.shown, state.is_spoilt) = (None, false);
            }
            looked.apply().await.map_err(EngineError::Transfer)?;
            lead_to_git_dir(&folder).await.map_err(EngineError::io("write the copy of a worktree"))?;
        }
        locked(&self.state).shown = Some(Shown { at, snapshot, asked: now });
        world.point("live.shown");
        Ok(())
    }

    /// Removes the copy once nobody uses it, unless programs have the worktree again.
    pub(super) async fn clear_up(&self, folder: &Path) -> io::Result<()> {
        let _turn = self.turn.lock().await;
        let _present = self.present.write().await;
        {
            let mut state = locked(&self.state);
            if !state.over.is_cancelled() {
                return Ok(());
            }
            (state.shown, state.repo, state.fault) = (None, None, None);
        }
        remove(folder.to_owned()).await
    }
}

/// A worktree on a machine.
pub(super) async fn far_tree_of(
    world: &World,
    context: &ProjectContext,
    workspace: &Workspace,
    machine: &Machine,
) -> Result<FarTree> {
    let asked = contacts::asked(world, machine, &workspace.task_id).await?;
    let unreachable = |error| EngineError::Transfer(TransferError::Unreachable(io::Error::other(error)));
    let login = asked.login().await.map_err(unreachable)?;
    Ok(asked.keeper.far_tree(workspace.task_id.as_str(), context.project.id.as_str(), &login))
}

/// Whether the worktree is still on its way there.
const fn is_not_there_yet(error: &EngineError) -> bool {
    matches!(error, EngineError::Transfer(TransferError::Refused(Refusal::Transfer(Fault::NoTree))))
}

/// The files of the copy find its git directory, which lies beside them: whoever works in the copy cannot write there.
async fn lead_to_git_dir(folder: &Path) -> io::Result<()> {
    let (link, leads) = (folder.join("tree/.git"), format!("gitdir: {}\n", folder.join("git").display()));
    if tokio::fs::read_to_string(&link).await.is_ok_and(|found| found == leads) {
        return Ok(());
    }
    match tokio::fs::symlink_metadata(&link).await {
        Ok(found) if found.is_dir() => remove(link.clone()).await?,
        Ok(_) => tokio::fs::remove_file(&link).await?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    tokio::fs::write(&link, leads).await
}

async fn packs_in(folder: &Path) -> usize {
    let packs = folder.join("mirror.git/objects/pack");
    let count = move || std::fs::read_dir(packs).into_iter().flatten().flatten().count() / 2;
    tokio::task::spawn_blocking(count).await.unwrap_or_default()
}

/// Has the objects of a copy be fetched anew. Its files, and what is known of them, stay.
async fn forget_objects(folder: &Path) -> io::Result<()> {
    match tokio::fs::remove_file(folder.join("store/record")).await {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    remove(folder.join("mirror.git")).await
}

async fn remove(folder: PathBuf) -> io::Result<()> {
    match tokio::fs::remove_dir_all(&folder).await {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

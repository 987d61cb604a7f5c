//! A task's worktree as it stands on another machine while programs work there, for whoever looks at it.
//!
//! The worktree on this computer stays as it was sent until the last program has ended: the fetch that follows compares
//! its files with what was sent, and keeps what differs as a backup. So whoever looks meanwhile is shown a copy in the
//! task's folder, with a git directory and a store of its own; of the transfer it reads objects alone. The keeper there
//! takes a snapshot that it does not remember as a transfer either.
//!
//! Invariants:
//! - The machine is asked when somebody looks, and only then; those who look at about the same time share one answer.
//! - Nobody waits long for a machine: what is known is shown, with its time and with the reason.
//! - The turn of lending is never waited for here. The end of the programs stops a look and waits for none.
//! - The copy changes only while nobody reads it, and is removed only while nobody uses it.

mod view;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use forge_git::Repo;
use forge_model::{
    diff::SeenThere,
    machine::{Machine, SshConfig},
    time::Timestamp,
    workspace::{PlaceThere, Workspace},
};
use tokio::sync::OwnedRwLockReadGuard;

use crate::{
    EngineError, World,
    core::{
        self,
        context::ProjectContext,
        lent_folders::{is_there, sent_tree},
    },
    error::Result,
};

use view::{View, shown_again, view_of};

/// The folder of the copy, in the task's folder.
pub(crate) const FOLDER: &str = "live";

/// How long who looks waits for the machine.
const PATIENCE: Duration = Duration::from_secs(5);

/// How old what is shown may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// As it is now, or was a moment ago.
    Now,
    /// As the one who asks was shown it: a list of files and each of the files belong together.
    Shown,
    /// As it is known. The machine is not asked.
    Known,
}

/// What is known of a worktree in which programs on another machine work.
#[derive(Debug)]
pub(crate) struct Seen {
    /// When it was so, and where.
    pub told: SeenThere,
    copy: Option<Copy>,
}

/// The copy, which does not change as long as this is held.
#[derive(Debug)]
struct Copy {
    repo: Repo,
    _unchanged: OwnedRwLockReadGuard<()>,
    present: OwnedRwLockReadGuard<()>,
    view: Arc<View>,
}

/// Checks run in the copy: it stays as it is meanwhile but for what they write, which goes with the next look.
#[derive(Debug)]
pub(crate) struct Checking {
    view: Arc<View>,
    _present: OwnedRwLockReadGuard<()>,
}

impl Seen {
    /// The repository of the copy; none when nothing came from the machine yet. Its files are its main worktree's.
    pub(crate) fn repo(&self) -> Option<&Repo> {
        self.copy.as_ref().map(|copy| &copy.repo)
    }

    /// Has checks run in the copy, while others read it.
    pub(crate) fn for_checks(self) -> Option<Checking> {
        let Copy { present, view, .. } = self.copy?;
        view.begin_checks();
        Some(Checking { view, _present: present })
    }
}

impl Drop for Checking {
    fn drop(&mut self) {
        self.view.end_checks();
    }
}

/// What stands on the machine of a worktree; none when no program there has it, and the files on this computer are what
/// there is.
pub(crate) async fn seen(
    world: &World,
    context: &Arc<ProjectContext>,
    workspace: &Workspace,
    freshness: Freshness,
) -> Result<Option<Seen>> {
    let Some(id) = workspace.machine_id.as_ref().filter(|_| is_there(workspace)) else { return Ok(None) };
    let Some(machine) = world.store().read().await?.machines().get(id).await? else { return Ok(None) };
    let view = view_of(world, Path::new(&workspace.path));
    if freshness == Freshness::Known && shown_again(&view).is_none() {
        return Ok(None);
    }
    let mut error = look_if_wanted(world, context, workspace, &machine, &view, freshness).await;
    let copy = opened(world, context, workspace, &view).await;
    let (copy, shown) = match copy {
        Ok(found) => found.map(|(copy, shown)| (Some(copy), Some(shown))).unwrap_or_default(),
        Err(fault) => {
            error = Some(crate::error::whole(&fault));
            (None, None)
        }
    };
    let at = match &shown {
        Some(shown) => shown.at,
        None => sent_at(world, context, workspace).await?,
    };
    let told = SeenThere {
        machine_id: machine.id,
        machine: machine.name,
        at,
        snapshot: shown.map(|shown| shown.snapshot),
        error: error.or_else(|| view.fault()),
    };
    Ok(Some(Seen { told, copy }))
}

/// Where a worktree is on the machine on which programs work in it; none when no program there has it.
pub(crate) async fn place_there(
    world: &World,
    context: &Arc<ProjectContext>,
    workspace: &Workspace,
) -> Result<Option<PlaceThere>> {
    let Some(id) = workspace.machine_id.as_ref().filter(|_| is_there(workspace)) else { return Ok(None) };
    let Some(machine) = world.store().read().await?.machines().get(id).await? else { return Ok(None) };
    let mut path = None;
    if core::location::contacts::why_unreachable(world, id, &workspace.task_id).is_none() {
        let asked = view::far_tree_of(world, context, workspace, &machine);
        let stands = async {
            let far = asked.await?;
            Ok::<_, EngineError>(far.stand().await.map_err(EngineError::Transfer)?.path)
        };
        match tokio::time::timeout(PATIENCE, stands).await {
            Ok(Ok(found)) => path = Some(found.to_string_lossy().into_owned()),
            Ok(Err(error)) => tracing::info!(%error, "could not ask a machine for the place of a worktree"),
            Err(_) => {}
        }
    }
    let destination = machine.ssh.as_ref().map(SshConfig::destination);
    Ok(Some(PlaceThere { destination, machine: machine.name, path }))
}

/// Programs on a machine are given a worktree.
pub(crate) fn begin(world: &World, worktree: &Path) {
    if let Some(view) = view::known(world, worktree) {
        view.begin();
    }
}

/// The last program that had a worktree on a machine has ended: what it left is fetched now, and looked at no more.
pub(crate) fn end(world: &World, worktree: &Path) {
    if let Some(view) = view::known(world, worktree) {
        view.end();
    }
}

/// Removes the copy once nobody uses it, unless programs have the worktree again.
pub(crate) fn clear_up_later(world: &World, worktree: &Path) {
    let Some(view) = view::known(world, worktree) else { return };
    // Of a machine that was given up nothing was fetched.
    view.end();
    let folder = folder_beside(worktree);
    core::guarded::in_background(world, async move {
        if let Err(error) = view.clear_up(&folder).await {
            tracing::warn!(path = %folder.display(), %error, "failed to remove the copy of a worktree");
        }
    });
}

/// Asks the machine, unless that is not wanted or known to be in vain. Says why nothing newer can be shown, as far as the
/// view does not know.
async fn look_if_wanted(
    world: &World,
    context: &Arc<ProjectContext>,
    workspace: &Workspace,
    machine: &Machine,
    view: &Arc<View>,
    freshness: Freshness,
) -> Option<String> {
    if !view.wants_look(freshness) {
        return None;
    }
    if let Some(fault) = core::location::contacts::why_unreachable(world, &machine.id, &workspace.task_id) {
        return Some(fault);
    }
    let looking = view.look(world, context, workspace, machine);
    match tokio::time::timeout(PATIENCE, looking).await {
        Ok(()) => None,
        // It goes on: whoever looks next is shown what came of it.
        Err(_) => Some(format!("{} has not answered yet", machine.name)),
    }
}

/// The copy as it is; none when nothing was fetched yet.
async fn opened(
    world: &World,
    context: &Arc<ProjectContext>,
    workspace: &Workspace,
    view: &Arc<View>,
) -> Result<Option<(Copy, view::Shown)>> {
    let (present, unchanged) = view.reading().await;
    let Some(shown) = shown_again(view) else { return Ok(None) };
    let git = world.git().passing(&context.settings.environment);
    let repo = view.repo(&git, &folder_beside(Path::new(&workspace.path))).await?;
    Ok(Some((Copy { repo, _unchanged: unchanged, present, view: Arc::clone(view) }, shown)))
}

/// When the worktree here was sent.
async fn sent_at(world: &World, context: &Arc<ProjectContext>, workspace: &Workspace) -> Result<Timestamp> {
    let sent = sent_tree(world, context, workspace).await?;
    let at = sent.and_then(|tree| tree.last_held_at()?.duration_since(std::time::UNIX_EPOCH).ok());
    let at = at.and_then(|at| i64::try_from(at.as_millis()).ok());
    Ok(at.map_or_else(|| world.now(), Timestamp))
}

fn folder_beside(worktree: &Path) -> PathBuf {
    worktree.parent().unwrap_or(worktree).join(FOLDER)
}

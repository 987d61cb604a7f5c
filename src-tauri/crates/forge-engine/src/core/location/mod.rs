//! Where the programs of a task run: on this computer, or on the machine that its worktree names.
//!
//! A task keeps its worktree here wherever its programs run. On another machine they work in a copy of it, which is
//! sent before the first of them begins and fetched when the last one has ended (`core/confinement`).
//!
//! Invariants: nothing that cannot be reached is taken for ended; whoever waits for a machine stops waiting when a
//! person gives it up, and when this engine ends.

pub(crate) mod asked;
pub(crate) mod configured;
pub(crate) mod contacts;
pub(crate) mod given_up;
pub(crate) mod jobs;
pub(crate) mod keeper_id;
pub(crate) mod left_there;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use forge_exec::{SandboxSupport, Variables, sandbox_support};
use forge_keeper::{FarTree, Keeper, McpProgram, Pause, Provided, RunState, TransferError, far_worktree};
use forge_machines::{Fault, JobFault};
use forge_model::ids::{MachineId, ProjectId, TaskId};
use forge_model::machine::Machine;
use forge_model::workspace::Workspace;
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{context::task_folder, lent_folders},
    error::Result,
};

use asked::{Asked, Layout, Own};

/// The variable that names the user's repository.
const REPO_PATH: &str = "FORGE_REPO_PATH";

/// The folder of a keeper with the objects that copies of worktrees share.
const MIRRORS: &str = "mirrors";

/// Where the programs of a task run.
#[derive(Debug, Clone)]
pub(crate) enum Location {
    /// On this computer.
    Here,
    /// On another machine.
    There(Box<There>),
}

/// A task's place on another machine.
#[derive(Debug, Clone)]
pub(crate) struct There {
    pub machine: MachineId,
    /// What people call the machine.
    name: String,
    /// The environment that a login there sets up.
    pub login: Arc<Variables>,
    /// The copy of the worktree.
    pub tree: Arc<FarTree>,
    /// What the kernel there can confine.
    pub support: SandboxSupport,
    /// Where the copy is.
    worktree: PathBuf,
    /// The folder of the task there, with the copy and whatever else its programs are given.
    folder: PathBuf,
    /// Where that machine's keeper has all of its files.
    keepers_folder: PathBuf,
    asked: Asked,
    task: TaskId,
    project: String,
    given_up: CancellationToken,
}

impl Location {
    /// What runs the programs.
    pub(crate) fn keeper(&self, world: &World) -> Keeper {
        match self {
            Self::Here => world.keeper().clone(),
            Self::There(there) => there.asked.keeper.clone(),
        }
    }

    /// The machine; none for this computer.
    pub(crate) fn machine(&self) -> Option<&MachineId> {
        match self {
            Self::Here => None,
            Self::There(there) => Some(&there.machine),
        }
    }

    /// What people call the machine; none for this computer.
    pub(crate) fn machine_name(&self) -> Option<&str> {
        match self {
            Self::Here => None,
            Self::There(there) => Some(&there.name),
        }
    }

    /// The environment that a login sets up on another machine.
    pub(crate) fn login(&self) -> Option<&Variables> {
        match self {
            Self::Here => None,
            Self::There(there) => Some(&there.login),
        }
    }

    /// Where the programs find the worktree.
    pub(crate) fn worktree(&self, workspace: &Workspace) -> PathBuf {
        match self {
            Self::Here => PathBuf::from(&workspace.path),
            Self::There(there) => there.worktree(),
        }
    }

    /// Variables of Forge as the programs get them: paths lead to the copy there, and there is no repository of the user.
    pub(crate) fn variables(
        &self,
        workspace: Option<&Workspace>,
        here: impl IntoIterator<Item = (String, String)>,
    ) -> Vec<(String, String)> {
        let is_here = matches!(self, Self::Here);
        let known = here.into_iter().filter(|(name, _)| is_here || name != REPO_PATH);
        let moved = |value: String| match workspace {
            Some(workspace) => self.path(workspace, Path::new(&value)).to_string_lossy().into_owned(),
            None => value,
        };
        known.map(|(name, value)| (name, moved(value))).collect()
    }

    /// A path in the worktree or beside it as the programs find it; any other one as it is.
    pub(crate) fn path(&self, workspace: &Workspace, here: &Path) -> PathBuf {
        let Self::There(there) = self else { return here.to_owned() };
        let beside = |rest: &Path| there.folder.join(rest).components().collect();
        match (here.strip_prefix(&workspace.path), here.strip_prefix(task_folder(workspace))) {
            (Ok(rest), _) => there.worktree().join(rest).components().collect(),
            (_, Ok(rest)) => beside(rest),
            _ => here.to_owned(),
        }
    }

    /// Fires when the task leaves the machine: what runs there is waited for no more.
    pub(crate) fn given_up(&self) -> Option<&CancellationToken> {
        match self {
            Self::Here => None,
            Self::There(there) => Some(&there.given_up),
        }
    }

    /// What the kernel can confine where the programs run.
    pub(crate) fn sandbox_support(&self) -> SandboxSupport {
        match self {
            Self::Here => sandbox_support(),
            Self::There(there) => there.support,
        }
    }
}

impl There {
    /// The copy of the worktree.
    pub(crate) fn worktree(&self) -> PathBuf {
        self.worktree.clone()
    }

    /// The folder of the task, which holds the copy.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What programs there have to be able to read of the keeper's files.
    pub(crate) fn readable(&self) -> Vec<PathBuf> {
        vec![self.folder.clone(), self.keepers_folder.join(MIRRORS)]
    }

    /// What they must not read besides.
    pub(crate) fn hidden(&self) -> Vec<PathBuf> {
        vec![self.keepers_folder.clone()]
    }

    /// Makes room for the copy of a worktree: what the machine has of the task, and what this computer does not know
    /// of, is kept as a backup.
    ///
    /// # Errors
    /// When it cannot be fetched or kept.
    pub(crate) async fn make_room(&self, world: &World) -> Result<()> {
        left_there::keep_and_remove(world, &self.asked, self.task.as_str(), &self.project).await
    }

    /// Makes folders and files there.
    ///
    /// # Errors
    /// What is refused there, and that this engine ends.
    pub(crate) async fn provide(
        &self,
        world: &World,
        provided: &Provided,
        cancel: &CancellationToken,
    ) -> Result<Option<()>> {
        let provide = || async { Ok(self.asked.keeper.provide(provided).await?) };
        self.reached(world, cancel, provide).await
    }

    /// A file there, up to a size; none when there is none.
    ///
    /// # Errors
    /// What is refused there, and that this engine ends.
    pub(crate) async fn file(
        &self,
        world: &World,
        path: &Path,
        most: u64,
        cancel: &CancellationToken,
    ) -> Result<Option<Vec<u8>>> {
        let read = || async { Ok(self.asked.keeper.file(path, most).await?) };
        Ok(self.reached(world, cancel, read).await?.flatten())
    }

    /// The program there by which agents call Forge's tools; none when the wait for the machine was stopped.
    ///
    /// # Errors
    /// What is refused there, and that this engine ends.
    pub(crate) async fn mcp_program(
        &self,
        world: &World,
        cancel: &CancellationToken,
    ) -> Result<Option<McpProgram>> {
        let ask = || async { Ok(self.asked.keeper.mcp_program().await?) };
        self.reached(world, cancel, ask).await
    }

    /// What runs the programs there.
    pub(crate) const fn keeper(&self) -> &Keeper {
        &self.asked.keeper
    }

    /// All that the keeper there has; none when the wait for the machine was stopped.
    ///
    /// # Errors
    /// What is refused there, and that this engine ends.
    pub(crate) async fn runs(
        &self,
        world: &World,
        cancel: &CancellationToken,
    ) -> Result<Option<Vec<RunState>>> {
        let ask = || async { Ok(self.asked.keeper.runs().await?) };
        self.reached(world, cancel, ask).await
    }

    /// Ends all that runs there for the task, whose engine is gone. False when the wait for the machine was stopped.
    ///
    /// # Errors
    /// What is refused there, and that this engine ends.
    pub(crate) async fn end_all(&self, world: &World, cancel: &CancellationToken) -> Result<bool> {
        let keeper = &self.asked.keeper;
        let end = || async {
            for run in keeper.runs().await?.iter().filter(|run| run.task == self.task.as_str()) {
                keeper.forget(&run.id).await?;
            }
            Ok(())
        };
        Ok(self.reached(world, cancel, end).await?.is_some())
    }

    /// The most memory of the task's container or job, in MiB; none where that is not known.
    pub(crate) fn memory_mb(&self) -> Option<u32> {
        self.asked.own.as_ref()?.memory_mb()
    }

    /// How often something in the task's container or job was killed since it took too much memory; none where that is
    /// not known.
    pub(crate) async fn memory_kills(&self) -> Option<u64> {
        self.asked.link.memory_kills().await.ok().flatten()
    }

    /// What the image of the task's container has done in a new worktree; none when the wait for the machine was stopped.
    ///
    /// # Errors
    /// What is refused there, and that this engine ends.
    pub(crate) async fn after_create(
        &self,
        world: &World,
        cancel: &CancellationToken,
    ) -> Result<Option<Vec<String>>> {
        let Some(Own::Container(container)) = &self.asked.own else { return Ok(Some(Vec::new())) };
        let unreachable = |fault| TransferError::Unreachable(std::io::Error::other(fault));
        let ask = || async { container.after_create().await.map_err(unreachable) };
        self.reached(world, cancel, ask).await
    }

    /// Does something there, again whenever the machine cannot be reached; none when the machine was given up or
    /// `cancel` was fired first.
    ///
    /// # Errors
    /// What is refused there, and that this engine ends.
    pub(crate) async fn reached<T, F>(
        &self,
        world: &World,
        cancel: &CancellationToken,
        act: impl Fn() -> F,
    ) -> Result<Option<T>>
    where
        F: Future<Output = Result<T, TransferError>>,
    {
        let stop = Stop { cancel, given_up: &self.given_up };
        reached(world, (&self.name, &self.asked), stop, act).await
    }
}

/// What ends the wait for a machine.
#[derive(Clone, Copy)]
struct Stop<'s> {
    cancel: &'s CancellationToken,
    given_up: &'s CancellationToken,
}

async fn reached<T, F>(
    world: &World,
    (name, asked): (&str, &Asked),
    stop: Stop<'_>,
    act: impl Fn() -> F,
) -> Result<Option<T>>
where
    F: Future<Output = Result<T, TransferError>>,
{
    let mut pause = Pause::default();
    loop {
        let acted = tokio::select! {
            biased;
            () = stop.given_up.cancelled() => return Ok(None),
            () = stop.cancel.cancelled() => return Ok(None),
            acted = act() => acted,
        };
        match acted {
            Ok(done) => return Ok(Some(done)),
            Err(error) if !error.is_unreachable() => {
                return Err(EngineError::Machine { name: name.to_owned(), error });
            }
            Err(error) => tracing::info!(%error, "waiting for a machine"),
        }
        tokio::select! {
            () = pause.until_reachable(&asked.link) => {}
            () = stop.given_up.cancelled() => return Ok(None),
            () = stop.cancel.cancelled() => return Ok(None),
            () = world.inner.shutdown.cancelled() => return Err(stopping()),
        }
    }
}

/// What is told when this engine ends while a machine is waited for.
pub(crate) fn stopping() -> EngineError {
    EngineError::conflict(crate::ConflictCode::Stopping, "Forge is stopping")
}

/// Refuses while the machine of a worktree is known not to be reachable.
///
/// # Errors
/// That it cannot be reached.
pub(crate) fn require_reachable(world: &World, workspace: &Workspace) -> Result<()> {
    let machine = workspace.machine_id.as_ref();
    let asked = machine.and_then(|id| contacts::known_of(world, id, &workspace.task_id));
    let fault = asked.and_then(|asked| asked.fault());
    // A job that has not begun has nothing that could be stopped.
    let has_begun = |fault: &Fault| {
        !matches!(fault, Fault::Job(JobFault::Waiting { .. })) || lent_folders::is_there(workspace)
    };
    if fault.as_ref().is_some_and(has_begun) {
        let message = "its machine cannot be reached: wait for it, or give it up";
        return Err(EngineError::conflict(crate::ConflictCode::InUse, message));
    }
    Ok(())
}

/// The same for a task, on behalf of a person who would wait with it: what runs on a machine can be stopped only there.
///
/// # Errors
/// That its machine cannot be reached.
pub(crate) async fn require_machine_of(world: &World, task: &TaskId) -> Result<()> {
    let workspace = world.store().read().await?.workspaces().last(task).await?;
    workspace.map_or(Ok(()), |workspace| require_reachable(world, &workspace))
}

/// Where the programs of a task run that has this worktree. Another machine is waited for: none when `cancel` was fired
/// first, or the machine was given up.
///
/// # Errors
/// When the machine is not known any more, or refuses what a task needs there.
pub(crate) async fn location_of(
    world: &World,
    workspace: Option<&Workspace>,
    cancel: &CancellationToken,
) -> Result<Option<Location>> {
    let Some((workspace, id)) = workspace.and_then(|it| Some((it, it.machine_id.as_ref()?))) else {
        return Ok(Some(Location::Here));
    };
    let task = &workspace.task_id;
    // Before the record is read: a machine that is given up afterwards fires it.
    let given_up = given_up::token(world, task);
    let mut conn = world.store().read().await?;
    let now = conn.workspaces().last(task).await?;
    if now.is_some_and(|now| now.id == workspace.id && now.machine_id.as_ref() != Some(id)) {
        return Ok(None);
    }
    let project = conn.tasks().get(task).await?.map(|task| task.project_id);
    let project = project.ok_or_else(|| EngineError::not_found("task", task))?;
    drop(conn);
    let stop = Stop { cancel, given_up: &given_up };
    let (machine, asked, found) = loop {
        let machine = world.store().read().await?.machines().get(id).await?;
        let machine = machine.ok_or_else(|| EngineError::not_found("machine", id))?;
        let asked = contacts::asked(world, &machine, task).await?;
        tokio::select! {
            found = laid_out(world, &machine, &asked, workspace, &project, stop) => break (machine, asked, found?),
            // The machine is another one now.
            () = asked.over.cancelled() => {}
        }
    };
    let Some(Layout { support, login, keepers_folder }) = found else {
        return Ok(None);
    };
    let tree = asked.keeper.far_tree(task.as_str(), project.as_str(), &login);
    let worktree = far_worktree(&keepers_folder, task.as_str());
    let folder = worktree.parent().unwrap_or(&worktree).to_owned();
    Ok(Some(Location::There(Box::new(There {
        machine: machine.id,
        name: machine.name,
        project: project.0,
        login,
        tree: Arc::new(tree),
        support,
        worktree,
        folder,
        keepers_folder,
        asked,
        task: task.clone(),
        given_up,
    }))))
}

/// What is to be known of where a task's programs run. Its container or job is made there, unless its worktree is in one:
/// that went with it.
async fn laid_out(
    world: &World,
    machine: &Machine,
    asked: &Asked,
    workspace: &Workspace,
    project: &ProjectId,
    stop: Stop<'_>,
) -> Result<Option<Layout>> {
    let find = || asked.layout(&workspace.task_id, project);
    if asked.own.is_none() || lent_folders::is_there(workspace) {
        return reached(world, (&machine.name, asked), stop, find).await;
    }
    // Whoever clears up removes nothing that is made now.
    let _turn = contacts::turn(world, &asked.id).await;
    if asked.over.is_cancelled() {
        return std::future::pending().await;
    }
    let _making = asked.allow_making().await;
    reached(world, (&machine.name, asked), stop, find).await
}

//! One keeper elsewhere: that of a machine, or that in the container or the job which a task has on a machine of its own.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use forge_exec::{SandboxSupport, Variables};
use forge_keeper::{Keeper, Refusal, TransferError};
use forge_machines::{
    AnyMachine, Contact, EnvironmentError, Fault, Way, container::TaskContainer, job::TaskJob,
};
use forge_model::ids::{ProjectId, TaskId};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::{World, core::sync::locked};

use super::keeper_id::KeeperId;

/// How long programs on a machine go on without being asked anything. Its keeper cannot tell an engine that is gone
/// from a connection that is cut or a computer that sleeps, and only a person gives a machine up.
const PATIENCE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A keeper as it is asked. Cheap to clone: all clones share one session, and what is known of where it is.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub id: KeeperId,
    /// The way to it.
    pub link: AnyMachine,
    /// What it is in, where a task has its own.
    pub own: Option<Own>,
    /// What runs programs there.
    pub keeper: Keeper,
    /// Fires when another way is to be used: the machine was changed, or the container was removed.
    pub over: CancellationToken,
    login: Arc<OnceCell<Arc<Variables>>>,
    layout: Arc<Mutex<Option<Layout>>>,
}

/// What a task has of its own on a machine.
#[derive(Debug, Clone)]
pub(crate) enum Own {
    /// A container.
    Container(Arc<TaskContainer>),
    /// A job of a cluster.
    Job(Arc<TaskJob>),
}

/// While it lives, what a task has of its own is made when it is needed and not there.
pub(super) type MakingOwn = Box<dyn Send>;

impl Own {
    fn way(&self) -> Arc<dyn Way> {
        match self {
            Self::Container(container) => Arc::new(Arc::clone(container)),
            Self::Job(job) => Arc::new(Arc::clone(job)),
        }
    }

    /// The most memory that it may take, in MiB.
    pub(super) fn memory_mb(&self) -> Option<u32> {
        match self {
            Self::Container(container) => container.memory_mb(),
            Self::Job(job) => job.memory_mb(),
        }
    }
}

/// What stays as it is while a machine is not started anew.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// What the kernel there can confine.
    pub support: SandboxSupport,
    /// The environment that a login there sets up.
    pub login: Arc<Variables>,
    /// Where its keeper has all of its files.
    pub keepers_folder: PathBuf,
}

impl Asked {
    /// By this way.
    pub(super) fn by(world: &World, id: KeeperId, way: impl Way) -> Self {
        Self::new(world, id, Arc::new(way), None)
    }

    /// In what a task has of its own.
    pub(super) fn in_own(world: &World, id: KeeperId, own: Own) -> Self {
        Self::new(world, id, own.way(), Some(own))
    }

    fn new(world: &World, id: KeeperId, way: Arc<dyn Way>, own: Option<Own>) -> Self {
        let link = AnyMachine::new(way);
        let keeper = link.keeper(world.keeper().epoch(), PATIENCE);
        let over = CancellationToken::new();
        Self { id, link, own, keeper, over, login: Arc::default(), layout: Arc::default() }
    }

    /// The environment that a login there sets up.
    ///
    /// # Errors
    /// When the machine cannot be used, or its profile ends the shell.
    pub(crate) async fn login(&self) -> Result<Arc<Variables>, EnvironmentError> {
        self.login.get_or_try_init(|| self.link.login_environment()).await.cloned()
    }

    /// What is known of it; asked by way of a task that is to run there, and again whenever the machine was out of reach.
    ///
    /// # Errors
    /// When the machine cannot be reached, or refuses.
    pub(super) async fn layout(&self, task: &TaskId, project: &ProjectId) -> Result<Layout, TransferError> {
        if let Some(known) = locked(&self.layout).clone() {
            return Ok(known);
        }
        // First: whatever else is asked goes over its connection.
        let support = self.keeper.sandbox_support().await?;
        let login = self.login().await.map_err(|error| match error {
            EnvironmentError::Machine(fault) => TransferError::Unreachable(std::io::Error::other(fault)),
            error @ EnvironmentError::NoAnswer { .. } => {
                TransferError::Refused(Refusal::System(error.to_string()))
            }
        })?;
        let standing = self.keeper.far_tree(task.as_str(), project.as_str(), &login).stand().await?;
        let keepers_folder = standing.path.ancestors().nth(3).unwrap_or(&standing.path).to_owned();
        let found = Layout { support, keepers_folder, login };
        *locked(&self.layout) = Some(found.clone());
        Ok(found)
    }

    /// What the machine has for what is forgotten whenever it cannot be reached.
    pub(super) fn forgetful(&self) -> impl Fn() + Send + use<> {
        let layout = Arc::downgrade(&self.layout);
        move || {
            if let Some(layout) = layout.upgrade() {
                *locked(&layout) = None;
            }
        }
    }

    /// Has what the task has of its own made when it is needed and not there, while the answer lives: no worktree is in
    /// it. What kept it from being made before is tried again at once.
    pub(super) async fn allow_making(&self) -> Option<MakingOwn> {
        let making: MakingOwn = match self.own.as_ref()? {
            Own::Container(container) => Box::new(container.allow_making()),
            Own::Job(job) => Box::new(job.allow_making()),
        };
        if !self.link.contact().borrow().is_live() {
            self.link.nudge().await;
        }
        Some(making)
    }

    /// Why it cannot be reached, where that is known.
    pub(crate) fn fault(&self) -> Option<Fault> {
        match &*self.link.contact().borrow() {
            Contact::Unreachable { fault, .. } => Some(fault.clone()),
            Contact::Unknown | Contact::Live { .. } => None,
        }
    }

    pub(crate) fn is_unreachable(&self) -> bool {
        self.fault().is_some()
    }
}

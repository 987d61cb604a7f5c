//! A task's container as an engine has it: the program that runs containers is looked for when somebody needs it, and the
//! container is made only while that is allowed.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use async_trait::async_trait;
use forge_exec::{Command, Exit, Unmarked};
use tokio::sync::OnceCell;

use super::{
    Container, ContainerSetup, Containers, EngineKind, ImageSource,
    engine::{KEEPER, KEEPERS, command},
    verbs::name_of,
};
use crate::{ContainerFault, Fault, KeeperProgram, Sharing, Way, shell};

/// The containers of a machine, opened by whoever needs them first. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Opening {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    setup: ContainerSetup,
    opened: OnceCell<Containers>,
}

impl Opening {
    /// Containers that nobody needs yet.
    #[must_use]
    pub fn new(setup: ContainerSetup) -> Self {
        Self { inner: Arc::new(Inner { setup, opened: OnceCell::new() }) }
    }

    /// The containers. What kept them from being opened is tried again by the next who asks.
    ///
    /// # Errors
    /// As [`Containers::open`].
    pub async fn containers(&self) -> Result<Containers, Fault> {
        let open = || Containers::open(self.inner.setup.clone());
        self.inner.opened.get_or_try_init(open).await.cloned()
    }

    /// The way to the container of a task.
    #[must_use]
    pub fn of_task(&self, task: &str) -> TaskContainer {
        self.of_name(name_of(&self.inner.setup, task), task)
    }

    /// The way to a container that was listed, whichever machine it was made for.
    #[must_use]
    pub fn of_name(&self, name: String, task: &str) -> TaskContainer {
        TaskContainer { opening: self.clone(), task: task.to_owned(), name, makers: AtomicU32::new(0) }
    }
}

/// The way to the container of a task, which is made while somebody [allows](TaskContainer::allow_making) that. At any
/// other time one that is gone is a fault: with it went the worktree.
#[derive(Debug)]
pub struct TaskContainer {
    opening: Opening,
    task: String,
    name: String,
    makers: AtomicU32,
}

/// While it lives, whoever connects to a container makes it when there is none.
#[derive(Debug)]
pub struct Making(Arc<TaskContainer>);

impl Drop for Making {
    fn drop(&mut self) {
        self.0.makers.fetch_sub(1, Ordering::AcqRel);
    }
}

impl TaskContainer {
    /// From now on, whoever connects makes the container when there is none: no worktree is in it.
    #[must_use = "the container is made only while this lives"]
    pub fn allow_making(self: &Arc<Self>) -> Making {
        self.makers.fetch_add(1, Ordering::AcqRel);
        Making(Arc::clone(self))
    }

    /// The containers that it is one of.
    #[must_use]
    pub const fn opening(&self) -> &Opening {
        &self.opening
    }

    /// The most memory that it may take, in MiB.
    #[must_use]
    pub fn memory_mb(&self) -> Option<u32> {
        self.setup().config.memory_mb
    }

    /// What a devcontainer.json has the shell do in a new worktree, in this order; nothing for other images.
    ///
    /// # Errors
    /// When the image cannot be had.
    pub async fn after_create(&self) -> Result<Vec<String>, Fault> {
        if !matches!(self.setup().config.image, ImageSource::Devcontainer(_)) {
            return Ok(Vec::new());
        }
        Ok(self.opening.containers().await?.image().await?.after_create)
    }

    fn setup(&self) -> &ContainerSetup {
        &self.opening.inner.setup
    }

    /// The way to it, once the program that runs it is known.
    fn known(&self) -> Option<Container> {
        let containers = self.opening.inner.opened.get()?;
        Some(Container::new(containers.clone(), self.name.clone()))
    }
}

#[async_trait]
impl Way for TaskContainer {
    fn name(&self) -> &str {
        &self.name
    }

    fn root(&self) -> &str {
        &self.setup().root
    }

    fn keepers(&self) -> &[KeeperProgram] {
        &self.setup().keepers
    }

    async fn prepare(&self) -> Result<(), Fault> {
        let containers = self.opening.containers().await?;
        if self.makers.load(Ordering::Acquire) > 0 {
            return containers.allocate(&self.task).await.map(drop);
        }
        Container::new(containers, self.name.clone()).prepare().await
    }

    fn begin(&self) -> String {
        let setup = self.setup();
        shell::begin_seen(&setup.root, &setup.owner, &setup.keepers, Path::new(KEEPERS), KEEPER)
    }

    fn environment(&self, fence: &str) -> String {
        shell::environment_seen(fence, &self.setup().keepers, Path::new(KEEPERS), KEEPER)
    }

    fn shell(&self, sharing: Sharing<'_>, detailed: bool) -> Command<Unmarked> {
        match self.known() {
            Some(container) => container.shell(sharing, detailed),
            // Nobody has a shell before it is prepared.
            None => command(self.setup(), EngineKind::Podman),
        }
    }

    fn not_started(&self, said: String) -> Fault {
        match self.known() {
            Some(container) => container.not_started(said),
            None => ContainerFault::NoEngine { wanted: "podman or docker".to_owned() }.into(),
        }
    }

    fn is_of_the_way(&self, code: i32) -> bool {
        code != 0
    }

    async fn why_it_ended(&self, exit: Option<Exit>, errors: &str) -> Fault {
        match self.known() {
            Some(container) => container.why_it_ended(exit, errors).await,
            None => self.not_started(errors.to_owned()),
        }
    }
}

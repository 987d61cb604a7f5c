//! The way to the keeper in a container: `exec` of the program that runs it.

use std::{path::Path, time::Duration};

use async_trait::async_trait;
use forge_exec::{Command, Exit, Unmarked};

use super::{
    Look,
    engine::{Containers, KEEPER, KEEPERS},
    program::{fault_of, is_unknown, last_said},
};
use crate::{ContainerFault, Fault, KeeperProgram, Machine, Sharing, Way, shell, shell::MARK};

/// A container that is reached by the program that runs it.
pub type ContainerMachine = Machine<Container>;

/// How long a shell may take to tell a number.
const TELLS_WITHIN: Duration = Duration::from_secs(30);

/// A task's container.
#[derive(Debug, Clone)]
pub struct Container {
    containers: Containers,
    name: String,
}

impl Container {
    pub(super) const fn new(containers: Containers, name: String) -> Self {
        Self { containers, name }
    }

    /// The containers that it is one of.
    #[must_use]
    pub const fn containers(&self) -> &Containers {
        &self.containers
    }

    /// Why it cannot be used as it is; none when it runs.
    async fn trouble(&self) -> Option<ContainerFault> {
        match self.containers.look_at(&self.name).await {
            Ok(Look::Ready) => None,
            Ok(Look::Pending) => {
                Some(ContainerFault::Stopped { name: self.name.clone(), why: "it never started".to_owned() })
            }
            Ok(Look::Stopped { fault } | Look::Gone { fault }) | Err(fault) => Some(fault),
        }
    }
}

impl<W: Way> Machine<W> {
    /// How often the kernel killed something on the machine since it took too much memory, where that is a container or a job. See
    /// [`Containers::memory_kills`].
    ///
    /// # Errors
    /// When the machine cannot be asked.
    pub async fn memory_kills(&self) -> Result<Option<u64>, Fault> {
        let said = self.ask(self.config().memory_kills(), TELLS_WITHIN).await?;
        let said = String::from_utf8_lossy(&said).into_owned();
        let told = said.lines().find_map(|line| line.split_once(MARK)?.1.strip_prefix("oom_kill "));
        Ok(told.and_then(|number| number.trim().parse().ok()))
    }
}

#[async_trait]
impl Way for Container {
    fn name(&self) -> &str {
        &self.name
    }

    fn root(&self) -> &str {
        &self.containers.setup().root
    }

    fn keepers(&self) -> &[KeeperProgram] {
        &self.containers.setup().keepers
    }

    async fn prepare(&self) -> Result<(), Fault> {
        match self.trouble().await {
            None => Ok(()),
            Some(ContainerFault::Stopped { .. } | ContainerFault::OutOfMemory { .. }) => {
                Ok(self.containers.start(&self.name).await?)
            }
            Some(fault) => Err(fault.into()),
        }
    }

    fn begin(&self) -> String {
        let setup = self.containers.setup();
        shell::begin_seen(&setup.root, &setup.owner, &setup.keepers, Path::new(KEEPERS), KEEPER)
    }

    fn environment(&self, fence: &str) -> String {
        shell::environment_seen(fence, &self.containers.setup().keepers, Path::new(KEEPERS), KEEPER)
    }

    fn shell(&self, _: Sharing<'_>, _: bool) -> Command<Unmarked> {
        self.containers.command().args(["exec", "--interactive", &self.name, "sh"])
    }

    fn not_started(&self, _: String) -> Fault {
        ContainerFault::NoEngine { wanted: self.containers.kind().name().to_owned() }.into()
    }

    fn is_of_the_way(&self, code: i32) -> bool {
        // What the shell does ends with 0.
        code != 0
    }

    async fn why_it_ended(&self, exit: Option<Exit>, errors: &str) -> Fault {
        let name = || self.name.clone();
        if let Some(fault) = fault_of(self.containers.kind(), errors) {
            return match fault {
                // What is said in the container is of its own disk.
                ContainerFault::StorageFull { .. } => fault.into(),
                _ if matches!(exit, Some(Exit::Code(125 | 255))) => fault.into(),
                _ => ContainerFault::Disconnected { name: name(), said: last_said(errors) }.into(),
            };
        }
        if is_unknown(errors) {
            return ContainerFault::Gone { name: name() }.into();
        }
        if let Some(fault) = self.trouble().await {
            return fault.into();
        }
        match exit {
            // What the shell does ends with neither.
            Some(Exit::Code(126 | 127)) => Fault::NoProgram { host: name(), program: "sh".to_owned() },
            Some(Exit::Code(0)) => {
                ContainerFault::Disconnected { name: name(), said: "the connection ended".to_owned() }.into()
            }
            Some(Exit::Code(137)) => {
                ContainerFault::Disconnected { name: name(), said: "its relay was killed".to_owned() }.into()
            }
            Some(Exit::Code(1..=124)) => Fault::of_folder(&self.name, self.root(), errors),
            Some(Exit::Code(_)) => {
                ContainerFault::Disconnected { name: name(), said: last_said(errors) }.into()
            }
            _ => {
                let said = format!("{} was stopped", self.containers.kind().name());
                ContainerFault::Disconnected { name: name(), said }.into()
            }
        }
    }
}

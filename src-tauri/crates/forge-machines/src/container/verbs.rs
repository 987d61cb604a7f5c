//! The four verbs, and the list for whoever sweeps.

use std::ffi::OsString;

use serde_json::Value;

use super::{
    Container, ContainerMachine, ContainerSetup, EngineKind, Image, Listed, Look, Mount, Network,
    engine::{Containers, KEEPER, KEEPERS},
    program::{MAKES_WITHIN, TELLS_WITHIN, is_unknown},
    state::{KEEPER_HASH, MACHINE, OWNER, TASK, listed, look_of},
};
use crate::{ContainerFault, Fault, Machine};

/// The most of a task's id in a name.
const ID_IN_NAME: usize = 64;

impl Containers {
    /// The name of a task's container.
    #[must_use]
    pub fn name(&self, task: &str) -> String {
        name_of(self.setup(), task)
    }

    /// Makes sure that a task's container runs: makes it, image included, or starts one that stopped.
    ///
    /// # Errors
    /// When it cannot be had.
    pub async fn allocate(&self, task: &str) -> Result<Image, Fault> {
        let name = self.name(task);
        let _turn = self.turn(&name).await;
        let image = self.image().await?;
        match self.inspected_container(&name).await?.map(|told| look_of(&name, &told)) {
            Some(Look::Ready) => {}
            Some(Look::Stopped { .. }) => match self.start(&name).await {
                Err(ContainerFault::Gone { .. }) => self.make(&name, task, &image).await?,
                started => started?,
            },
            found => {
                if found.is_some() {
                    // Its making was cut short, or its removal was.
                    self.remove(&name).await?;
                }
                self.make(&name, task, &image).await?;
            }
        }
        Ok(image)
    }

    /// How a task's container is.
    ///
    /// # Errors
    /// When that is not known: it says nothing of the container.
    pub async fn look(&self, task: &str) -> Result<Look, Fault> {
        Ok(self.look_at(&self.name(task)).await?)
    }

    /// The same by the container's name.
    ///
    /// # Errors
    /// When that is not known.
    pub async fn look_at_named(&self, name: &str) -> Result<Look, Fault> {
        Ok(self.look_at(name).await?)
    }

    pub(super) async fn look_at(&self, name: &str) -> Result<Look, ContainerFault> {
        let told = self.inspected_container(name).await?;
        let gone = || Look::Gone { fault: ContainerFault::Gone { name: name.to_owned() } };
        Ok(told.map_or_else(gone, |told| look_of(name, &told)))
    }

    /// The way to the keeper in a task's container. Nothing is started until somebody needs it, and nothing is ever
    /// made: that is [`allocate`](Self::allocate).
    #[must_use]
    pub fn machine(&self, task: &str) -> ContainerMachine {
        Machine::new(Container::new(self.clone(), self.name(task)))
    }

    /// Removes a task's container with everything in it. One that is not there is no error.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub async fn release(&self, task: &str) -> Result<(), Fault> {
        self.release_named(&self.name(task)).await
    }

    /// The same by the container's name, for one that was [listed](Self::list).
    ///
    /// # Errors
    /// When it cannot be removed.
    pub async fn release_named(&self, name: &str) -> Result<(), Fault> {
        let _turn = self.turn(name).await;
        Ok(self.remove(name).await?)
    }

    /// All containers of this owner, of every machine that the same program runs.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub async fn list(&self) -> Result<Vec<Listed>, Fault> {
        let filter = format!("label={OWNER}={}", self.setup().owner);
        let arguments = ["ps", "--all", "--quiet", "--no-trunc", "--filter", &filter];
        let done = self.run("list containers", arguments, TELLS_WITHIN).await?;
        let engine = || self.kind().name().to_owned();
        if !done.is_good() {
            return Err(self.fault(&done, |said| ContainerFault::Engine { engine: engine(), said }).into());
        }
        let ids: Vec<&str> = done.out.split_whitespace().collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        // One that went meanwhile is an error, and the others are told all the same.
        let arguments = ["container", "inspect"].into_iter().chain(ids);
        let done = self.run("tell about containers", arguments, TELLS_WITHIN).await?;
        let told: Vec<Value> = serde_json::from_str(&done.out).map_err(|error| ContainerFault::Engine {
            engine: engine(),
            said: format!("what it tells about containers cannot be read ({error})"),
        })?;
        Ok(told.iter().filter_map(listed).collect())
    }

    /// How often the kernel killed something in a task's container since it took too much memory: more often than
    /// before a run that was killed, and the limit was the reason. None where the container does not see that.
    ///
    /// # Errors
    /// When the container cannot be asked.
    pub async fn memory_kills(&self, task: &str) -> Result<Option<u64>, Fault> {
        self.machine(task).memory_kills().await
    }

    async fn inspected_container(&self, name: &str) -> Result<Option<Value>, ContainerFault> {
        let done = self.run("tell about a container", ["container", "inspect", name], TELLS_WITHIN).await?;
        if done.is_good() {
            let told: Vec<Value> = serde_json::from_str(&done.out).unwrap_or_default();
            if let Some(told) = told.into_iter().next() {
                return Ok(Some(told));
            }
        } else if is_unknown(&done.err) {
            return Ok(None);
        }
        let engine = self.kind().name().to_owned();
        Err(self.fault(&done, |said| ContainerFault::Engine { engine, said }))
    }

    /// Starts a container that stopped.
    pub(super) async fn start(&self, name: &str) -> Result<(), ContainerFault> {
        let done = self.run("start a container", ["start", "--", name], MAKES_WITHIN).await?;
        if done.is_good() {
            return Ok(());
        }
        if is_unknown(&done.err) {
            // It was removed since it was looked at.
            return Err(ContainerFault::Gone { name: name.to_owned() });
        }
        Err(self.fault(&done, |said| ContainerFault::NotStarted { name: name.to_owned(), said }))
    }

    async fn make(&self, name: &str, task: &str, image: &Image) -> Result<(), ContainerFault> {
        let done = self.run("make a container", self.making(name, task, image), MAKES_WITHIN).await?;
        if done.is_good() {
            return Ok(());
        }
        // What could not start is there all the same.
        self.remove(name).await?;
        Err(self.fault(&done, |said| ContainerFault::NotStarted { name: name.to_owned(), said }))
    }

    async fn remove(&self, name: &str) -> Result<(), ContainerFault> {
        let mut arguments = vec!["rm", "--force", "--volumes"];
        if self.kind() == EngineKind::Podman {
            // Docker kills without waiting, too.
            arguments.extend(["--time", "0", "--ignore"]);
        }
        arguments.extend(["--", name]);
        let done = self.run("remove a container", arguments, MAKES_WITHIN).await?;
        if done.is_good() || is_unknown(&done.err) {
            return Ok(());
        }
        let engine = self.kind().name().to_owned();
        Err(self.fault(&done, |said| ContainerFault::Engine { engine, said }))
    }

    /// The arguments that make a container.
    fn making(&self, name: &str, task: &str, image: &Image) -> Vec<OsString> {
        let setup = self.setup();
        let config = &setup.config;
        let mut arguments: Vec<OsString> = ["run", "--detach", "--name", name].map(OsString::from).into();
        let mut option = |option: &str, value: &str| {
            arguments.extend([OsString::from(option), OsString::from(value)]);
        };
        for (label, value) in [
            (OWNER, setup.owner.as_str()),
            (MACHINE, &setup.machine),
            (TASK, task),
            (KEEPER_HASH, &image.keeper),
        ] {
            option("--label", &format!("{label}={value}"));
        }
        // It is there, or was pulled.
        option("--pull", "never");
        option("--log-driver", "none");
        match config.network {
            Network::None => option("--network", "none"),
            Network::Host => option("--network", "host"),
            Network::Default => {}
        }
        if let Some(memory) = config.memory_mb {
            option("--memory", &format!("{memory}m"));
            // The same number: without swap.
            option("--memory-swap", &format!("{memory}m"));
        }
        if let Some(cpus) = config.cpus {
            option("--cpus", &format!("{cpus:.2}"));
        }
        if let Some(pids) = config.pids {
            option("--pids-limit", &pids.to_string());
        }
        let user = config.user.as_ref().or(image.user.as_ref());
        if let Some(user) = user {
            option("--user", user);
        }
        if let Some(mapping) = self.mapping(user) {
            option("--userns", &mapping);
        }
        for (name, value) in &image.environment {
            option("--env", &format!("{name}={value}"));
        }
        option("--volume", &format!("{}:{KEEPERS}:ro,z", setup.keepers_folder.display()));
        for mount in &config.mounts {
            option("--mount", &mounting(mount));
        }
        option("--entrypoint", &format!("{KEEPERS}/{}/{KEEPER}", image.keeper));
        arguments.extend([OsString::from("--no-healthcheck"), image.name.clone().into(), "hold".into()]);
        arguments
    }

    /// Without root, a user in the container is somebody else here. One that is given by numbers is made the user that
    /// runs the containers, where something of theirs is mounted.
    fn mapping(&self, user: Option<&String>) -> Option<String> {
        if self.kind() != EngineKind::Podman || !self.is_rootless() || self.setup().config.mounts.is_empty() {
            return None;
        }
        let (uid, gid) = user.map(|user| user.split_once(':').unwrap_or((user, user)))?;
        let (uid, gid) = (uid.parse::<u32>().ok()?, gid.parse::<u32>().ok()?);
        // Root there is the user here anyway.
        (uid != 0).then(|| format!("keep-id:uid={uid},gid={gid}"))
    }
}

/// The name of a task's container. A task that goes from one machine to another has another one there.
pub(super) fn name_of(setup: &ContainerSetup, task: &str) -> String {
    let is_word = |c: &char| c.is_ascii_alphanumeric() || "-_.".contains(*c);
    let part = |text: &str| text.chars().filter(is_word).take(ID_IN_NAME).collect::<String>();
    format!("forge-{}-{}-{}", setup.owner, part(&setup.machine), part(task))
}

fn mounting(mount: &Mount) -> String {
    let Mount { source, target, read_only } = mount;
    let read_only = if *read_only { ",readonly" } else { "" };
    format!("type=bind,source={},target={}{read_only}", source.display(), target.display())
}

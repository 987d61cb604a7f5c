//! What keeps a container from being made or used: each fault in one sentence, with what a person can do about it.

use crate::StepName;

/// Why a container cannot be made or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContainerFault {
    /// No program that runs containers is installed.
    #[error("Could not find {wanted} on this computer.")]
    NoEngine {
        /// Which ones would do.
        wanted: String,
    },
    /// It does not answer as it should.
    #[error("Could not use {engine}: {said}.")]
    Engine {
        /// The program.
        engine: String,
        /// What it said.
        said: String,
    },
    /// It does not answer in time.
    #[error("Could not use {engine}: it did not {what} within {seconds} s.")]
    TimedOut {
        /// The program.
        engine: String,
        /// What it was to do.
        what: String,
        /// How long it had.
        seconds: u64,
    },
    /// The user may not have users of their own in containers.
    #[error("Could not run containers without root: {said}.")]
    Rootless {
        /// What is missing.
        said: String,
    },
    /// A limit would not be kept to.
    #[error("Could not limit {what}: {engine} cannot enforce that here ({why}).")]
    NoLimit {
        /// The program.
        engine: String,
        /// What was to be limited.
        what: String,
        /// Why it cannot.
        why: String,
    },
    /// There is no such image.
    #[error("Could not find the image {image}: {said}.")]
    ImageNotFound {
        /// Its name.
        image: String,
        /// What was said.
        said: String,
    },
    /// The folder that an image is built from cannot be used.
    #[error("Could not build an image from {file}: {said}.")]
    Source {
        /// The file.
        file: String,
        /// Why.
        said: String,
    },
    /// The build failed.
    #[error("Could not build an image from {file}: the build failed.\n{last_lines}")]
    Build {
        /// The file.
        file: String,
        /// What was printed last.
        last_lines: String,
    },
    /// The image is for another kind of machine.
    #[error(
        "Could not use the image {image}: it is for {architecture}, and Forge has a keeper only for {have}."
    )]
    Architecture {
        /// Its name.
        image: String,
        /// What it is for.
        architecture: String,
        /// What there is a keeper for.
        have: String,
    },
    /// The container did not start.
    #[error("Could not start the container {name}: {said}.")]
    NotStarted {
        /// Its name.
        name: String,
        /// What was said.
        said: String,
    },
    /// There is no such container any more.
    #[error("Could not find the container {name}: it was removed together with its worktree.")]
    Gone {
        /// Its name.
        name: String,
    },
    /// It stopped.
    #[error("Could not stay connected to the container {name}: it stopped ({why}).")]
    Stopped {
        /// Its name.
        name: String,
        /// Why.
        why: String,
    },
    /// It was killed since it took too much memory.
    #[error("Could not stay connected to the container {name}: it was killed at its memory limit{}.", limit_mb.map(|mb| format!(" of {mb} MiB")).unwrap_or_default())]
    OutOfMemory {
        /// Its name.
        name: String,
        /// The limit, where one was set.
        limit_mb: Option<u32>,
    },
    /// The connection ended while the container goes on.
    #[error("Could not stay connected to the container {name}: {said}.")]
    Disconnected {
        /// Its name.
        name: String,
        /// What was said.
        said: String,
    },
    /// The disk that containers and images are on is full.
    #[error("Could not write to the storage of {engine} on this computer: the disk is full.")]
    StorageFull {
        /// The program.
        engine: String,
    },
    /// The keeper cannot be put where containers see it.
    #[error("Could not copy the keeper into {folder}: {said}.")]
    KeeperFolder {
        /// The folder.
        folder: String,
        /// Why.
        said: String,
    },
    /// What would build a devcontainer is missing.
    #[error("Could not find `{program}` on this computer, which builds images from a devcontainer.json.")]
    NoDevcontainer {
        /// The program.
        program: String,
    },
}

impl ContainerFault {
    /// What a person can do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::NoEngine { .. } => "Install podman, or docker.".to_owned(),
            Self::Engine { engine, .. } => format!(
                "Check that `{engine} info` works in a terminal: that its service is running, and that you are allowed to use it."
            ),
            Self::TimedOut { .. } => {
                "Try again. If it happens again, check the load of this computer and its network.".to_owned()
            }
            Self::Rootless { .. } => "Install `newuidmap` (the package `uidmap` or `shadow-utils`), and have an administrator run \
                 `usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER`."
                .to_owned(),
            Self::NoLimit { .. } => {
                "Remove the limit from the machine, run the containers as root, or start this computer with cgroups version 2, with its controllers delegated to the user."
                    .to_owned()
            }
            Self::ImageNotFound { .. } => {
                "Check the spelling of the image's name, that its registry is reachable, and that you are signed in there.".to_owned()
            }
            Self::Source { .. } => "Correct the file, or choose another one.".to_owned(),
            Self::Build { .. } => "Correct the file according to the output of the build.".to_owned(),
            Self::Architecture { .. } => "Use an image for a supported architecture.".to_owned(),
            Self::NotStarted { .. } => {
                "Correct the machine's image, user, mounts or network as the message says.".to_owned()
            }
            Self::Gone { .. } => "Start the task over: it gets a new container.".to_owned(),
            Self::Stopped { .. } => "Try again: the container is started, and its files are there.".to_owned(),
            Self::OutOfMemory { .. } => "Raise the machine's memory limit, or make the task use less at once.".to_owned(),
            Self::Disconnected { .. } => "Try again. If it happens again, check the container's processes.".to_owned(),
            Self::StorageFull { engine } => {
                format!("Free space on this computer, for example by `{engine} image prune`.")
            }
            Self::KeeperFolder { .. } => "Make sure that Forge can write to the folder.".to_owned(),
            Self::NoDevcontainer { .. } => "Run `npm install --global @devcontainers/cli`.".to_owned(),
        }
    }

    /// Whether time alone may mend it.
    pub(crate) const fn is_passing(&self) -> bool {
        match self {
            Self::Engine { .. }
            | Self::TimedOut { .. }
            | Self::Stopped { .. }
            | Self::OutOfMemory { .. }
            | Self::Disconnected { .. }
            | Self::StorageFull { .. } => true,
            Self::NoEngine { .. }
            | Self::Rootless { .. }
            | Self::NoLimit { .. }
            | Self::ImageNotFound { .. }
            | Self::Source { .. }
            | Self::Build { .. }
            | Self::Architecture { .. }
            | Self::NotStarted { .. }
            | Self::Gone { .. }
            | Self::KeeperFolder { .. }
            | Self::NoDevcontainer { .. } => false,
        }
    }

    /// Whether it is one of a single container: others of the same machine may be made and used.
    pub(crate) const fn is_of_one(&self) -> bool {
        matches!(
            self,
            Self::Gone { .. } | Self::Stopped { .. } | Self::OutOfMemory { .. } | Self::Disconnected { .. }
        )
    }

    /// Which step of a test it ends.
    pub(crate) const fn step(&self) -> StepName {
        match self {
            Self::NoEngine { .. } | Self::Engine { .. } | Self::TimedOut { .. } | Self::Rootless { .. } => {
                StepName::ContainerEngine
            }
            Self::NoLimit { .. } => StepName::Limits,
            Self::ImageNotFound { .. }
            | Self::Source { .. }
            | Self::Build { .. }
            | Self::Architecture { .. }
            | Self::NoDevcontainer { .. } => StepName::Image,
            Self::NotStarted { .. }
            | Self::Gone { .. }
            | Self::Stopped { .. }
            | Self::OutOfMemory { .. }
            | Self::StorageFull { .. } => StepName::Container,
            Self::Disconnected { .. } | Self::KeeperFolder { .. } => StepName::Keeper,
        }
    }
}

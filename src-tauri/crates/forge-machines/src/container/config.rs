//! How containers are made, and what is needed here for that.

use std::{ffi::OsString, path::PathBuf, sync::Arc};

use forge_exec::Variables;
use serde::{Deserialize, Serialize};

use crate::KeeperProgram;

/// A program that runs containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// podman, which needs no service and no root.
    Podman,
    /// docker.
    Docker,
}

impl EngineKind {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Podman => "podman",
            Self::Docker => "docker",
        }
    }
}

/// Which program runs the containers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineChoice {
    /// The first one that can be used: podman, else docker.
    #[default]
    Auto,
    /// podman.
    Podman,
    /// docker.
    Docker,
}

/// Where the image comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageSource {
    /// A name: it is pulled when it is not there.
    Named(String),
    /// A `Containerfile`, built with its folder as context.
    Containerfile(PathBuf),
    /// A `devcontainer.json`, built by the devcontainer CLI.
    Devcontainer(PathBuf),
}

/// What a container can reach.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Nothing.
    None,
    /// Everything that this computer can reach, and its own services.
    Host,
    /// What the program that runs containers provides when nothing is said.
    #[default]
    Default,
}

/// A folder or file of this computer in a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// The path here.
    pub source: PathBuf,
    /// The path there.
    pub target: PathBuf,
    /// Whether it cannot be written to there.
    pub read_only: bool,
}

/// How containers are made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContainerConfig {
    /// Program that runs them.
    pub engine: EngineChoice,
    /// What they are made from.
    pub image: ImageSource,
    /// What they reach.
    pub network: Network,
    /// The most memory, in MiB, swap included.
    pub memory_mb: Option<u32>,
    /// The most processor time, in processors.
    pub cpus: Option<f64>,
    /// The most processes and threads.
    pub pids: Option<u32>,
    /// What they see of this computer.
    pub mounts: Vec<Mount>,
    /// The user there: a name of the image, or numbers. Without root on this computer, numbers are also the user here, as
    /// far as mounts are concerned.
    pub user: Option<String>,
}

impl ContainerConfig {
    /// Containers of an image, without limits.
    #[must_use]
    pub const fn of(image: ImageSource) -> Self {
        Self {
            engine: EngineChoice::Auto,
            image,
            network: Network::Default,
            memory_mb: None,
            cpus: None,
            pids: None,
            mounts: Vec::new(),
            user: None,
        }
    }
}

/// The programs that are started here, by name or path.
#[derive(Debug, Clone)]
pub struct Programs {
    /// podman.
    pub podman: OsString,
    /// docker.
    pub docker: OsString,
    /// The devcontainer CLI, `@devcontainers/cli` of npm.
    pub devcontainer: OsString,
}

impl Default for Programs {
    fn default() -> Self {
        Self { podman: "podman".into(), docker: "docker".into(), devcontainer: "devcontainer".into() }
    }
}

/// The containers of one machine, and what is needed here to make them.
#[derive(Debug, Clone)]
pub struct ContainerSetup {
    /// How they are made.
    pub config: ContainerConfig,
    /// The folder there that holds everything of Forge; one that begins with `~/` lies in the user's home there.
    pub root: String,
    /// Whose containers they are: engines with data of their own have containers of their own. Letters, digits and `-`.
    pub owner: String,
    /// Which machine of the owner it is, for whoever lists them.
    pub machine: String,
    /// The keeper, for each kind of image that there is one for.
    pub keepers: Vec<KeeperProgram>,
    /// A folder here for keepers, by the hash of their content. Containers see it read-only. Its path, and its files,
    /// can be read by whoever runs the containers.
    pub keepers_folder: PathBuf,
    /// The programs that are started.
    pub programs: Programs,
    /// What they find in their environment.
    pub environment: Arc<Variables>,
}

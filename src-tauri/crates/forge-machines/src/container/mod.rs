//! Machines that are containers of podman or docker: one for each task, removed with its worktree.
//!
//! [`Containers`] has the four verbs, each of which may be repeated and cut short anywhere: [`allocate`] makes sure that
//! the image and the task's container are there, [`look`] says how the container is, a [`ContainerMachine`] connects to
//! the keeper in it, and [`release`] removes it. [`list`] finds all containers of an owner, for whoever sweeps.
//!
//! An engine has a [`TaskContainer`] for each task, which opens and allocates when it is needed ([`Opening`]).
//!
//! The image is a named one, or is built once for each content of its folder, from a Containerfile or by the devcontainer
//! CLI. A container needs little of it: `sh` and git with its libraries, and what the agent itself needs. The keeper and
//! the first process, which holds the container, are the one static program, seen read-only by all containers.
//!
//! Invariants:
//! - A container is told from others by its labels and its name, which follow from owner and task.
//! - A container that is gone is never made again by connecting: with it went the worktree. One that stopped is started.
//! - No container is privileged, sees a file of the user's or a socket, or has more capabilities than usual, but for the
//!   mounts that a person configured. What a devcontainer.json asks for beyond that is left out and told
//!   ([`Image::ignored`]).
//! - A limit that cannot be kept to is refused, not dropped: rootless podman has none where cgroups are those of version 1.
//! - What a memory limit killed is told: by the end of the container, or by [`memory_kills`], which counts for a container
//!   that goes on.
//!
//! [`allocate`]: Containers::allocate
//! [`look`]: Containers::look
//! [`release`]: Containers::release
//! [`list`]: Containers::list
//! [`memory_kills`]: Containers::memory_kills

mod config;
mod content;
mod devcontainer;
mod engine;
mod examine;
mod image;
mod program;
mod state;
mod task;
mod verbs;
mod way;

pub use config::{
    ContainerConfig, ContainerSetup, EngineChoice, EngineKind, ImageSource, Mount, Network, Programs,
};
pub use engine::Containers;
pub use image::Image;
pub use state::{Listed, Look};
pub use task::{Making, Opening, TaskContainer};
pub use way::{Container, ContainerMachine};

//! Hermetic sandboxes for tests across crates.
//!
//! A [`Sandbox`] is a temporary folder with a git repository and an engine on it: real git, real SQLite,
//! real processes, a scripted agent. Nothing of the user's configuration reaches it. [`fault`] ends the
//! process at a named fault point, for tests of what a kill leaves behind. [`serve`] starts the engine as a process of
//! its own, which [`client`] asks over HTTP. [`hosts`] has a code
//! host that takes pushes and pull requests, [`models`] a model server that plays scripts to real agent programs.

pub mod client;
pub mod fault;
pub mod hosts;
pub mod models;
mod programs;
mod repository;
mod sandbox;
pub mod serve;

pub use programs::program;
pub use repository::{HERMETIC_GIT, Repository};
pub use sandbox::{Sandbox, script};

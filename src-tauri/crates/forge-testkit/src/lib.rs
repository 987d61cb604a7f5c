//! Hermetic sandboxes for tests across crates.
//!
//! A [`Sandbox`] is a temporary folder with a git repository and an engine on it: real git, real SQLite,
//! real processes, a scripted agent. Nothing of the user's configuration reaches it. [`fault`] ends the
//! process at a named fault point, for tests of what a kill leaves behind. A [`Board`] has a project and an agent on an
//! engine that runs in the test's own process ([`LocalEngine`]) or as a `forge serve` ([`serve`]); a [`Caller`] speaks to
//! both. [`hosts`] has a code host that takes pushes and pull requests, [`models`] a model server that plays scripts to
//! real agent programs.

pub mod board;
pub mod caller;
pub mod fault;
pub mod folder;
pub mod hosts;
mod local;
pub mod models;
mod programs;
mod repository;
mod sandbox;
pub mod serve;

pub use board::Board;
pub use caller::Caller;
pub use folder::{Folder, lasting_folder};
pub use local::LocalEngine;
pub use programs::{keeper, keeper_program, program};
pub use repository::{HERMETIC_GIT, Repository};
pub use sandbox::{Sandbox, script};

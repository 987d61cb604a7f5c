//! The public methods of the engine: one for each thing that is asked of it, which calls the feature that does it.
//!
//! Absent: logic.

mod cost;
#[cfg(feature = "fix")]
mod fix;
mod hook;
mod issue;
#[cfg(feature = "knowledge")]
mod knowledge;
mod machine;
mod merge;
mod program;
mod project;
mod pull_request;
#[cfg(feature = "race")]
mod race;
mod read;
mod review;
mod run;
mod service;
mod shared;
mod storage;
mod task;
mod terminal;
#[cfg(feature = "validate")]
mod validate;
mod workspace;

use std::path::Path;

use forge_model::time::Timestamp;

use crate::World;

/// The engine of one data folder. Cheap to clone; all clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    pub(crate) world: World,
}

impl Engine {
    /// Where everything that lasts lives.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        self.world.data_dir()
    }

    /// The engine's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.world.now()
    }
}

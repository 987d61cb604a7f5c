//! What a project has learned.

use super::{End, Stepping};
use crate::{Engine, error::Result};

impl Engine {
    /// Gives the agent that is about to be started what fits its task.
    pub(super) async fn inject_knowledge(&self, _: &Stepping) -> Result<End> {
        Ok(End::skipped("no knowledge is kept for this project"))
    }

    /// Keeps what the finished task taught.
    pub(super) async fn capture_knowledge(&self, _: &Stepping) -> Result<End> {
        Ok(End::skipped("no lesson was proposed"))
    }
}

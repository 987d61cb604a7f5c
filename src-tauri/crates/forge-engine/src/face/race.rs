//! Public methods of [`Engine`] for races.

use forge_model::ids::ProjectId;
use forge_model::ids::TaskId;
use forge_model::inner_loop::Strategy;
use forge_model::race::Race;
use forge_model::race::RaceEstimate;

use crate::{Engine, error::Result, race};

impl Engine {
    /// What a race of a task is likely to cost. `names` says which strategies; else all that would race.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` for a name that no strategy has.
    pub async fn race_estimate(&self, id: &TaskId, names: Option<&[String]>) -> Result<RaceEstimate> {
        race::estimate::race_estimate(&self.world, id, names).await
    }

    /// The same for a task that is not made yet: with these strategies, or as the project says.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn project_race_estimate(
        &self,
        id: &ProjectId,
        strategies: Option<Vec<Strategy>>,
    ) -> Result<RaceEstimate> {
        race::estimate::project_race_estimate(&self.world, id, strategies).await
    }

    /// Every race of a task, oldest first; of one that runs, entries are told as they are now.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn races(&self, id: &TaskId) -> Result<Vec<Race>> {
        race::races(&self.world, id).await
    }
}

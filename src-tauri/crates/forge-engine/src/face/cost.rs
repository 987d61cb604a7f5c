//! Public methods of [`Engine`] for costs.

use forge_model::cost::CostAnomalyEntry;
use forge_model::cost::CostForecast;
use forge_model::cost::CostSeries;
use forge_model::cost::CostTotals;
use forge_model::ids::{ProjectId, TaskId};
use forge_model::scoreboard::{ScoreGroup, Scoreboard};
use forge_store::table::ledger::CostFilter;

use crate::{
    Engine,
    cost::{self, CostCsvPage, CostPage},
    error::Result,
};

impl Engine {
    /// A page of the ledger: every run of an agent that is over.
    ///
    /// # Errors
    /// `Invalid` for a cursor that no page gave.
    pub async fn cost_ledger(
        &self,
        filter: &CostFilter,
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<CostPage> {
        cost::cost_ledger(&self.world, filter, cursor, limit).await
    }

    /// A page of the ledger as lines of comma-separated values.
    ///
    /// # Errors
    /// As [`Engine::cost_ledger`].
    pub async fn cost_csv(
        &self,
        filter: &CostFilter,
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<CostCsvPage> {
        cost::cost_csv(&self.world, filter, cursor, limit).await
    }

    /// Sums over the runs of a time.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn cost_totals(&self, filter: &CostFilter) -> Result<CostTotals> {
        cost::cost_totals(&self.world, filter).await
    }

    /// The course of what coder runs cost, with no more points than can be seen.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn cost_series(&self, filter: &CostFilter) -> Result<CostSeries> {
        cost::cost_series(&self.world, filter).await
    }

    /// What a project's runs of today cost, and will have cost at the end of the day at the pace of the last hours.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn cost_forecast(&self, project: &ProjectId) -> Result<CostForecast> {
        cost::cost_forecast(&self.world, project).await
    }

    /// Anomalies, the latest first; of one task, if one is named.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn cost_anomalies(
        &self,
        filter: &CostFilter,
        task: Option<&TaskId>,
        limit: u32,
    ) -> Result<Vec<CostAnomalyEntry>> {
        cost::cost_anomalies(&self.world, filter, task, limit).await
    }

    /// What the work of agents came to that ended in a time.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn scoreboard(&self, filter: &CostFilter, by: ScoreGroup) -> Result<Scoreboard> {
        cost::score::scoreboard(&self.world, filter, by).await
    }

    /// The lines of the scoreboard as comma-separated values.
    ///
    /// # Errors
    /// As [`Engine::scoreboard`].
    pub async fn scoreboard_csv(&self, filter: &CostFilter, by: ScoreGroup) -> Result<String> {
        cost::score::scoreboard_csv(&self.world, filter, by).await
    }
}

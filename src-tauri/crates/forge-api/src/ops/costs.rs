//! Costs of runs.

use forge_model::actor::Actor;
use forge_model::cost::{
    CostAnomalyEntry, CostForecast, CostGroup, CostRow, CostSeries, CostSum, CostTotals,
};
use forge_model::ids::{ProjectId, TaskId};
use forge_model::inner_loop::Strategy;
use forge_model::race::RaceEstimate;
use forge_model::scoreboard::{ScoreGroup, Scoreboard};
use forge_model::time::Timestamp;
use forge_store::table::ledger::CostFilter;

use super::{Page, answer, input, limit, projects::ProjectPath};
use crate::{Api, ApiError, paging::PageRange};

input! {
    /// Runs of a period.
    pub struct CostsOf {
        /// Only this project.
        #[serde(default)]
        pub project: Option<ProjectId>,
        /// Only runs that ended at or after this time.
        #[serde(default)]
        pub since: Option<Timestamp>,
        /// Only runs that ended before this time.
        #[serde(default)]
        pub until: Option<Timestamp>,
    }

    /// Totals of one kind over the runs of a period.
    pub struct CostsBy {
        /// What to group by; days when absent.
        #[serde(default)]
        pub by: CostGroup,
        /// Only this project.
        #[serde(default)]
        pub project: Option<ProjectId>,
        /// Only runs that ended at or after this time.
        #[serde(default)]
        pub since: Option<Timestamp>,
        /// Only runs that ended before this time.
        #[serde(default)]
        pub until: Option<Timestamp>,
    }

    /// Results of agents in a period.
    pub struct ScoreboardOf {
        /// What to group by; agents when absent.
        #[serde(default)]
        pub by: ScoreGroup,
        /// Only this project.
        #[serde(default)]
        pub project: Option<ProjectId>,
        /// Only work whose last run ended at or after this time.
        #[serde(default)]
        pub since: Option<Timestamp>,
        /// Only work whose last run ended before this time.
        #[serde(default)]
        pub until: Option<Timestamp>,
    }

    /// A page of the runs of a period.
    pub struct ListCosts {
        /// Only this project.
        #[serde(default)]
        pub project: Option<ProjectId>,
        /// Only runs that ended at or after this time.
        #[serde(default)]
        pub since: Option<Timestamp>,
        /// Only runs that ended before this time.
        #[serde(default)]
        pub until: Option<Timestamp>,
        /// Page size, 1 to 200; 50 when absent.
        #[serde(default)]
        pub limit: Option<u32>,
        /// Cursor from the previous page's `next_cursor`.
        #[serde(default)]
        pub cursor: Option<String>,
    }

    /// Which anomalies to list.
    pub struct ListAnomalies {
        /// Only this project.
        #[serde(default)]
        pub project: Option<ProjectId>,
        /// Only this task.
        #[serde(default)]
        pub task_id: Option<TaskId>,
        /// Only anomalies found at or after this time.
        #[serde(default)]
        pub since: Option<Timestamp>,
        /// Only anomalies found before this time.
        #[serde(default)]
        pub until: Option<Timestamp>,
        /// Page size, 1 to 200; 50 when absent.
        #[serde(default)]
        pub limit: Option<u32>,
        /// Cursor from the previous page's `next_cursor`.
        #[serde(default)]
        pub cursor: Option<String>,
    }

    /// The race to estimate.
    pub struct EstimateRace {
        /// The task.
        pub task_id: TaskId,
        /// Names of strategies; those of the task when absent.
        #[serde(default)]
        pub strategies: Option<Vec<String>>,
    }

    /// The race of a task that does not exist yet.
    pub struct EstimateNewRace {
        /// The project.
        pub project_id: ProjectId,
        /// The strategies; the project's when absent.
        #[serde(default)]
        pub strategies: Option<Vec<Strategy>>,
    }
}

answer! {
    /// A page of a table as comma-separated values.
    pub struct CsvPage {
        /// Complete lines; the first page begins with the header line.
        pub text: String,
        /// Cursor of the next page; null on the last page.
        pub next_cursor: Option<String>,
    }
}

impl ScoreboardOf {
    fn filter(self) -> CostFilter {
        CostFilter { project: self.project, since: self.since, until: self.until }
    }
}

impl From<CostsOf> for CostFilter {
    fn from(of: CostsOf) -> Self {
        Self { project: of.project, since: of.since, until: of.until }
    }
}

impl ListCosts {
    fn filter(&self) -> CostFilter {
        CostFilter { project: self.project.clone(), since: self.since, until: self.until }
    }
}

pub(crate) async fn ledger(api: Api, _: Actor, list: ListCosts) -> Result<Page<CostRow>, ApiError> {
    let limit = limit(list.limit)?;
    let page = api.engine().cost_ledger(&list.filter(), list.cursor.as_deref(), limit).await?;
    Ok(Page { items: page.items, next_cursor: page.next_cursor })
}

pub(crate) async fn csv(api: Api, _: Actor, list: ListCosts) -> Result<CsvPage, ApiError> {
    let limit = limit(list.limit)?;
    let page = api.engine().cost_csv(&list.filter(), list.cursor.as_deref(), limit).await?;
    Ok(CsvPage { text: page.text, next_cursor: page.next_cursor })
}

/// One list of the totals.
pub(crate) async fn sums(api: Api, _: Actor, of: CostsBy) -> Result<Page<CostSum>, ApiError> {
    let filter = CostFilter { project: of.project, since: of.since, until: of.until };
    let totals = api.engine().cost_totals(&filter).await?;
    Ok(Page::whole(match of.by {
        CostGroup::Day => totals.days,
        CostGroup::Project => totals.projects,
        CostGroup::Task => totals.tasks,
        CostGroup::Agent => totals.agents,
        CostGroup::Model => totals.models,
    }))
}

pub(crate) async fn totals(api: Api, _: Actor, of: CostsOf) -> Result<CostTotals, ApiError> {
    Ok(api.engine().cost_totals(&of.into()).await?)
}

pub(crate) async fn series(api: Api, _: Actor, of: CostsOf) -> Result<CostSeries, ApiError> {
    Ok(api.engine().cost_series(&of.into()).await?)
}

pub(crate) async fn anomalies(
    api: Api,
    _: Actor,
    list: ListAnomalies,
) -> Result<Page<CostAnomalyEntry>, ApiError> {
    let range = PageRange::asked(list.limit, list.cursor.as_deref())?;
    let filter = CostFilter { project: list.project, since: list.since, until: list.until };
    Ok(range.of(api.engine().cost_anomalies(&filter, list.task_id.as_ref(), range.reach()).await?))
}

pub(crate) async fn scoreboard(api: Api, _: Actor, of: ScoreboardOf) -> Result<Scoreboard, ApiError> {
    let by = of.by;
    Ok(api.engine().scoreboard(&of.filter(), by).await?)
}

pub(crate) async fn scoreboard_csv(api: Api, _: Actor, of: ScoreboardOf) -> Result<CsvPage, ApiError> {
    let by = of.by;
    Ok(CsvPage { text: api.engine().scoreboard_csv(&of.filter(), by).await?, next_cursor: None })
}

pub(crate) async fn race_estimate(api: Api, _: Actor, of: EstimateRace) -> Result<RaceEstimate, ApiError> {
    Ok(api.engine().race_estimate(&of.task_id, of.strategies.as_deref()).await?)
}

pub(crate) async fn new_race_estimate(
    api: Api,
    _: Actor,
    of: EstimateNewRace,
) -> Result<RaceEstimate, ApiError> {
    Ok(api.engine().project_race_estimate(&of.project_id, of.strategies).await?)
}

pub(crate) async fn forecast(api: Api, _: Actor, path: ProjectPath) -> Result<CostForecast, ApiError> {
    Ok(api.engine().cost_forecast(&path.project_id).await?)
}

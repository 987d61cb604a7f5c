//! The cost ledger: what every run cost, sums of it, the course of it, and what was out of the ordinary.
//!
//! What nobody knows stays unknown: it is counted, never taken for zero. A reported cost is what the agent's program
//! said; a computed one is what its tokens would cost by list price, whether or not somebody pays that.

use crate::{
    contract,
    execution::{CostSource, ExecutionRole, ExecutionStatus, Usage},
    ids::{AgentId, ExecutionId, ProjectId, TaskId},
    names,
    time::Timestamp,
    usage::{MAX_FIGURE, UsageSample},
};

names! {
    /// Grouping of a cost total.
    #[derive(Default)]
    pub enum CostGroup {
        /// A day in this computer's time zone.
        #[default]
        Day = "day",
        /// A project.
        Project = "project",
        /// A task.
        Task = "task",
        /// An agent.
        Agent = "agent",
        /// A model.
        Model = "model",
    }
}

contract! {
    /// What a project's runs of today cost, and what they will have cost at the end of the day at the pace of the last hours.
    #[derive(Eq)]
    pub struct CostForecast {
        /// Cost of the runs that began today, in micro-dollars, as far as it is known.
        #[specta(type = u32)]
        pub today_micro_usd: u64,
        /// Cost at the end of the day; null right after the day began.
        #[specta(type = Option<u32>)]
        pub day_end_micro_usd: Option<u64>,
        /// The project's limit for a day.
        #[specta(type = Option<u32>)]
        pub limit_micro_usd: Option<u64>,
        /// When the limit will be reached, if that is before the end of the day.
        pub reaches_limit_at: Option<Timestamp>,
        /// End of the day.
        pub day_ends_at: Timestamp,
    }

    /// Tokens by class.
    #[derive(Default, Eq)]
    #[serde(rename_all = "camelCase")]
    pub struct CostTokens {
        /// Input not served from a cache.
        #[specta(type = u32)]
        pub input: u64,
        /// Input read from a cache.
        #[specta(type = u32)]
        pub cache_read: u64,
        /// Input written to a cache.
        #[specta(type = u32)]
        pub cache_write: u64,
        /// Output, including reasoning.
        #[specta(type = u32)]
        pub output: u64,
        /// The part of the output that was reasoning.
        #[specta(type = u32)]
        pub reasoning: u64,
    }

    /// A coder run of unusually high cost, as detected when it ended. Later runs do not change it.
    #[serde(rename_all = "camelCase")]
    pub struct CostAnomalyRecord {
        /// When it was detected.
        pub at: Timestamp,
        /// The task; of a race's entry, the raced one.
        pub task_id: TaskId,
        /// The run; the last one if it was restarted automatically.
        pub execution_id: ExecutionId,
        /// The task's title.
        pub title: String,
        /// Which entry of a race it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub strategy: Option<String>,
        /// The model that was used.
        pub model: String,
        /// Cost in micro-dollars, including its restarts.
        #[specta(type = u32)]
        pub cost_micro_usd: u64,
        /// The median that it was compared with, in micro-dollars; may have a half.
        #[specta(type = u32)]
        pub median_micro_usd: f64,
        /// Cost as a multiple of the median.
        #[specta(type = u32)]
        pub ratio: f64,
        /// Multiple of the median above which a run is flagged.
        #[specta(type = u32)]
        pub threshold: f64,
        /// Number of runs for the median.
        pub samples: u32,
        /// Its usage.
        pub tokens: CostTokens,
        /// Its runs, including restarts.
        pub attempts: u32,
    }

    /// An anomaly with where it belongs.
    pub struct CostAnomalyEntry {
        /// The project.
        pub project_id: ProjectId,
        /// Its name.
        pub project_name: String,
        /// The task's number.
        pub task_number: u32,
        /// What was found.
        pub record: CostAnomalyRecord,
    }

    /// A row of the ledger: one ended run of an agent.
    pub struct CostRow {
        /// The run.
        pub execution_id: ExecutionId,
        /// The task that it is counted to; of a race's entry, the raced one.
        pub task_id: TaskId,
        /// Its number.
        pub task_number: u32,
        /// Its title.
        pub task_title: String,
        /// The project.
        pub project_id: ProjectId,
        /// Its name.
        pub project_name: String,
        /// Purpose.
        pub role: ExecutionRole,
        /// The agent.
        pub agent_id: AgentId,
        /// Its name.
        pub agent_name: String,
        /// The model; if there were several, the one with the highest cost. Null if the program named none.
        pub model: Option<String>,
        /// Number of models used.
        pub models: u32,
        /// Which entry of a race it was.
        pub strategy: Option<String>,
        /// Whether that entry won; null before the decision and outside of races.
        pub race_won: Option<bool>,
        /// How it ended.
        pub status: ExecutionStatus,
        /// Which run of the task in its role, from 1.
        pub attempt: u32,
        /// Whether it automatically continued the work of an interrupted run.
        pub is_restart: bool,
        /// When it ended.
        pub ended_at: Timestamp,
        /// Cost in micro-dollars; null if unknown.
        #[specta(type = Option<u32>)]
        pub cost_micro_usd: Option<u64>,
        /// Source of that number.
        pub cost_source: CostSource,
        /// The price data of a computed cost.
        pub price_version: Option<String>,
        /// Its usage.
        pub tokens: CostTokens,
        /// Whether its cost was an anomaly.
        pub is_anomaly: bool,
    }

    /// A total over runs.
    #[derive(Default)]
    pub struct CostSum {
        /// Group of the runs: a day (`2026-01-31`), an id, or a model.
        pub key: String,
        /// Name of the group for people.
        pub label: String,
        /// The project, if the group is a task.
        pub project_id: Option<ProjectId>,
        /// The task's number, if the group is a task.
        pub task_number: Option<u32>,
        /// The known cost, in micro-dollars.
        #[specta(type = u32)]
        pub cost_micro_usd: u64,
        /// The part of it estimated from list prices, in micro-dollars.
        #[specta(type = u32)]
        pub list_price_micro_usd: u64,
        /// How many runs.
        pub runs: u32,
        /// How many of them have an unknown cost.
        pub unknown: u32,
        /// Their usage.
        pub tokens: CostTokens,
        /// Share of all input served from a cache, 0 to 1; null without input.
        pub cached_share: Option<f64>,
    }

    /// Totals over the runs of a period.
    pub struct CostTotals {
        /// Over all of them.
        pub all: CostSum,
        /// By the day on which they ended, in this computer's time zone; latest first.
        pub days: Vec<CostSum>,
        /// By project, highest cost first.
        pub projects: Vec<CostSum>,
        /// By task, highest cost first.
        pub tasks: Vec<CostSum>,
        /// By agent, highest cost first.
        pub agents: Vec<CostSum>,
        /// By model, highest cost first; a run with several models counts for each.
        pub models: Vec<CostSum>,
        /// Number of totals left off the longest list.
        pub left_off: u32,
    }

    /// What coder runs of one model in one project cost, in the order in which they ended. All lists have the same
    /// length: an element of each makes a run. Runs of unknown cost have none.
    #[derive(Default)]
    pub struct CostLine {
        /// The project.
        pub project_id: String,
        /// Its name.
        pub project_name: String,
        /// The model; empty if the program named none.
        pub model: String,
        /// Number of runs of known cost, including those left off.
        pub samples: u32,
        /// Number of runs of unknown cost.
        pub unknown: u32,
        /// When each ended, in milliseconds since 1970.
        #[specta(type = Vec<u32>)]
        pub at_ms: Vec<i64>,
        /// Cost of each, in micro-dollars.
        #[specta(type = Vec<u32>)]
        pub cost_micro_usd: Vec<u64>,
        /// The median of the runs before it.
        #[specta(type = Vec<Option<u32>>)]
        pub median_micro_usd: Vec<Option<f64>>,
        /// The anomaly threshold.
        #[specta(type = Vec<Option<u32>>)]
        pub limit_micro_usd: Vec<Option<f64>>,
        /// The number of each one's task.
        pub task_number: Vec<u32>,
        /// Whether it is an anomaly.
        pub is_anomaly: Vec<bool>,
    }

    /// The course of costs.
    pub struct CostSeries {
        /// One line per model and project, the one with the most runs first.
        pub lines: Vec<CostLine>,
        /// Number of lines left off.
        pub left_off: u32,
    }
}

/// One coder run of known cost in the course of costs.
#[derive(Debug, Clone, PartialEq)]
pub struct CostPoint {
    /// When it ended.
    pub at: Timestamp,
    /// What it cost, in micro-dollars.
    pub cost: u64,
    /// The median of the runs before it.
    pub median: Option<f64>,
    /// Above how many medians it is an anomaly.
    pub ratio: Option<f64>,
    /// The number of its task.
    pub task_number: u32,
    /// Whether it is one.
    pub is_anomaly: bool,
}

impl From<&Usage> for CostTokens {
    fn from(usage: &Usage) -> Self {
        Self {
            input: usage.input_uncached,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            output: usage.output,
            reasoning: usage.reasoning,
        }
    }
}

impl CostTokens {
    /// The tokens of samples, added up.
    #[must_use]
    pub fn of(samples: &[UsageSample]) -> Self {
        let mut sum = Self::default();
        for sample in samples {
            sum.add(&Self {
                input: sample.input_uncached,
                cache_read: sample.cache_read,
                cache_write: sample.cache_write,
                output: sample.output,
                reasoning: sample.reasoning,
            });
        }
        sum
    }

    /// Adds others.
    pub const fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }

    /// The part of all input that a cache served.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a share for people")]
    pub const fn cached_share(&self) -> Option<f64> {
        let all = self.input.saturating_add(self.cache_read).saturating_add(self.cache_write);
        if all == 0 { None } else { Some(self.cache_read as f64 / all as f64) }
    }
}

/// The model that a run really used: of several, the one that cost the most, then the one that wrote the most.
#[must_use]
pub fn main_model(samples: &[UsageSample]) -> Option<&str> {
    let order = |sample: &&UsageSample| (sample.cost_micro_usd.unwrap_or(0), sample.output);
    // Of equals the first: `max_by_key` would take the last.
    let main = samples.iter().rev().max_by_key(order)?;
    Some(main.model.as_str()).filter(|model| !model.is_empty())
}

/// At most about `most` of these, none moved or made up: the first and the last, every anomaly, and of each stretch
/// of time between the cheapest and the dearest.
#[must_use]
pub fn thinned(points: Vec<CostPoint>, most: usize) -> Vec<CostPoint> {
    if points.len() <= most {
        return points;
    }
    let last = points.len() - 1;
    let anomalies = points.iter().filter(|point| point.is_anomaly).count();
    let buckets = (most.saturating_sub(anomalies + 2) / 2).max(1);
    let size = points.len().div_ceil(buckets);
    let mut kept = vec![false; points.len()];
    let mut keep = |at: usize| {
        if let Some(flag) = kept.get_mut(at) {
            *flag = true;
        }
    };
    keep(0);
    keep(last);
    for (bucket, chunk) in points.chunks(size).enumerate() {
        let cost = |(_, point): &(usize, &CostPoint)| point.cost;
        let extremes = [chunk.iter().enumerate().min_by_key(cost), chunk.iter().enumerate().max_by_key(cost)];
        extremes.into_iter().flatten().for_each(|(at, _)| keep(bucket * size + at));
    }
    points.iter().enumerate().filter(|(_, point)| point.is_anomaly).for_each(|(at, _)| keep(at));
    points.into_iter().zip(kept).filter_map(|(point, kept)| kept.then_some(point)).collect()
}

impl CostLine {
    /// Adds a run.
    pub fn push(&mut self, point: &CostPoint) {
        self.at_ms.push(point.at.0);
        self.cost_micro_usd.push(point.cost);
        self.median_micro_usd.push(point.median);
        self.limit_micro_usd.push(point.median.zip(point.ratio).map(|(median, ratio)| median * ratio));
        self.task_number.push(point.task_number);
        self.is_anomaly.push(point.is_anomaly);
    }
}

/// The time over which the pace of a forecast is taken, in milliseconds, and the shortest one that says something.
const PACE_MS: i64 = 3 * 3_600_000;
const SHORTEST_PACE_MS: i64 = 30 * 60_000;

/// Since when the pace of a forecast is taken; none right after a day began.
#[must_use]
pub fn pace_since(day: (Timestamp, Timestamp), now: Timestamp) -> Option<Timestamp> {
    let since = day.0.max(now.plus_ms(-PACE_MS));
    (now.since(since) >= SHORTEST_PACE_MS).then_some(since)
}

/// What a day will have cost. `recent` is what the runs that began since [`pace_since`] cost.
#[must_use]
pub fn forecast(
    day: (Timestamp, Timestamp),
    now: Timestamp,
    (today, recent): (u64, u64),
    limit: Option<u64>,
) -> CostForecast {
    let left = u128::try_from(day.1.since(now)).unwrap_or(0);
    let pace = pace_since(day, now).and_then(|since| u128::try_from(now.since(since)).ok());
    let more = pace.map(|pace| u64::try_from(u128::from(recent) * left / pace.max(1)).unwrap_or(MAX_FIGURE));
    let reaches_limit_at = match (limit, pace) {
        (Some(limit), Some(pace)) if today < limit && recent > 0 => {
            let wait = u128::from(limit - today) * pace / u128::from(recent);
            let at = i64::try_from(wait).ok().map(|wait| now.plus_ms(wait));
            at.filter(|at| *at < day.1)
        }
        _ => None,
    };
    CostForecast {
        today_micro_usd: today,
        day_end_micro_usd: more.map(|more| today.saturating_add(more).min(MAX_FIGURE)),
        limit_micro_usd: limit,
        reaches_limit_at,
        day_ends_at: day.1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn forecast_goes_on_at_the_pace_of_the_last_hours() {
        const HOUR: i64 = 3_600_000;
        let day = (Timestamp(0), Timestamp(24 * HOUR));
        let at =
            |hour: i64, today, recent, limit| forecast(day, Timestamp(hour * HOUR), (today, recent), limit);
        assert_eq!(pace_since(day, Timestamp(HOUR / 4)), None);
        assert_eq!(pace_since(day, Timestamp(HOUR)), Some(Timestamp(0)));
        assert_eq!(pace_since(day, Timestamp(12 * HOUR)), Some(Timestamp(9 * HOUR)));
        let early = forecast(day, Timestamp(1), (5, 5), Some(100));
        assert_eq!((early.day_end_micro_usd, early.reaches_limit_at), (None, None));
        // 30 in three hours are 10 an hour: 120 until midnight.
        let noon = at(12, 50, 30, Some(100));
        assert_eq!(noon.day_end_micro_usd, Some(170));
        assert_eq!(noon.reaches_limit_at, Some(Timestamp(17 * HOUR)));
        assert_eq!(at(12, 50, 30, Some(200)).reaches_limit_at, None, "not today");
        assert_eq!(at(12, 50, 30, None).reaches_limit_at, None);
        assert_eq!(at(12, 100, 30, Some(100)).reaches_limit_at, None, "it is reached");
        assert_eq!(at(12, 50, 0, Some(100)).day_end_micro_usd, Some(50), "nothing runs");
        assert_eq!(at(23, u64::MAX, u64::MAX, None).day_end_micro_usd, Some(MAX_FIGURE));
    }

    fn sample(model: &str, output: u64, cost: Option<u64>) -> UsageSample {
        UsageSample { model: model.to_owned(), output, cost_micro_usd: cost, ..UsageSample::default() }
    }

    #[test]
    fn of_several_models_the_dearest_counts() {
        assert_eq!(main_model(&[]), None);
        assert_eq!(main_model(&[sample("", 1, Some(1))]), None);
        assert_eq!(main_model(&[sample("a", 9, Some(1)), sample("b", 1, Some(2))]), Some("b"));
        assert_eq!(main_model(&[sample("a", 9, None), sample("b", 1, None)]), Some("a"));
        assert_eq!(main_model(&[sample("a", 1, Some(1)), sample("b", 1, Some(1))]), Some("a"));
    }

    #[test]
    fn the_share_of_a_cache() {
        let tokens = CostTokens { input: 10, cache_read: 60, cache_write: 10, ..CostTokens::default() };
        assert_eq!(tokens.cached_share(), Some(0.75));
        assert_eq!(CostTokens::default().cached_share(), None);
    }

    fn points(costs: &[(u64, bool)]) -> Vec<CostPoint> {
        let point = |(at, (cost, is_anomaly)): (usize, &(u64, bool))| CostPoint {
            at: Timestamp(i64::try_from(at).unwrap()),
            cost: *cost,
            median: None,
            ratio: None,
            task_number: 1,
            is_anomaly: *is_anomaly,
        };
        costs.iter().enumerate().map(point).collect()
    }

    proptest! {
        #[test]
        fn fewer_points_tell_the_same_story(costs in prop::collection::vec((0u64..1000, prop::bool::weighted(0.02)), 1..600), most in 20usize..200) {
            let all = points(&costs);
            let few = thinned(all.clone(), most);
            let anomalies = |points: &[CostPoint]| points.iter().filter(|point| point.is_anomaly).count();
            prop_assert!(few.len() <= most.max(anomalies(&all) + 4), "{} of {most}", few.len());
            prop_assert!(few.iter().all(|point| all.contains(point)));
            prop_assert!(few.windows(2).all(|pair| pair[0].at < pair[1].at));
            prop_assert_eq!(anomalies(&few), anomalies(&all));
            let ends = |points: &[CostPoint]| (points.first().unwrap().at, points.last().unwrap().at);
            prop_assert_eq!(ends(&few), ends(&all));
            let bounds = |points: &[CostPoint]| (points.iter().map(|it| it.cost).min(), points.iter().map(|it| it.cost).max());
            prop_assert_eq!(bounds(&few), bounds(&all));
        }
    }
}

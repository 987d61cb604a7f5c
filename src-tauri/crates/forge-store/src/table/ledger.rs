//! The cost ledger: `executions` that are over, with the task, project and agent that they are counted to.
//!
//! A race's entry is counted to the raced task, as everywhere.

use std::{cmp::Ordering, collections::HashMap};

use forge_model::cost::{CostRow, CostSum, CostTokens, CostTotals, main_model};
use forge_model::execution::{CostSource, Usage};
use forge_model::ids::ProjectId;
use forge_model::time::Timestamp;
use forge_model::usage::UsageSample;
use futures::TryStreamExt as _;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection, sqlite::SqliteRow};

use crate::{
    StoreError,
    row::{Columns, json},
};

handles!(cost_ledger() -> CostLedger);

/// Which runs are meant.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CostFilter {
    /// Of this project alone.
    pub project: Option<ProjectId>,
    /// Only runs that ended at or after this time.
    pub since: Option<Timestamp>,
    /// Only runs that ended before this time.
    pub until: Option<Timestamp>,
}

impl CostFilter {
    pub(crate) fn narrow(&self, query: &mut QueryBuilder<Sqlite>, project: &str, at: &str) {
        if let Some(id) = &self.project {
            query.push(format!(" AND {project} = ")).push_bind(id.as_str().to_owned());
        }
        if let Some(since) = self.since {
            query.push(format!(" AND {at} >= ")).push_bind(since.0);
        }
        if let Some(until) = self.until {
            query.push(format!(" AND {at} < ")).push_bind(until.0);
        }
    }
}

/// Where a page of the ledger begins: behind the run of this end and number.
pub type LedgerCursor = (i64, i64);

/// Sums by what the runs have in common.
#[derive(Default)]
struct Sums {
    days: HashMap<String, CostSum>,
    tasks: HashMap<String, CostSum>,
    agents: HashMap<String, CostSum>,
    models: HashMap<String, CostSum>,
}

impl Sums {
    fn add(&mut self, c: &Columns) -> Result<(), StoreError> {
        let usage: Usage = c.json("usage")?;
        let by_list_price = source(c, usage.cost_micro_usd)? == CostSource::Computed;
        let tokens = CostTokens::from(&usage);
        let run = one(usage.cost_micro_usd, by_list_price, tokens);
        add(of(&mut self.days, c.text("day")?), &run);
        add(of(&mut self.tasks, c.text("task_id")?), &run);
        add(of(&mut self.agents, c.text("agent_id")?), &run);
        let mut models: Vec<UsageSample> = c.json("models")?;
        if models.is_empty() {
            models.push(UsageSample::default());
        }
        for used in models {
            let tokens = CostTokens::of(std::slice::from_ref(&used));
            add(of(&mut self.models, used.model), &one(used.cost_micro_usd, by_list_price, tokens));
        }
        Ok(())
    }
}

impl CostLedger<'_> {
    /// A page of the ledger, the latest end first, each line with where a page behind it begins.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn page(
        &mut self,
        filter: &CostFilter,
        behind: Option<LedgerCursor>,
        limit: u32,
    ) -> Result<Vec<(LedgerCursor, CostRow)>, StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT x.seq, x.id, x.role, x.agent_id, x.status, x.attempt, x.goes_on, x.finished_at, x.usage, x.models, x.cost_source,
               x.price_version, k.id AS task_id, k.number, k.title, k.project_id, p.name AS project_name, g.name AS agent_name,
               e.name AS strategy, r.status AS race_status, r.winner, c.execution_id IS NOT NULL AS is_anomaly
             FROM executions x
             JOIN tasks t ON t.id = x.task_id
             JOIN tasks k ON k.id = CASE WHEN t.execution_mode = 'race_entry' THEN coalesce(t.parent_id, t.id) ELSE t.id END
             JOIN projects p ON p.id = k.project_id
             JOIN agents g ON g.id = x.agent_id
             LEFT JOIN race_entries e ON e.task_id = t.id
             LEFT JOIN races r ON r.id = e.race_id
             LEFT JOIN cost_anomalies c ON c.execution_id = x.id
             WHERE x.finished_at IS NOT NULL",
        );
        filter.narrow(&mut query, "t.project_id", "x.finished_at");
        if let Some((at, seq)) = behind {
            query.push(" AND (x.finished_at, x.seq) < (").push_bind(at).push(", ").push_bind(seq).push(")");
        }
        query.push(" ORDER BY x.finished_at DESC, x.seq DESC LIMIT ").push_bind(limit);
        query.build().fetch_all(&mut *self.conn).await?.iter().map(read).collect()
    }

    /// Sums over the runs of a time, each list with at most `most` sums.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn totals(&mut self, filter: &CostFilter, most: usize) -> Result<CostTotals, StoreError> {
        // Names are looked up once per sum, behind it: what a row carries is what ten thousand of them cost.
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT date(x.finished_at / 1000, 'unixepoch', 'localtime') AS day, x.usage, x.models, x.cost_source, x.agent_id,
               CASE WHEN t.execution_mode = 'race_entry' THEN coalesce(t.parent_id, t.id) ELSE t.id END AS task_id
             FROM executions x JOIN tasks t ON t.id = x.task_id WHERE x.finished_at IS NOT NULL",
        );
        filter.narrow(&mut query, "t.project_id", "x.finished_at");
        let mut sums = Sums::default();
        // One run at a time: there may be very many.
        let mut rows = query.build().fetch(&mut *self.conn);
        while let Some(row) = rows.try_next().await? {
            sums.add(&Columns(&row))?;
        }
        drop(rows);
        let projects = name_tasks(&mut *self.conn, &mut sums.tasks).await?;
        name_agents(&mut *self.conn, &mut sums.agents).await?;
        let mut all = CostSum::default();
        sums.days.values().for_each(|day| add(&mut all, day));
        let mut longest = 0;
        let mut list = |sums: HashMap<String, CostSum>, order: fn(&CostSum, &CostSum) -> Ordering| {
            longest = longest.max(sums.len());
            listed(sums, order, most)
        };
        Ok(CostTotals {
            all: complete(all),
            days: list(sums.days, latest_first),
            projects: list(projects, dearest_first),
            tasks: list(sums.tasks, dearest_first),
            agents: list(sums.agents, dearest_first),
            models: list(sums.models, dearest_first),
            left_off: u32::try_from(longest.saturating_sub(most)).unwrap_or(u32::MAX),
        })
    }
}

fn read(row: &SqliteRow) -> Result<(LedgerCursor, CostRow), StoreError> {
    let c = Columns(row);
    let models: Vec<UsageSample> = c.json("models")?;
    let usage: Usage = c.json("usage")?;
    let ended_at = c.time("finished_at")?;
    let strategy: Option<String> = c.text_opt("strategy")?;
    let winner: Option<String> = c.text_opt("winner")?;
    let is_decided = matches!(
        c.text_opt::<String>("race_status")?.as_deref(),
        Some("promoted" | "no_winner" | "cancelled" | "decided")
    );
    let race_won = strategy.as_ref().filter(|_| is_decided).map(|name| winner.as_ref() == Some(name));
    let line = CostRow {
        execution_id: c.text("id")?,
        task_id: c.text("task_id")?,
        task_number: c.int("number")?,
        task_title: c.text("title")?,
        project_id: c.text("project_id")?,
        project_name: c.text("project_name")?,
        role: c.name("role")?,
        agent_id: c.text("agent_id")?,
        agent_name: c.text("agent_name")?,
        model: main_model(&models).map(str::to_owned),
        models: u32::try_from(models.len()).unwrap_or(u32::MAX),
        strategy,
        race_won,
        status: c.name("status")?,
        attempt: c.int("attempt")?,
        is_restart: c.flag("goes_on")?,
        ended_at,
        cost_micro_usd: usage.cost_micro_usd,
        cost_source: source(&c, usage.cost_micro_usd)?,
        price_version: c.text_opt("price_version")?,
        tokens: CostTokens::from(&usage),
        is_anomaly: c.flag("is_anomaly")?,
    };
    Ok(((ended_at.0, c.int("seq")?), line))
}

/// Runs of before this was recorded have a cost only if their program reported it.
fn source(c: &Columns, cost: Option<u64>) -> Result<CostSource, StoreError> {
    let unless_known = if cost.is_some() { CostSource::Reported } else { CostSource::Unknown };
    Ok(c.name_opt("cost_source")?.unwrap_or(unless_known))
}

/// Gives the sums of tasks their names, and answers with the sums of their projects.
async fn name_tasks(
    conn: &mut SqliteConnection,
    tasks: &mut HashMap<String, CostSum>,
) -> Result<HashMap<String, CostSum>, StoreError> {
    let rows = sqlx::query(
        "SELECT k.id, k.number, k.title, k.project_id, p.name FROM tasks k JOIN projects p ON p.id = k.project_id
         WHERE k.id IN (SELECT value FROM json_each(?1))",
    )
    .bind(json(&tasks.keys().collect::<Vec<_>>())?)
    .fetch_all(conn)
    .await?;
    let mut projects = HashMap::new();
    for row in &rows {
        let c = Columns(row);
        let Some(task) = tasks.get_mut(&c.text::<String>("id")?) else { continue };
        task.label = c.text("title")?;
        task.task_number = Some(c.int("number")?);
        task.project_id = Some(c.text("project_id")?);
        let project = of(&mut projects, c.text("project_id")?);
        project.label = c.text("name")?;
        add(project, task);
    }
    Ok(projects)
}

async fn name_agents(
    conn: &mut SqliteConnection,
    agents: &mut HashMap<String, CostSum>,
) -> Result<(), StoreError> {
    let rows = sqlx::query("SELECT id, name FROM agents WHERE id IN (SELECT value FROM json_each(?1))")
        .bind(json(&agents.keys().collect::<Vec<_>>())?)
        .fetch_all(conn)
        .await?;
    for row in &rows {
        let c = Columns(row);
        if let Some(agent) = agents.get_mut(&c.text::<String>("id")?) {
            agent.label = c.text("name")?;
        }
    }
    Ok(())
}

/// The sum of a key; until it has a name, the key is its label.
fn of(sums: &mut HashMap<String, CostSum>, key: String) -> &mut CostSum {
    sums.entry(key).or_insert_with_key(|key| CostSum {
        key: key.clone(),
        label: key.clone(),
        ..CostSum::default()
    })
}

/// What one run adds to a sum.
fn one(cost: Option<u64>, by_list_price: bool, tokens: CostTokens) -> CostSum {
    let cost_micro_usd = cost.unwrap_or(0);
    CostSum {
        cost_micro_usd,
        list_price_micro_usd: if by_list_price { cost_micro_usd } else { 0 },
        runs: 1,
        unknown: u32::from(cost.is_none()),
        tokens,
        ..CostSum::default()
    }
}

fn add(sum: &mut CostSum, more: &CostSum) {
    sum.runs += more.runs;
    sum.unknown += more.unknown;
    sum.cost_micro_usd = sum.cost_micro_usd.saturating_add(more.cost_micro_usd);
    sum.list_price_micro_usd = sum.list_price_micro_usd.saturating_add(more.list_price_micro_usd);
    sum.tokens.add(&more.tokens);
}

fn listed(
    sums: HashMap<String, CostSum>,
    order: fn(&CostSum, &CostSum) -> Ordering,
    most: usize,
) -> Vec<CostSum> {
    let mut sums: Vec<CostSum> = sums.into_values().map(complete).collect();
    sums.sort_by(order);
    sums.truncate(most);
    sums
}

fn latest_first(a: &CostSum, b: &CostSum) -> Ordering {
    b.key.cmp(&a.key)
}

fn dearest_first(a: &CostSum, b: &CostSum) -> Ordering {
    let by_cost = b.cost_micro_usd.cmp(&a.cost_micro_usd);
    by_cost.then_with(|| a.label.cmp(&b.label)).then_with(|| a.key.cmp(&b.key))
}

fn complete(mut sum: CostSum) -> CostSum {
    sum.cached_share = sum.tokens.cached_share();
    sum
}

#[cfg(test)]
mod tests {
    use forge_model::execution::ExecutionStatus;
    use forge_model::race::RaceStatus;

    use super::*;
    use crate::table::tasks::TaskRow;
    use crate::testing::{entry, race, raced_by, run, seeded, task};

    const DAY: i64 = 86_400_000;

    /// A run that ended, by these models at these costs.
    async fn ended(tx: &mut crate::Tx, id: &str, task: &str, at: i64, models: &[(&str, Option<u64>)]) {
        let mut row = run(id, task);
        tx.executions_mut().insert(&row).await.unwrap();
        row.execution.models = models
            .iter()
            .map(|(model, cost)| UsageSample {
                model: (*model).to_owned(),
                output: 10,
                cost_micro_usd: *cost,
                ..UsageSample::default()
            })
            .collect();
        row.execution.usage = Usage::of_run(&row.execution.models);
        row.execution.cost_source = CostSource::Reported;
        row.execution.status = ExecutionStatus::Finished;
        row.execution.finished_at = Some(Timestamp(at));
        tx.executions_mut().update(&row.execution).await.unwrap();
    }

    /// Runs of a task, of an entry of its race, and of a task of another project; one run goes on.
    async fn spent() -> crate::Tx {
        let mut tx = seeded().await;
        tx.tasks_mut().insert(&entry("e", 1)).await.unwrap();
        tx.tasks_mut().insert(&TaskRow { project_id: "q".into(), ..task("u", 1) }).await.unwrap();
        let decided = race("r", 1, vec![raced_by("quick", "e")]);
        let decided = forge_model::race::Race {
            status: RaceStatus::Promoted,
            winner: Some("quick".to_owned()),
            ..decided
        };
        tx.races_mut().put(&decided).await.unwrap();
        ended(&mut tx, "x1", "t", 10 * DAY, &[("small", Some(5)), ("large", Some(20))]).await;
        ended(&mut tx, "x2", "e", 11 * DAY, &[("large", Some(7))]).await;
        ended(&mut tx, "x3", "u", 12 * DAY, &[("small", None)]).await;
        tx.executions_mut().insert(&run("x4", "t")).await.unwrap();
        tx
    }

    fn told(sums: &[CostSum]) -> Vec<(&str, u64, u32, u32)> {
        sums.iter().map(|sum| (&*sum.label, sum.cost_micro_usd, sum.runs, sum.unknown)).collect()
    }

    #[tokio::test]
    async fn pages_go_through_runs_that_are_over_latest_first() {
        let mut tx = spent().await;
        let all = CostFilter::default();
        let first = tx.cost_ledger().page(&all, None, 2).await.unwrap();
        let rest = tx.cost_ledger().page(&all, first.last().map(|(cursor, _)| *cursor), 9).await.unwrap();
        let ids = |lines: &[(LedgerCursor, CostRow)]| {
            lines.iter().map(|(_, line)| line.execution_id.0.clone()).collect::<Vec<_>>()
        };
        assert_eq!(
            (ids(&first), ids(&rest)),
            (vec!["x3".to_owned(), "x2".to_owned()], vec!["x1".to_owned()])
        );
        let of_p = CostFilter { project: Some("p".into()), ..all.clone() };
        assert_eq!(ids(&tx.cost_ledger().page(&of_p, None, 9).await.unwrap()), ["x2", "x1"]);
        let between =
            CostFilter { since: Some(Timestamp(11 * DAY)), until: Some(Timestamp(12 * DAY)), ..all };
        assert_eq!(ids(&tx.cost_ledger().page(&between, None, 9).await.unwrap()), ["x2"]);
    }

    #[tokio::test]
    async fn line_of_an_entry_is_of_the_raced_task() {
        let mut tx = spent().await;
        let lines = tx.cost_ledger().page(&CostFilter::default(), None, 9).await.unwrap();
        let line = &lines[1].1;
        assert_eq!((line.task_id.as_str(), line.task_number, &*line.task_title), ("t", 1, "Task t"));
        assert_eq!((line.strategy.as_deref(), line.race_won), (Some("quick"), Some(true)));
        let line = &lines[2].1;
        assert_eq!((line.strategy.as_deref(), line.race_won), (None, None));
        assert_eq!((line.model.as_deref(), line.models, line.cost_micro_usd), (Some("large"), 2, Some(25)));
    }

    #[tokio::test]
    async fn sums_are_complete_and_unknown_costs_are_counted() {
        let mut tx = spent().await;
        let totals = tx.cost_ledger().totals(&CostFilter::default(), 9).await.unwrap();
        assert_eq!((totals.all.cost_micro_usd, totals.all.runs, totals.all.unknown), (32, 3, 1));
        assert_eq!(totals.all.tokens.output, 40);
        assert_eq!(told(&totals.projects), [("P", 32, 2, 0), ("Q", 0, 1, 1)]);
        assert_eq!(told(&totals.tasks), [("Task t", 32, 2, 0), ("Task u", 0, 1, 1)]);
        assert_eq!(told(&totals.agents), [("A", 32, 3, 1)]);
        assert_eq!(told(&totals.models), [("large", 27, 2, 0), ("small", 5, 2, 1)]);
        assert_eq!((totals.days.len(), totals.left_off), (3, 0));
        assert!(totals.days.is_sorted_by(|a, b| a.key > b.key), "the latest day comes first");
        let cut = tx.cost_ledger().totals(&CostFilter::default(), 1).await.unwrap();
        assert_eq!((told(&cut.tasks), cut.left_off), (vec![("Task t", 32, 2, 0)], 2));
        assert_eq!(cut.all, totals.all, "what is left off is in the sum of all");
    }
}

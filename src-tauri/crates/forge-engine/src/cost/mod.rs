//! The costs of coder runs: samples, anomalies, and what people read of them.
//!
//! A sample is a coder run that finished or failed, with the automatic restarts after it (after a failure, a
//! provider's limit, the end of Forge). It ends with the run that finished, or when the task leaves the state in
//! which another restart would have followed. The transaction of that end writes the sample and compares it with
//! those that ended before. Nothing later changes the result, and an anomaly stops nothing.
//!
//! `.forge/cost-anomalies.jsonl` is written from the rows after the commit, and at the next start where that failed.

pub(crate) mod contribution;
pub(crate) mod meter;
pub(crate) mod prices;
pub(crate) mod score;

use forge_model::anomaly::{CostJudgement, doubled_median, half, judge};
use forge_model::cost::{
    CostAnomalyEntry, CostAnomalyRecord, CostForecast, CostLine, CostRow, CostSeries, CostTokens, CostTotals,
    forecast, main_model, pace_since, thinned,
};
use forge_model::event::EventType;
use forge_model::execution::{Execution, ExecutionRole, ExecutionStatus};
use forge_model::ids::{ProjectId, TaskId};
use forge_model::notification::NotificationKind;
use forge_model::usage::{UsageSample, by_model};
use forge_model::words::dollars;
use forge_store::table::{
    costs::CostSample,
    ledger::{CostFilter, LedgerCursor},
    tasks::TaskRow,
};
use forge_store::{ReadConnection, Tx};
use serde_json::Value;

use crate::{
    EngineError, World,
    core::{self, context::ProjectContext, lineage::is_entry},
    error::Result,
    export,
};

/// The file of the export.
const EXPORT: &str = "cost-anomalies.jsonl";
/// How many points a chart gets, about.
const MOST_POINTS: usize = 1_000;
/// How many lines a chart gets.
const MOST_LINES: usize = 40;
/// How many sums a list of them has.
const MOST_SUMS: usize = 400;

/// A page of the ledger.
#[derive(Debug, Clone)]
pub struct CostPage {
    /// The lines, the latest end first.
    pub items: Vec<CostRow>,
    /// Where the next page begins; none when this is the last.
    pub next_cursor: Option<String>,
}

/// A page of the ledger as text.
#[derive(Debug, Clone)]
pub struct CostCsvPage {
    /// Whole lines; on the first page the heads come first.
    pub text: String,
    /// Where the next page begins; none when this is the last.
    pub next_cursor: Option<String>,
}

/// A coder run with the restarts that followed by themselves.
struct Chain {
    last: Execution,
    attempts: u32,
    /// None when nobody knows what one of its runs cost.
    cost: Option<u64>,
    used: Vec<UsageSample>,
}

/// What a project's runs of today cost, and will have cost at the end of the day.
pub(crate) async fn cost_forecast(world: &World, project: &ProjectId) -> Result<CostForecast> {
    let mut conn = world.store().read().await?;
    let context = core::contexts::context(world, &mut conn, project).await?;
    let (now, day) = (world.now(), core::day::day_of(world.now()));
    let today = conn.executions().cost_since(project, day.0, None).await?;
    let recent = match pace_since(day, now) {
        Some(since) => conn.executions().cost_since(project, since, None).await?,
        None => 0,
    };
    Ok(forecast(day, now, (today, recent), context.settings.cost_limits.day_micro_usd))
}

/// Writes down what the last coder run of a task cost, if it is over, and judges it. Once per run, however often
/// it is asked.
pub(crate) async fn record_sample(world: &World, tx: &mut Tx, task: &TaskRow) -> Result<()> {
    let Some(chain) = last_chain(tx, task).await? else { return Ok(()) };
    let last = &chain.last;
    if !matches!(last.status, ExecutionStatus::Finished | ExecutionStatus::Failed)
        || tx.costs().is_recorded(&last.id).await?
    {
        return Ok(());
    }
    let context = core::contexts::context_of(world, tx, task).await?;
    let Some(mut agent) = tx.agents().get(&last.agent_id).await? else { return Ok(()) };
    let strategy = core::lineage::as_strategy(tx, task, ExecutionRole::Coder, &mut agent).await?;
    let model = main_model(&chain.used).unwrap_or_default().to_owned();
    let threshold = context.settings.inner_loop.cost_anomaly.threshold();
    let before = tx.costs().window(&task.project_id, &model, threshold.median_window()).await?;
    let known: Vec<Option<u64>> = before.iter().copied().map(Some).collect();
    let judged = judge(&threshold, &known, chain.cost);
    let sample = CostSample {
        execution_id: last.id.clone(),
        project_id: task.project_id.clone(),
        task_id: counted_to(task).clone(),
        agent_id: last.agent_id.clone(),
        strategy: strategy.map(|strategy| strategy.name),
        model,
        asked: agent.model,
        cost: chain.cost,
        attempts: chain.attempts,
        median: doubled_median(before).map(half),
        ratio: threshold.ratio(),
        is_anomaly: judged.is_anomaly(),
        ended_at: world.now(),
    };
    tx.costs_mut().insert(&sample).await?;
    if sample.is_anomaly {
        tell_anomaly(world, tx, &context, task, &sample, &judged, CostTokens::of(&chain.used)).await?;
    }
    Ok(())
}

async fn tell_anomaly(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &TaskRow,
    sample: &CostSample,
    judged: &CostJudgement,
    tokens: CostTokens,
) -> Result<()> {
    let (Some(cost), Some(median), Some(ratio)) = (sample.cost, judged.median_micro_usd, judged.ratio) else {
        return Ok(());
    };
    let record = CostAnomalyRecord {
        at: sample.ended_at,
        task_id: sample.task_id.clone(),
        execution_id: sample.execution_id.clone(),
        title: task.title.clone(),
        strategy: sample.strategy.clone(),
        model: sample.model.clone(),
        cost_micro_usd: cost,
        median_micro_usd: median,
        ratio,
        threshold: sample.ratio,
        samples: judged.samples,
        tokens,
        attempts: sample.attempts,
    };
    tx.costs_mut().insert_anomaly(&task.project_id, &record).await?;
    let (at, of) = (record.at, (Some(&task.project_id), Some(&record.task_id)));
    let mut facts = json(&record)?;
    // Events are small; the title is the task's.
    facts.as_object_mut().map(|facts| facts.remove("title"));
    tx.emit(EventType::CostAnomaly, at, of.0, of.1, record.execution_id.as_str(), &facts).await?;
    let of = record.strategy.as_deref().map(|name| format!(" of {name}")).unwrap_or_default();
    let with = if record.model.is_empty() { String::new() } else { format!(" with {}", record.model) };
    let before = match record.samples {
        1 => "the run before it".to_owned(),
        samples => format!("the median of the {samples} runs before it"),
    };
    let body = format!("A run{of}{with} cost {}, {ratio} times {before}.", dollars(cost));
    let cause = format!("anomaly:{}", record.execution_id);
    core::notices::notify(world, tx, context, task, NotificationKind::CostAnomaly, &body, &cause).await?;
    // Whoever is told waits for this transaction's end by wanting one, too.
    export::export_later(world);
    Ok(())
}

/// Exports the anomalies that are not exported yet.
pub(crate) async fn export_new_anomalies(world: &World) -> Result<()> {
    let projects = world.store().read().await?.costs().unexported().await?;
    for project in projects {
        if let Err(error) = export_anomalies_of(world, &project).await {
            tracing::warn!(%project, %error, "failed to export anomalies of cost");
        }
    }
    Ok(())
}

async fn export_anomalies_of(world: &World, project: &ProjectId) -> Result<()> {
    let (context, records) = {
        let mut conn = world.store().read().await?;
        (core::contexts::context(world, &mut conn, project).await?, conn.costs().records(project).await?)
    };
    let mut lines = String::new();
    for record in &records {
        lines.push_str(&json(record)?.to_string());
        lines.push('\n');
    }
    world.point("anomalies.exporting");
    export::export(world, &context, EXPORT, lines).await?;
    let mut tx = world.store().write().await?;
    for record in &records {
        tx.costs_mut().set_exported(&record.execution_id).await?;
    }
    Ok(tx.commit().await?)
}

/// A page of the ledger: every run of an agent that is over.
pub(crate) async fn cost_ledger(
    world: &World,
    filter: &CostFilter,
    cursor: Option<&str>,
    limit: u32,
) -> Result<CostPage> {
    let behind = cursor.map(parse_cursor).transpose()?;
    let mut page =
        world.store().read().await?.cost_ledger().page(filter, behind, limit.saturating_add(1)).await?;
    let is_more = page.len() > limit as usize;
    page.truncate(limit as usize);
    let next_cursor = page.last().filter(|_| is_more).map(|((at, seq), _)| format!("{at}:{seq}"));
    Ok(CostPage { items: page.into_iter().map(|(_, row)| row).collect(), next_cursor })
}

/// A page of the ledger as lines of comma-separated values.
pub(crate) async fn cost_csv(
    world: &World,
    filter: &CostFilter,
    cursor: Option<&str>,
    limit: u32,
) -> Result<CostCsvPage> {
    let page = cost_ledger(world, filter, cursor, limit).await?;
    let mut text = if cursor.is_none() { csv_head() } else { String::new() };
    page.items.iter().for_each(|row| csv_line(row, &mut text));
    Ok(CostCsvPage { text, next_cursor: page.next_cursor })
}

/// Totals over the runs of a period.
pub(crate) async fn cost_totals(world: &World, filter: &CostFilter) -> Result<CostTotals> {
    Ok(world.store().read().await?.cost_ledger().totals(filter, MOST_SUMS).await?)
}

/// The course of what coder runs cost, with no more points than can be seen.
pub(crate) async fn cost_series(world: &World, filter: &CostFilter) -> Result<CostSeries> {
    let mut conn = world.store().read().await?;
    let mut rows = conn.costs().lines(filter).await?;
    let left_off = u32::try_from(rows.len().saturating_sub(MOST_LINES)).unwrap_or(u32::MAX);
    rows.truncate(MOST_LINES);
    let all: usize = rows.iter().map(|row| row.known as usize).sum();
    let mut lines = Vec::with_capacity(rows.len());
    for row in rows {
        let points = conn.costs().points(filter, &row).await?;
        // Each line has its part of the points, the short ones all of theirs.
        let part = MOST_POINTS.saturating_mul(points.len()).checked_div(all).unwrap_or(0).max(20);
        let shown = if all > MOST_POINTS { thinned(points, part) } else { points };
        let mut line = CostLine {
            project_id: row.project_id.0,
            project_name: row.project_name,
            model: row.model,
            samples: row.known,
            unknown: row.unknown,
            ..CostLine::default()
        };
        shown.iter().for_each(|point| line.push(point));
        lines.push(line);
    }
    Ok(CostSeries { lines, left_off })
}

/// Anomalies, the latest first; of one task, if one is named.
pub(crate) async fn cost_anomalies(
    world: &World,
    filter: &CostFilter,
    task: Option<&TaskId>,
    limit: u32,
) -> Result<Vec<CostAnomalyEntry>> {
    Ok(world.store().read().await?.costs().anomalies(filter, task, limit).await?)
}

/// The task that a run's cost is counted to: of a race's entry, the raced one.
fn counted_to(task: &TaskRow) -> &TaskId {
    task.parent_id.as_ref().filter(|_| is_entry(task)).unwrap_or(&task.id)
}

/// The last coder run of a task with those that it goes on from.
async fn last_chain(conn: &mut ReadConnection, task: &TaskRow) -> Result<Option<Chain>> {
    let Some(row) = conn.executions().last_of(&task.id, ExecutionRole::Coder).await? else { return Ok(None) };
    if !row.goes_on {
        let (cost, used) = (row.execution.cost_micro_usd, row.execution.models.clone());
        return Ok(Some(Chain { last: row.execution, attempts: 1, cost, used }));
    }
    let all = conn.executions().list(&task.id).await?;
    let mut runs = Vec::new();
    for row in all.into_iter().rev().filter(|row| row.execution.role == ExecutionRole::Coder) {
        let goes_on = row.goes_on;
        runs.push(row.execution);
        if !goes_on {
            break;
        }
    }
    // Model by model: what two of its runs used of one is one line.
    let used: Vec<UsageSample> = runs.iter().rev().flat_map(|run| run.models.clone()).collect();
    let cost = runs.iter().map(|run| run.cost_micro_usd).sum();
    let attempts = u32::try_from(runs.len()).unwrap_or(u32::MAX);
    let last = runs.into_iter().next();
    Ok(last.map(|last| Chain { last, attempts, cost, used: by_model(&used) }))
}

fn json(record: &CostAnomalyRecord) -> Result<Value> {
    serde_json::to_value(record).map_err(|error| EngineError::io("write an anomaly")(error.into()))
}

fn parse_cursor(cursor: &str) -> Result<LedgerCursor> {
    cursor
        .split_once(':')
        .and_then(|(at, seq)| Some((at.parse().ok()?, seq.parse().ok()?)))
        .ok_or_else(|| EngineError::invalid("cursor", "is not a cursor of this list"))
}

/// The heads of the columns.
const HEADS: [&str; 26] = [
    "execution_id",
    "ended_at",
    "project",
    "project_id",
    "task",
    "task_id",
    "title",
    "role",
    "agent",
    "agent_id",
    "model",
    "models",
    "strategy",
    "race",
    "status",
    "attempt",
    "restart",
    "cost_micro_usd",
    "cost_source",
    "price_version",
    "input",
    "cache_read",
    "cache_write",
    "output",
    "reasoning",
    "anomaly",
];

fn csv_head() -> String {
    format!("{}\r\n", HEADS.join(","))
}

fn csv_line(row: &CostRow, text: &mut String) {
    let race = match row.race_won {
        Some(true) => "won",
        Some(false) => "lost",
        None => "",
    };
    let fields: [String; 26] = [
        row.execution_id.0.clone(),
        row.ended_at.to_string(),
        row.project_name.clone(),
        row.project_id.0.clone(),
        row.task_number.to_string(),
        row.task_id.0.clone(),
        row.task_title.clone(),
        row.role.to_string(),
        row.agent_name.clone(),
        row.agent_id.0.clone(),
        row.model.clone().unwrap_or_default(),
        row.models.to_string(),
        row.strategy.clone().unwrap_or_default(),
        race.to_owned(),
        row.status.to_string(),
        row.attempt.to_string(),
        row.is_restart.to_string(),
        // Empty is unknown; it is not zero.
        row.cost_micro_usd.map(|cost| cost.to_string()).unwrap_or_default(),
        row.cost_source.to_string(),
        row.price_version.clone().unwrap_or_default(),
        row.tokens.input.to_string(),
        row.tokens.cache_read.to_string(),
        row.tokens.cache_write.to_string(),
        row.tokens.output.to_string(),
        row.tokens.reasoning.to_string(),
        row.is_anomaly.to_string(),
    ];
    push_line(&fields, text);
}

fn push_line(fields: &[String], text: &mut String) {
    let fields: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
    text.push_str(&fields.join(","));
    text.push_str("\r\n");
}

/// A field as RFC 4180 has it. What a spreadsheet would take for a formula gets a mark in front: titles are anybody's.
fn quoted(field: &str) -> String {
    let is_formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let field = if is_formula { format!("'{field}") } else { field.to_owned() };
    if field.contains([',', '"', '\r', '\n']) || is_formula {
        return format!("\"{}\"", field.replace('"', "\"\""));
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_no_formulas() {
        for (field, written) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=1+1", "\"'=1+1\""),
            ("@x", "\"'@x\""),
            ("", ""),
        ] {
            assert_eq!(quoted(field), written);
        }
    }

    #[test]
    fn cursors_are_what_pages_gave() {
        assert_eq!(parse_cursor("12:34").unwrap(), (12, 34));
        for wrong in ["", "12", "12:x", ":"] {
            parse_cursor(wrong).unwrap_err();
        }
    }
}

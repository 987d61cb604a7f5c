//! `forge cost`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use forge_api::{
    operations::{CostAnomalies, CostForecast, CostLedger, CostSums},
    ops::{
        costs::{CostsBy, ListAnomalies, ListCosts},
        projects::ProjectPath,
    },
};
use forge_model::{
    cost::{self, CostAnomalyEntry, CostGroup, CostRow, CostSum},
    ids::ProjectId,
    time::Timestamp,
    words::{counted, dollars},
};

use crate::{
    answer::Answer,
    args::{By, Cost},
    at::{At, told_task},
    error::CliError,
    shown::{NONE, table},
    words::{plain, time},
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How many runs are listed, the latest first.
const MOST: u32 = 200;
/// What is said of no costs.
const NOTHING: &str = "No matching runs.";

pub(crate) async fn run(at: &At, asked: Cost) -> Result<Answer, CliError> {
    if asked.forecast {
        let project_id = at.project().await?;
        let found = at.call(CostForecast, ProjectPath { project_id }).await?;
        let text = forecast(&found);
        return Ok(Answer::new(found.json, text));
    }
    // All projects, unless one is named.
    let project = at.only().await?;
    let since = asked.days.map(since);
    if asked.anomalies {
        return anomalies(at, project, since).await;
    }
    if asked.runs {
        return ledger(at, project, since).await;
    }
    let by = match asked.by {
        By::Day => CostGroup::Day,
        By::Project => CostGroup::Project,
        By::Task => CostGroup::Task,
        By::Agent => CostGroup::Agent,
        By::Model => CostGroup::Model,
    };
    let sums = at.call(CostSums, CostsBy { by, project, since, until: None }).await?;
    let rows: Vec<Vec<String>> = sums.items.iter().map(row).collect();
    let text = match rows.as_slice() {
        [] => NOTHING.to_owned(),
        rows => table(&[by.as_str().to_uppercase().as_str(), "COST", "RUNS", "INPUT", "OUTPUT", ""], rows),
    };
    Ok(Answer::new(sums.json, text))
}

fn forecast(found: &cost::CostForecast) -> String {
    let mut lines = vec![format!("today       {}", dollars(found.today_micro_usd))];
    lines.extend(
        found
            .day_end_micro_usd
            .map(|end| format!("end of day  {}, at the pace of the last hours", dollars(end))),
    );
    let limit = found.limit_micro_usd.map(|limit| match found.reaches_limit_at {
        Some(at) => format!("limit       {}, reached at {}", dollars(limit), time(at)),
        None => format!("limit       {}", dollars(limit)),
    });
    lines.extend(limit);
    lines.join("\n")
}

/// So many days ago, by the clock of this computer, as a person counts.
pub(crate) fn since(days: u32) -> Timestamp {
    let past = DAY.saturating_mul(days);
    let since = SystemTime::now().checked_sub(past).and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    Timestamp(since.and_then(|since| since.as_millis().try_into().ok()).unwrap_or_default())
}

fn row(sum: &CostSum) -> Vec<String> {
    let tokens = &sum.tokens;
    let label = match sum.task_number {
        Some(number) => format!("#{number} {}", sum.label),
        None if sum.label.is_empty() => "unknown".to_owned(),
        None => sum.label.clone(),
    };
    // A cost that is not known never reads as none.
    let (cost, unknown) = match sum.unknown {
        0 => (dollars(sum.cost_micro_usd), String::new()),
        all if all == sum.runs => ("unknown".to_owned(), String::new()),
        some => (
            dollars(sum.cost_micro_usd),
            format!("excludes {} of unknown cost", counted(some.into(), "run", "runs")),
        ),
    };
    vec![
        label,
        cost,
        sum.runs.to_string(),
        (tokens.input + tokens.cache_read + tokens.cache_write).to_string(),
        tokens.output.to_string(),
        unknown,
    ]
}

async fn ledger(at: &At, project: Option<ProjectId>, since: Option<Timestamp>) -> Result<Answer, CliError> {
    let page = at
        .call(
            CostLedger,
            ListCosts { project: project.clone(), since, until: None, limit: Some(MOST), cursor: None },
        )
        .await?;
    let names = at.projects_to_tell(project.as_ref()).await?;
    let row = |run: &CostRow| {
        vec![
            told_task(&names, Some(&run.project_id), Some(run.task_number)),
            run.agent_name.clone(),
            run.model.clone().unwrap_or_else(|| NONE.to_owned()),
            run.cost_micro_usd.map_or_else(|| "unknown".to_owned(), dollars),
            plain(run.status.as_str()),
            time(run.ended_at),
            if run.is_anomaly { "unusually high".to_owned() } else { String::new() },
        ]
    };
    let rows: Vec<Vec<String>> = page.items.iter().map(row).collect();
    let text = match rows.as_slice() {
        [] => NOTHING.to_owned(),
        rows => table(&["TASK", "AGENT", "MODEL", "COST", "END", "AT", ""], rows) + more(&page.next_cursor),
    };
    Ok(Answer::new(page.json, text))
}

async fn anomalies(
    at: &At,
    project: Option<ProjectId>,
    since: Option<Timestamp>,
) -> Result<Answer, CliError> {
    let list = ListAnomalies { project, task_id: None, since, until: None, limit: Some(MOST), cursor: None };
    let page = at.call(CostAnomalies, list).await?;
    let row = |found: &CostAnomalyEntry| {
        let record = &found.record;
        vec![
            format!("#{}", found.task_number),
            record.model.clone(),
            dollars(record.cost_micro_usd),
            format!("{:.1} times the median", record.ratio),
            record.title.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = page.items.iter().map(row).collect();
    let text = match rows.as_slice() {
        [] => "No run of unusually high cost.".to_owned(),
        rows => table(&["TASK", "MODEL", "COST", "", "TITLE"], rows) + more(&page.next_cursor),
    };
    Ok(Answer::new(page.json, text))
}

/// Says that earlier ones are not shown.
const fn more(cursor: &Option<String>) -> &'static str {
    match cursor {
        Some(_) => "\nEarlier ones are not shown; narrow it down with --days or --project.",
        None => "",
    }
}

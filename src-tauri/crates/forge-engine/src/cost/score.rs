//! The scoreboard: what the work of agents came to.

use forge_model::scoreboard::{ScoreGroup, ScoreRow, Scoreboard, Share, scoreboard as score};
use forge_model::workflow::StateKind;
use forge_store::ReadConnection;
use forge_store::table::{ledger::CostFilter, scores::WorkflowStates};

use super::push_line;
use crate::{
    World,
    core::{self, context::ProjectContext},
    error::Result,
};

/// The scoreboard over the work whose last run ended in a time.
pub(crate) async fn scoreboard(world: &World, filter: &CostFilter, by: ScoreGroup) -> Result<Scoreboard> {
    let mut conn = world.store().read().await?;
    let states = states(world, &mut conn).await?;
    Ok(score(&conn.scores().work(filter, &states).await?, by))
}

/// Its lines as comma-separated values. What is not known is empty.
pub(crate) async fn scoreboard_csv(world: &World, filter: &CostFilter, by: ScoreGroup) -> Result<String> {
    let board = scoreboard(world, filter, by).await?;
    let mut text = format!("{}\r\n", COLUMNS.join(","));
    board.rows.iter().for_each(|row| csv_line(row, &mut text));
    Ok(text)
}

/// What the workflows of all projects call the ends of their tasks, and where blocked ones stand. A project whose
/// workflow cannot be read has neither.
async fn states(world: &World, conn: &mut ReadConnection) -> Result<WorkflowStates> {
    let mut states = WorkflowStates::default();
    for row in conn.projects().list().await? {
        let id = &row.project.id;
        let context = match core::contexts::context(world, conn, id).await {
            Ok(context) => context,
            Err(error) => {
                tracing::warn!(%error, project = %id, "the scoreboard does not know which tasks of a project are over");
                continue;
            }
        };
        let entries = context.for_entries()?;
        let mut add = |context: &ProjectContext, of_entries: bool| {
            for state in &context.workflow.states {
                let named = (id.clone(), state.name.clone());
                // An entry is over with its race, whatever its own state.
                if state.kind == StateKind::Terminal && !of_entries {
                    states.over.insert(named);
                } else if state.kind == StateKind::Blocked {
                    states.blocked.insert(named);
                }
            }
        };
        add(&context, false);
        add(&entries, true);
    }
    Ok(states)
}

const COLUMNS: &[&str] = &[
    "agent",
    "model",
    "effort",
    "tasks",
    "first_reviews",
    "passed_first",
    "passed_first_rate",
    "passed_first_low",
    "passed_first_high",
    "over",
    "merged",
    "merged_rate",
    "merged_low",
    "merged_high",
    "blocked",
    "retries_per_merged",
    "passed",
    "median_ms",
    "p90_ms",
    "runs",
    "unknown_cost_runs",
    "cost_micro_usd",
    "cost_per_merged_micro_usd",
    "lines_added",
    "lines_removed",
];

fn csv_line(row: &ScoreRow, text: &mut String) {
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let share = |share: &Share| {
        [
            share.of.to_string(),
            share.count.to_string(),
            number(share.rate),
            number(share.low),
            number(share.high),
        ]
    };
    let who = &row.who;
    let mut fields = vec![
        who.agent_name.clone(),
        who.model.clone().unwrap_or_default(),
        who.effort.clone().unwrap_or_default(),
        row.tasks.to_string(),
    ];
    fields.extend(share(&row.passed_first));
    fields.extend(share(&row.merged));
    fields.extend([
        row.blocked.count.to_string(),
        number(row.retries_per_merged),
        row.passed.to_string(),
        number(row.median_ms),
        number(row.p90_ms),
        row.runs.to_string(),
        row.unknown.to_string(),
        row.cost_micro_usd.to_string(),
        number(row.cost_per_merged_micro_usd),
        row.lines_added.to_string(),
        row.lines_removed.to_string(),
    ]);
    push_line(&fields, text);
}

//! The retry budgets of a task: what is left of its automatic retries. Every limit that is shown or enforced comes
//! from here.

use std::collections::HashMap;

use forge_model::budget::{Budgets, Spent};
use forge_model::ids::TaskId;
use forge_store::ReadConnection;
use forge_store::table::tasks::TaskRow;

use crate::{core::context::ProjectContext, error::Result};

/// The budgets of tasks of one project.
pub(crate) async fn budgets(
    conn: &mut ReadConnection,
    context: &ProjectContext,
    tasks: &[&TaskRow],
) -> Result<HashMap<TaskId, Budgets>> {
    let ids: Vec<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
    let merge_failed = context.workflow.merge_failed().map(|state| state.name.as_str());
    let moves = conn.transitions().spent(&ids, merge_failed).await?;
    let runs = conn.executions().spent(&ids).await?;
    Ok(tasks
        .iter()
        .map(|task| {
            let (review, merge_fix) = moves.get(&task.id).copied().unwrap_or_default();
            let execution = runs.get(&task.id).copied().unwrap_or_default();
            let own = task.task_state_config.clone().unwrap_or_default().retry_budgets;
            let limits = context.workflow.budget_limits(&own);
            (task.id.clone(), Budgets::of(limits, Spent { review, merge_fix, execution }))
        })
        .collect())
}

/// The budgets of one task.
pub(crate) async fn budget(
    conn: &mut ReadConnection,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<Budgets> {
    let mut all = budgets(conn, context, &[task]).await?;
    Ok(all.remove(&task.id).unwrap_or_else(|| {
        let own = task.task_state_config.clone().unwrap_or_default().retry_budgets;
        Budgets::of(context.workflow.budget_limits(&own), Spent::default())
    }))
}

/// Starts over from the newest move: counts anew, and goes on with no conversation of before.
pub(crate) async fn start_over(conn: &mut ReadConnection, task: &mut TaskRow) -> Result<()> {
    reset(conn, task).await?;
    task.session_boundary = task.budget_boundary;
    Ok(())
}

/// Starts counting anew from the newest move.
pub(crate) async fn reset(conn: &mut ReadConnection, task: &mut TaskRow) -> Result<()> {
    task.budget_boundary = conn.transitions().max_seq().await?;
    Ok(())
}

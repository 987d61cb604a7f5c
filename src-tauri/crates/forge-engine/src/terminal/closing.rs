//! The end of a task's terminals when a person closes it, after a word when a program runs in one.

use std::time::Duration;

use forge_model::ids::TaskId;
use forge_model::terminal::{Terminal, process_of};
use forge_store::table::terminals::TerminalRow;
use serde_json::{Value, json};

use super::{
    ends,
    policy::{Runs, busy, ended, runs},
};
use crate::{ConflictCode, EngineError, World, core::going::ENDS_WITHIN, error::Result};

/// How long whoever asks what runs waits for the keeper.
const TOLD_WITHIN: Duration = Duration::from_secs(10);

/// What runs in terminals, beside their shells.
pub(super) async fn runs_in(world: &World, rows: &[TerminalRow]) -> Vec<(Terminal, Runs)> {
    let open = rows.iter().filter(|row| row.terminal.ended_at.is_none());
    let asked = open.map(async |row| {
        let id = process_of(&row.terminal.id);
        let program = tokio::time::timeout(TOLD_WITHIN, world.keeper().foreground(&id)).await;
        let program = program.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()));
        runs(program).map(|runs| (row.terminal.clone(), runs))
    });
    futures::future::join_all(asked).await.into_iter().flatten().collect()
}

/// Refuses to end terminals in which programs run.
pub(super) fn refuse(running: &[(Terminal, Runs)]) -> Result<()> {
    if running.is_empty() {
        return Ok(());
    }
    let facts = |(terminal, runs): &(Terminal, Runs)| {
        let mut facts = json!({ "id": terminal.id, "title": terminal.title });
        match runs {
            Runs::Program(program) => {
                (facts["program"], facts["pid"]) = (json!(program.name), json!(program.pid));
            }
            Runs::Unknown(reason) => facts["reason"] = json!(reason),
        }
        facts
    };
    let facts: Vec<Value> = running.iter().map(facts).collect();
    Err(EngineError::Conflict {
        code: ConflictCode::TerminalBusy,
        message: busy(running),
        details: json!({ "terminals": facts }),
    })
}

/// Refuses to end the terminals of tasks in which programs run.
pub(super) async fn require_idle(world: &World, tasks: &[TaskId]) -> Result<()> {
    let mut rows = Vec::new();
    for task in tasks {
        rows.extend(world.store().read().await?.terminals().of_task(task).await?);
    }
    refuse(&runs_in(world, &rows).await)
}

/// Ends the terminals of a task that a person closed, and drops them. The task is closed whatever becomes of them: what
/// could not be ended is, when its worktree goes or at the next start.
pub(crate) async fn end_all(world: &World, task: &TaskId) {
    let ended = async {
        let ended = write_ends(world, task, "Ended since the task was closed").await?;
        ends::drop_ended(world, &ended).await
    };
    match tokio::time::timeout(ENDS_WITHIN, ended).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::error!(%error, %task, "failed to end the terminals of a task that was closed");
        }
        Err(_) => tracing::error!(%task, "the terminals of a task that was closed do not end"),
    }
}

/// Writes the ends of a task's terminals. All of them, those that had ended included.
pub(super) async fn write_ends(world: &World, task: &TaskId, reason: &str) -> Result<Vec<Terminal>> {
    // A writing transaction, so that one that is opened is either seen here or sees that the worktree goes.
    crate::core::disk::with_patience(world, || async {
        let mut tx = world.store().write().await?;
        let rows = tx.terminals().of_task(task).await?;
        for row in &rows {
            ends::end(world, &mut tx, &row.terminal, &ended(reason)).await?;
        }
        tx.commit().await?;
        Ok(rows.into_iter().map(|row| row.terminal).collect())
    })
    .await
}

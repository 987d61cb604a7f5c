//! The end of a task's terminals when a person closes it, after a word when a program runs in one.

use forge_exec::NamedProcess;
use forge_model::ids::TaskId;
use forge_model::terminal::{Terminal, process_of};
use forge_store::table::terminals::TerminalRow;
use serde_json::{Value, json};

use super::{
    ends,
    policy::{busy, ended},
};
use crate::{ConflictCode, EngineError, World, error::Result};

/// The programs that run in terminals, beside their shells.
pub(super) async fn runs_in(world: &World, rows: &[TerminalRow]) -> Result<Vec<(Terminal, NamedProcess)>> {
    let mut running = Vec::new();
    for row in rows.iter().filter(|row| row.terminal.ended_at.is_none()) {
        let program = world.keeper().foreground(&process_of(&row.terminal.id)).await;
        let program = program.map_err(EngineError::io("ask what runs in a terminal"))?;
        running.extend(program.map(|program| (row.terminal.clone(), program)));
    }
    Ok(running)
}

/// Refuses to end terminals in which programs run.
pub(super) fn refuse(running: &[(Terminal, NamedProcess)]) -> Result<()> {
    if running.is_empty() {
        return Ok(());
    }
    let facts = |(terminal, program): &(Terminal, NamedProcess)| json!({ "id": terminal.id, "title": terminal.title, "program": program.name, "pid": program.pid });
    let facts: Vec<Value> = running.iter().map(facts).collect();
    Err(EngineError::Conflict {
        code: ConflictCode::TerminalBusy,
        message: busy(running),
        details: json!({ "terminals": facts }),
    })
}

/// Refuses to close a task in whose terminals programs run.
pub(crate) async fn require_idle(world: &World, task: &TaskId) -> Result<()> {
    let rows = world.store().read().await?.terminals().of_task(task).await?;
    refuse(&runs_in(world, &rows).await?)
}

/// Ends the terminals of a task that a person closed, and drops them. The task is closed whatever becomes of them: what
/// could not be ended is, when its worktree goes or at the next start.
pub(crate) async fn end_all(world: &World, task: &TaskId) {
    let ended = async {
        let ended = write_ends(world, task, "Ended since the task was closed").await?;
        ends::drop_ended(world, &ended).await
    };
    if let Err(error) = ended.await {
        tracing::error!(%error, %task, "failed to end the terminals of a task that was closed");
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

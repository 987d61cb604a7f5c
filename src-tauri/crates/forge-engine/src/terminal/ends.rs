//! Writing the end of a terminal, and ending its processes.

use forge_model::event::EventType;
use forge_model::terminal::{Terminal, process_of};
use forge_store::Tx;
use forge_store::table::terminals::TerminalEnd;
use serde_json::json;

use super::opened::{Opened, terminals};
use crate::{
    ConflictCode, EngineError, World,
    core::{self, going::ENDS_WITHIN},
    error::Result,
};

/// Tells that a terminal changed.
pub(super) async fn emit(world: &World, tx: &mut Tx, terminal: &Terminal, state: &str) -> Result<()> {
    let facts = json!({ "title": terminal.title, "state": state });
    let (project, task) = (Some(&terminal.project_id), Some(&terminal.task_id));
    tx.emit(EventType::TerminalChanged, world.now(), project, task, terminal.id.as_str(), &facts).await?;
    Ok(())
}

/// Writes an end in a transaction. Whether the terminal had none.
pub(super) async fn end(world: &World, tx: &mut Tx, terminal: &Terminal, end: &TerminalEnd) -> Result<bool> {
    let is_first = tx.terminals_mut().end(&terminal.id, end, world.now()).await?;
    if is_first {
        emit(world, tx, terminal, "ended").await?;
    }
    Ok(is_first)
}

/// Writes an end, and waits for a disk that refuses it.
pub(super) async fn write_end(world: &World, terminal: &Terminal, how: &TerminalEnd) -> Result<()> {
    core::disk::with_patience(world, || async {
        let mut tx = world.store().write().await?;
        end(world, &mut tx, terminal, how).await?;
        Ok(tx.commit().await?)
    })
    .await?;
    world.point("terminal.ended");
    Ok(())
}

/// Ends the processes of terminals whose ends are written, waits until nothing of them runs, and drops them.
///
/// # Errors
/// The first of those that could not be ended, once all others are.
pub(super) async fn drop_ended(world: &World, ended: &[Terminal]) -> Result<()> {
    let gone = futures::future::join_all(ended.iter().map(|terminal| end_process(world, terminal))).await;
    gone.into_iter().collect::<Result<()>>()?;
    let mut tx = world.store().write().await?;
    for terminal in ended {
        if tx.terminals_mut().delete_ended(&terminal.id).await? {
            emit(world, &mut tx, terminal, "closed").await?;
        }
        terminals(world).forget(&terminal.id);
    }
    tx.commit().await?;
    Ok(())
}

/// Ends the processes of a terminal whose end is written, and waits until nothing of it runs.
async fn end_process(world: &World, terminal: &Terminal) -> Result<()> {
    if let Some(opened) = terminals(world).get(&terminal.id)
        && end_followed(&opened).await?
    {
        return Ok(());
    }
    // Nobody follows it in this process, which does only what it is told of, or cannot reach it.
    let id = process_of(&terminal.id);
    world.keeper().forget(&id).await.map_err(EngineError::io("end a terminal"))
}

/// Ends a terminal that is followed. Whether nothing of it runs: otherwise it is not followed any more.
///
/// # Errors
/// When it goes on running.
pub(super) async fn end_followed(opened: &Opened) -> Result<bool> {
    opened.stop.cancel();
    tokio::select! {
        () = opened.over.cancelled() => Ok(true),
        () = opened.left.cancelled() => Ok(false),
        () = tokio::time::sleep(ENDS_WITHIN) => {
            let message = "a terminal of the task does not end: the program that runs terminals does not answer";
            Err(EngineError::conflict(ConflictCode::InUse, message))
        }
    }
}

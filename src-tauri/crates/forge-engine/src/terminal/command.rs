//! What a person asks for: opening terminals, typing to them, reading and resizing them, closing them.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use forge_exec::TerminalSize;
use forge_model::actor::Actor;
use forge_model::ids::{TaskId, TerminalId};
use forge_model::terminal::{
    MOST_CELLS, MOST_INPUT_BYTES, MOST_TERMINALS, Printed, Terminal, TerminalOutput, title_beside,
};
use forge_store::table::terminals::TerminalRow;

use super::{
    closing::runs_in,
    ends,
    follow::{begin, go_on},
    opened::{Found, Opened, terminals},
    policy::ended,
    prepared::{place_of, require_here},
};
use crate::{
    ConflictCode, EngineError, Work, World,
    core::{self, going::GoingWorktrees},
    error::{Result, whole},
};

/// How much of what a terminal printed is told at once.
const MOST_OUTPUT_BYTES: usize = 256 * 1024;

/// How long whoever reads waits for what was printed before this engine went on with a terminal.
const KNOWN_WITHIN: Duration = Duration::from_secs(20);

/// Terminals of a task, oldest first, those that ended and were not closed among them.
pub(crate) async fn of_task(world: &World, id: &TaskId) -> Result<Vec<Terminal>> {
    let mut conn = world.store().read().await?;
    core::load::load(world, &mut conn, id, None).await?;
    let rows = conn.terminals().of_task(id).await?;
    Ok(rows.into_iter().map(|row| row.terminal).collect())
}

/// Opens a terminal in a task's worktree.
pub(crate) async fn open(
    world: &World,
    actor: &Actor,
    id: &TaskId,
    (columns, rows): (u16, u16),
) -> Result<Terminal> {
    require_person(actor)?;
    let size = size_of(columns, rows)?;
    let place = place_of(world, id).await?;
    let mut tx = world.store().write().await?;
    if world.part::<GoingWorktrees>().contains(&place.workspace.id) {
        let message = "the task's worktree is about to be removed";
        return Err(EngineError::conflict(ConflictCode::WorkspaceMissing, message));
    }
    require_here(&mut tx, &place.workspace).await?;
    let others = tx.terminals().of_task(id).await?;
    if others.len() >= MOST_TERMINALS {
        let message = format!("a task can have at most {MOST_TERMINALS} terminals: close one first");
        return Err(EngineError::conflict(ConflictCode::TerminalsFull, message));
    }
    let titles: Vec<&str> = others.iter().map(|row| row.terminal.title.as_str()).collect();
    let terminal = Terminal {
        id: world.new_id(),
        task_id: id.clone(),
        project_id: place.task.project_id.clone(),
        title: title_beside(&titles),
        opened_by: actor.to_string(),
        opened_at: world.now(),
        ended_at: None,
        exit_code: None,
        reason: None,
    };
    let row = TerminalRow {
        terminal: terminal.clone(),
        workspace_id: place.workspace.id.clone(),
        size: (size.columns, size.rows),
        spawned: false,
    };
    tx.terminals_mut().insert(&row).await?;
    ends::emit(world, &mut tx, &terminal, "opened").await?;
    tx.commit().await?;
    world.point("terminal.recorded");
    begin(world, row, Found::New);
    Ok(terminal)
}

/// Types something. Waits while the program in the terminal reads nothing.
pub(crate) async fn input(world: &World, actor: &Actor, id: &TerminalId, bytes: Vec<u8>) -> Result<()> {
    require_person(actor)?;
    if bytes.len() > MOST_INPUT_BYTES {
        let message = format!("at most {MOST_INPUT_BYTES} bytes may be typed at once");
        return Err(EngineError::invalid("bytes", message));
    }
    let opened = running(world, id).await?;
    if bytes.is_empty() {
        return Ok(());
    }
    tokio::select! {
        biased;
        () = opened.over.cancelled() => Err(has_ended()),
        () = opened.left.cancelled() => Err(away("its keeper does not answer")),
        sent = opened.input.send(bytes) => sent.map_err(|_| has_ended()),
    }
}

/// Gives a terminal another size.
pub(crate) async fn resize(
    world: &World,
    actor: &Actor,
    id: &TerminalId,
    (columns, rows): (u16, u16),
) -> Result<()> {
    require_person(actor)?;
    let size = size_of(columns, rows)?;
    running(world, id).await?.resize(size);
    Ok(())
}

/// What a terminal printed from an offset on. Waits up to `wait` for something where there is nothing yet.
pub(crate) async fn output(
    world: &World,
    actor: &Actor,
    id: &TerminalId,
    (generation, from): (Option<&str>, u64),
    wait: Duration,
) -> Result<TerminalOutput> {
    require_person(actor)?;
    let opened = match terminals(world).get(id) {
        Some(opened) => opened,
        // What it printed went with the engine that followed it.
        None if row_of(world, id).await?.terminal.ended_at.is_some() => {
            let nothing = Printed { from: 0, bytes: Vec::new(), next: 0 };
            return Ok(told(String::new(), nothing, 0, true));
        }
        None => taken_up(world, id).await?,
    };
    if !is_known_whole(world, &opened).await {
        return Err(away("what it printed before is not known yet"));
    }
    // The offset counts in this engine, or in none.
    let from = if generation == Some(opened.generation.as_str()) { from } else { 0 };
    if !opened.over.is_cancelled() {
        let mut length = opened.length.subscribe();
        tokio::select! {
            biased;
            // The sender is the terminal's own.
            _ = length.wait_for(|length| *length > from) => {}
            () = opened.over.cancelled() => {}
            () = opened.left.cancelled() => return Err(away("its keeper does not answer")),
            () = world.inner.shutdown.cancelled() => {}
            () = world.inner.leave.cancelled() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
    // Looked at before: what was printed last comes with the end, or before it.
    let is_over = opened.over.is_cancelled();
    let (read, end) = {
        let printed = core::sync::locked(&opened.printed);
        (printed.read(from, MOST_OUTPUT_BYTES), printed.end())
    };
    let is_all = read.next >= end;
    Ok(told(opened.generation.clone(), read, end, is_over && is_all))
}

/// Waits until all is here that it printed before this engine went on with it: whoever reads it is told where that ends.
async fn is_known_whole(world: &World, opened: &Opened) -> bool {
    tokio::select! {
        biased;
        () = opened.live.cancelled() => true,
        () = opened.over.cancelled() => true,
        () = opened.left.cancelled() => false,
        () = world.inner.shutdown.cancelled() => false,
        () = world.inner.leave.cancelled() => false,
        () = tokio::time::sleep(KNOWN_WITHIN) => false,
    }
}

fn told(generation: String, read: Printed, end: u64, ended: bool) -> TerminalOutput {
    let offset = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
    TerminalOutput {
        generation,
        from: offset(read.from),
        next: offset(read.next),
        end: offset(end),
        bytes: STANDARD.encode(read.bytes),
        ended,
    }
}

/// Closes a terminal: ends what runs in it, after a word when that is a program, and drops it.
pub(crate) async fn close(world: &World, actor: &Actor, id: &TerminalId, ends_program: bool) -> Result<()> {
    require_person(actor)?;
    let row = row_of(world, id).await?;
    if row.terminal.ended_at.is_none() && !ends_program {
        let running = runs_in(world, std::slice::from_ref(&row)).await;
        super::closing::refuse(&running)?;
    }
    let mut tx = world.store().write().await?;
    ends::end(world, &mut tx, &row.terminal, &ended("Closed by a person")).await?;
    tx.commit().await?;
    world.point("terminal.closed");
    ends::drop_ended(world, std::slice::from_ref(&row.terminal)).await
}

/// A terminal that runs.
async fn running(world: &World, id: &TerminalId) -> Result<Arc<Opened>> {
    let row = row_of(world, id).await?;
    if row.terminal.ended_at.is_some() {
        return Err(has_ended());
    }
    taken_up(world, id).await
}

/// A terminal that runs by its row, followed. An engine that could not ask the keeper for it at its start does so now.
async fn taken_up(world: &World, id: &TerminalId) -> Result<Arc<Opened>> {
    if let Some(opened) = terminals(world).get(id) {
        return Ok(opened);
    }
    if world.inner.config.work != Work::All {
        // What ends with its command follows nothing.
        return Err(away("no engine that stays follows it: start Forge first"));
    }
    go_on(world).await.map_err(|error| away(&whole(&error)))?;
    terminals(world).get(id).ok_or_else(has_ended)
}

async fn row_of(world: &World, id: &TerminalId) -> Result<TerminalRow> {
    let row = world.store().read().await?.terminals().get(id).await?;
    row.ok_or_else(|| EngineError::not_found("terminal", id))
}

fn has_ended() -> EngineError {
    EngineError::conflict(ConflictCode::TerminalEnded, "the terminal has ended: open another one")
}

/// It is not to be had now, and may be later.
fn away(reason: &str) -> EngineError {
    let message = format!("the terminal cannot be reached: {reason}");
    EngineError::conflict(ConflictCode::TerminalAway, message)
}

fn require_person(actor: &Actor) -> Result<()> {
    if actor.is_user() {
        return Ok(());
    }
    Err(EngineError::conflict(ConflictCode::PersonRequired, "only people can use terminals"))
}

fn size_of(columns: u16, rows: u16) -> Result<TerminalSize> {
    for (field, count) in [("columns", columns), ("rows", rows)] {
        if !(1..=MOST_CELLS).contains(&count) {
            let message = format!("must be a whole number from 1 to {MOST_CELLS}");
            return Err(EngineError::invalid(field, message));
        }
    }
    Ok(TerminalSize { columns, rows })
}

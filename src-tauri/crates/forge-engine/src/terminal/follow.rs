//! Following a terminal from its start to its end, in this engine or as one that an earlier engine started.

use std::sync::Arc;

use forge_exec::{Marker, sweep};
use forge_keeper::{KeepError, KeptRun, Limits, Session};
use forge_model::terminal::{Terminal, process_of};
use forge_store::table::terminals::{TerminalEnd, TerminalRow};

use super::{
    ends::write_end,
    opened::{Found, Opened, terminals},
    policy::{end_of, ended},
    prepared::prepare,
    sink::Screen,
};
use crate::{
    EngineError, World,
    core::{self},
    error::{Result, whole},
};

/// From the gentle signal to the kill of what a keeper left that was killed.
const SWEEP_GRACE: std::time::Duration = std::time::Duration::from_secs(2);

/// How following ended.
enum Followed {
    Ended(TerminalEnd),
    /// The next engine goes on with it.
    Left,
    /// Its keeper did not answer, for this reason. It is gone on with when somebody asks for it.
    Unreached(String),
    /// Nobody knows of it any more.
    Dropped,
}

/// Goes on with the terminals that nobody follows in this process: those that the keeper has, and those that it never got.
///
/// # Errors
/// When the keeper does not say which it has.
pub(super) async fn go_on(world: &World) -> Result<()> {
    let mut rows = world.store().read().await?.terminals().active().await?;
    rows.retain(|row| terminals(world).get(&row.terminal.id).is_none());
    if rows.is_empty() {
        return Ok(());
    }
    let kept = world.keeper().runs().await.map_err(EngineError::io("ask which terminals went on"))?;
    for row in rows {
        let id = process_of(&row.terminal.id);
        let found = match (kept.iter().any(|kept| kept.id == id), row.spawned) {
            (true, _) => Found::Kept,
            (false, true) => Found::Lost,
            (false, false) => Found::New,
        };
        begin(world, row, found);
    }
    Ok(())
}

/// Follows a terminal beside everything else.
pub(super) fn begin(world: &World, row: TerminalRow, found: Found) {
    let Some(opened) = terminals(world).follow(world, &row) else { return };
    if found != Found::Kept {
        // It printed nothing that is still to be had.
        opened.live.cancel();
    }
    let world = world.clone();
    world.clone().inner.tracker.spawn(async move {
        let followed = core::guarded::guarded(follow(&world, &row, &opened, found)).await;
        let end = match followed {
            Ok(Ok(Followed::Ended(end))) => Some(end),
            Ok(Ok(Followed::Left)) => None,
            Ok(Ok(Followed::Unreached(reason))) => {
                tracing::warn!(reason, terminal = %row.terminal.id, "lost sight of a terminal");
                terminals(&world).forget(&row.terminal.id);
                None
            }
            Ok(Ok(Followed::Dropped)) => {
                terminals(&world).forget(&row.terminal.id);
                opened.over.cancel();
                return;
            }
            // Forge leaves it to the next engine, which finds the same trouble or none.
            Ok(Err(error)) if world.inner.leave.is_cancelled() => {
                tracing::warn!(%error, terminal = %row.terminal.id, "left a terminal to the next engine");
                None
            }
            Ok(Err(error)) => Some(ended(whole(&error))),
            Err(panic) => Some(ended(panic.to_string())),
        };
        match end {
            Some(end) => {
                over(&world, &row.terminal, &end).await;
                // Whoever reads it learns that nothing more comes.
                opened.over.cancel();
            }
            None => opened.left.cancel(),
        }
    });
}

/// Writes the end of a terminal of which nothing is to go on.
async fn over(world: &World, terminal: &Terminal, end: &TerminalEnd) {
    if let Err(error) = world.keeper().forget(&process_of(&terminal.id)).await {
        tracing::warn!(%error, terminal = %terminal.id, "failed to drop a terminal that ended");
    }
    // The next start finds that nothing of it runs.
    if let Err(error) = write_end(world, terminal, end).await {
        tracing::error!(%error, terminal = %terminal.id, "failed to write the end of a terminal");
    }
}

async fn follow(world: &World, row: &TerminalRow, opened: &Arc<Opened>, found: Found) -> Result<Followed> {
    let id = process_of(&row.terminal.id);
    if found != Found::Kept {
        // Of an engine that was killed before it wrote that it had started the shell, or of a keeper that was.
        sweep(&Marker(id.clone()), SWEEP_GRACE).await;
    }
    if found == Found::Lost {
        return Ok(Followed::Ended(ended("Lost: the program that runs terminals was ended")));
    }
    // From here on whoever ends it finds it here; one that was ended before that is not begun.
    let row_now = world.store().read().await?.terminals().get(&row.terminal.id).await?;
    let Some(row_now) = row_now else { return Ok(Followed::Dropped) };
    if row_now.terminal.ended_at.is_some() {
        return Ok(Followed::Ended(closed()));
    }
    // A full disk is no reason to end one that runs.
    let Some(command) = core::disk::with_patience(world, || prepare(world, row, opened, found)).await? else {
        return Ok(Followed::Ended(closed()));
    };
    if opened.stop.is_cancelled() {
        return Ok(Followed::Ended(closed()));
    }
    let goes_on = found == Found::Kept;
    let size = command.terminal.as_ref().map(forge_exec::Terminal::size);
    let kept = KeptRun {
        id,
        task: row.terminal.task_id.0.clone(),
        command,
        limits: Limits::default(),
        memo: Vec::new(),
        goes_on,
        tools: None,
    };
    let session = match world.keeper().open(kept).await {
        Ok(session) => session,
        Err(error @ KeepError::NoKeeper { .. }) if goes_on => {
            return Ok(Followed::Unreached(whole(&error)));
        }
        Err(error) => return Ok(Followed::Ended(ended(whole(&error)))),
    };
    opened.runs(session.notes(), size.filter(|_| !goes_on));
    if !goes_on {
        world.point("terminal.started");
    }
    // An engine that was killed may not have come to it: the id names this shell for ever.
    if !row.spawned {
        write_spawned(world, row).await?;
        world.point("terminal.spawned");
    }
    in_session(world, opened, session).await
}

async fn write_spawned(world: &World, row: &TerminalRow) -> Result<()> {
    core::disk::with_patience(world, || async {
        let mut tx = world.store().write().await?;
        tx.terminals_mut().set_spawned(&row.terminal.id).await?;
        Ok(tx.commit().await?)
    })
    .await
}

async fn in_session(world: &World, opened: &Arc<Opened>, session: Session) -> Result<Followed> {
    let mut screen = Screen(Arc::clone(opened));
    let mut process = std::pin::pin!(session.run(&opened.stop, &mut screen));
    let finished = tokio::select! {
        biased;
        () = world.inner.leave.cancelled() => return Ok(Followed::Left),
        finished = &mut process => finished,
        () = world.inner.shutdown.cancelled() => {
            opened.stop.cancel();
            process.await.map_err(|error| EngineError::io("end a terminal")(std::io::Error::other(error)))?;
            return Ok(Followed::Ended(closed()));
        }
    };
    Ok(Followed::Ended(match finished {
        Ok(finished) => end_of(&finished),
        Err(KeepError::Lost { .. }) => ended("Lost: the program that runs terminals was ended"),
        Err(error @ KeepError::NoKeeper { .. }) => return Ok(Followed::Unreached(whole(&error))),
        Err(error) => ended(whole(&error)),
    }))
}

fn closed() -> TerminalEnd {
    ended("Ended with Forge")
}

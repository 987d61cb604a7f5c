//! The log of a run or a program: announcing its growth, closing it (which waits for a full disk), and reading pages
//! of it.

use forge_agents::LogReader;
use forge_model::log::LogPage;
use std::path::PathBuf;
use std::time::Duration;

use forge_agents::LogWriter;
use forge_model::ids::{ProjectId, TaskId};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    EngineError, World, core,
    error::Result,
    program::growth::{LogGrowth, LogGrowths},
};

/// How long a disk that refuses the end of a log is left alone, how often it is tried again though it takes everything
/// else, and with how much free space it is full.
const LOG_PAUSE: Duration = Duration::from_millis(500);

const LOG_TRIES: u32 = 10;

const LOG_NEEDS: u64 = 16 * 1024 * 1024;

/// Tells the growth of a log while the guard lives.
pub(crate) fn follow_log(
    world: &World,
    project: &ProjectId,
    task: Option<&TaskId>,
    log_id: &str,
    log: &LogWriter,
) -> DropGuard {
    let ended = CancellationToken::new();
    let guard = ended.clone().drop_guard();
    let mut last = log.follow();
    let sender = world.part::<LogGrowths>().0.clone();
    let (project_id, task_id, log_id) = (project.clone(), task.cloned(), log_id.to_owned());
    world.inner.tracker.spawn(async move {
        loop {
            let over = tokio::select! {
                () = ended.cancelled() => true,
                changed = last.changed() => changed.is_err(),
            };
            let seq = *last.borrow_and_update();
            // Nobody listening is fine: growth is news, not history.
            let _ = sender.send(LogGrowth {
                project_id: project_id.clone(),
                task_id: task_id.clone(),
                log_id: log_id.clone(),
                seq,
            });
            if over {
                return;
            }
        }
    });
    guard
}

/// Ends a log once the disk has taken all of it, or the engine stops.
pub(crate) async fn close_log(world: &World, log: LogWriter) -> Result<()> {
    let mut tries = 0;
    while !world.inner.shutdown.is_cancelled() {
        let flushed = log.clone();
        let written = tokio::task::spawn_blocking(move || flushed.flush()).await;
        if written.map_err(|error| EngineError::io("write a log")(std::io::Error::other(error)))? {
            break;
        }
        // A disk that takes everything else refuses this log for a reason that does not pass.
        let full = core::disk::disk_space(world).is_some_and(|space| space.free < LOG_NEEDS);
        tries = if full || core::disk::probe_storage(world).await.failure.is_some() { 0 } else { tries + 1 };
        if tries > LOG_TRIES {
            break;
        }
        tokio::select! {
            () = world.inner.shutdown.cancelled() => {}
            () = tokio::time::sleep(LOG_PAUSE) => {}
        }
    }
    tokio::task::spawn_blocking(move || log.close())
        .await
        .map(drop)
        .map_err(|error| EngineError::io("close a log")(std::io::Error::other(error)))
}

/// A stretch of a log of a folder; empty when it has no such log yet.
pub(crate) async fn page_of(
    dir: PathBuf,
    log: String,
    after: Option<u64>,
    before: Option<u64>,
    limit: usize,
) -> Result<LogPage> {
    let page = tokio::task::spawn_blocking(move || LogReader::page(&dir, &log, after, before, limit)).await;
    let page = page.map_err(|error| EngineError::io("read a log")(std::io::Error::other(error)))?;
    match page {
        Err(error @ forge_agents::LogError::BadId(_)) => Err(bad_log_id(&error)),
        Err(forge_agents::LogError::NotFound(_)) => {
            Ok(LogPage { entries: Vec::new(), first_seq: 0, last_seq: 0, total: 0 })
        }
        other => Ok(other?),
    }
}

pub(crate) fn bad_log_id(error: &forge_agents::LogError) -> EngineError {
    EngineError::invalid("log_id", error.to_string())
}

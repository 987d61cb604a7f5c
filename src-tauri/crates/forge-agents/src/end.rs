//! How a run's end is told, the same for every adapter.

use std::time::Duration;

use forge_exec::{ExecError, Exit, Finished};
use forge_model::log::{EntryKind, EntryStatus};
use serde_json::json;

use crate::{AgentError, LogWriter, NewEntry};

/// What a program that could not be run means.
pub(crate) fn not_run(error: ExecError) -> AgentError {
    let detail = error_chain(&error);
    match error {
        ExecError::NoProgram { program }
        | ExecError::NoFolder { program, .. }
        | ExecError::Start { program, .. } => {
            AgentError::Unavailable { program: program.to_string_lossy().into_owned(), detail }
        }
        ExecError::Wait { .. } | ExecError::Output { .. } => {
            AgentError::Crashed { exit: None, last_line: detail }
        }
    }
}

fn error_chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source())
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

/// The last entry of a run: how its process ended, and what that means.
pub(crate) fn note_end(
    log: &LogWriter,
    finished: Option<&Finished>,
    result: &Result<(), AgentError>,
    took: Duration,
) {
    let (code, signal) = match finished.map(|finished| finished.exit) {
        Some(Exit::Code(code)) => (Some(code), None),
        Some(Exit::Signal(signal)) => (None, Some(signal)),
        None => (None, None),
    };
    let error = result.as_ref().err();
    let mut entry = NewEntry::new(
        EntryKind::ProcessExit,
        "exit".to_owned(),
        json!({
            "code": code,
            "signal": signal,
            "duration_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            "left_behind": finished.map_or(0, |finished| finished.left_behind),
            "error": error.map(|error| json!({
                "code": error.code(), "message": error.to_string(), "remedy": error.remedy(),
            })),
        }),
    );
    entry.status = Some(match error {
        None => EntryStatus::Completed,
        Some(AgentError::Cancelled) => EntryStatus::Cancelled,
        Some(_) => EntryStatus::Failed,
    });
    log.append_entry(entry);
}

/// Whoever learns that the run is over shall find all of it in the log.
pub(crate) async fn flush(log: LogWriter) {
    if let Err(error) = tokio::task::spawn_blocking(move || log.flush()).await {
        tracing::error!(%error, "failed to write the end of a log");
    }
}

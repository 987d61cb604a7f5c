//! How a run's end is told, the same for every adapter.

use std::time::Duration;

use forge_exec::{ExecError, Exit, Finished};
use forge_keeper::KeepError;
use forge_model::log::{EntryKind, EntryStatus};
use serde_json::{Map, Value, json};

use crate::{AgentError, Launch, LogWriter, NewEntry, RunOutcome};

/// What a program that could not be run means.
pub(crate) fn not_run(error: KeepError) -> AgentError {
    let detail = error_chain(&error);
    match error {
        KeepError::Run(
            ExecError::NoProgram { program, .. }
            | ExecError::NoFolder { program, .. }
            | ExecError::Start { program, .. }
            | ExecError::Sandbox { program, .. },
        )
        | KeepError::NoKeeper { program, .. } => {
            AgentError::Unavailable { program: program.to_string_lossy().into_owned(), detail }
        }
        KeepError::Lost { .. } => AgentError::Lost,
        KeepError::Run(ExecError::Wait { .. } | ExecError::Output { .. }) => {
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

/// The last entry of a run: how its process ended, and what that means. `took` is how long this engine had to do with it,
/// for a process that nobody can say that of.
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
    let took = finished.map_or(took, |finished| finished.duration);
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
    entry.status = Some(status_of(result));
    log.append_entry(entry);
}

const fn status_of(result: &Result<(), AgentError>) -> EntryStatus {
    match result {
        Ok(()) => EntryStatus::Completed,
        Err(AgentError::Cancelled | AgentError::Lost) => EntryStatus::Cancelled,
        Err(_) => EntryStatus::Failed,
    }
}

/// The end of a run that could not be started: its log has what it was told, and why nothing came of it.
pub(crate) async fn never_began(launch: Launch, error: AgentError) -> RunOutcome {
    let Launch { log, prompt, .. } = launch;
    log.append_entry(NewEntry::text(EntryKind::UserMessage, &prompt));
    note_end(&log, None, &Err(error.clone()), Duration::ZERO);
    flush(log).await;
    RunOutcome::failed(error)
}

/// The entry of a turn's end: how the agent summed it up, what else its program tells of it, and what went wrong.
pub(crate) fn turn_ended(
    summary: Option<&str>,
    more: Map<String, Value>,
    judged: &Result<(), AgentError>,
) -> NewEntry {
    let error = judged.as_ref().err();
    let mut body = Map::new();
    body.insert("summary".to_owned(), json!(summary.filter(|_| error.is_none())));
    body.extend(more);
    let told = error.map(|error| json!({ "code": error.code(), "message": error.to_string() }));
    body.insert("error".to_owned(), json!(told));
    let mut entry = NewEntry::new(EntryKind::TurnEnded, "turn".to_owned(), Value::Object(body));
    entry.status = Some(status_of(judged));
    entry
}

/// Whoever learns that the run is over shall find all of it in the log.
pub(crate) async fn flush(log: LogWriter) {
    if let Err(error) = tokio::task::spawn_blocking(move || log.flush()).await {
        tracing::error!(%error, "failed to write the end of a log");
    }
}

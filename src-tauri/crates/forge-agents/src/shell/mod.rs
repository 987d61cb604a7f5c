//! The shell adapter: any command that reads a prompt from a file.
//!
//! There is no protocol, so the exit code is the final event, and what the command prints is its log:
//! text, or entries of the log format, one JSON object a line.

mod command;
mod output;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use async_trait::async_trait;
use forge_exec::{ExecError, Exit, Finished, ProcessIdentity};
use forge_model::{
    agent::AdapterKind,
    log::{EntryKind, EntryStatus},
    usage,
};
use serde_json::{Value, json};

use crate::{
    Adapter, AgentError, Capabilities, Control, Detected, Launch, LimitKind, Limits, LogWriter, NewEntry,
    RunOutcome,
};
use output::Output;

/// Runs commands.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShellAdapter;

#[async_trait]
impl Adapter for ShellAdapter {
    fn kind(&self) -> AdapterKind {
        AdapterKind::Shell
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { usage: true, ..Capabilities::default() }
    }

    async fn detect(&self, config: &Value, path: &str) -> Result<Detected, AgentError> {
        command::detect(config, path)
    }

    async fn run(&self, launch: Launch, control: &Control) -> RunOutcome {
        let log = launch.log.clone();
        let begun = Instant::now();
        let limits = launch.limits;
        log.append_entry(NewEntry::text(EntryKind::UserMessage, &launch.prompt));
        let mut output = Output::new(log.clone(), control.activity.clone());
        let ran = run_watched(launch, &mut output, control).await;
        output.finish();
        control.activity.settle();

        let (result, finished) = match ran {
            Ok(ran) => (judge(&ran, &limits, &output), Some(ran.finished)),
            Err(error) => (Err(error), None),
        };
        note_end(&log, finished.as_ref(), &result, begun.elapsed());
        flush(log).await;
        RunOutcome {
            result,
            session_id: None,
            usage: usage::by_model(&output.usage),
            exit: finished.as_ref().map(|finished| finished.exit),
            activity: control.activity.latest(),
            summary: output.summary,
            left_behind: finished.map_or(0, |finished| finished.left_behind),
        }
    }
}

struct Ran {
    finished: Finished,
    was_silent: bool,
}

/// Runs the command, stops it when it is silent for too long, and keeps the activity going.
async fn run_watched(launch: Launch, output: &mut Output, control: &Control) -> Result<Ran, AgentError> {
    let command = command::prepare(&launch)?;
    let program = command.program.to_string_lossy().into_owned();
    let last_output = output.last_output();
    let silence = launch.limits.silence;
    let Launch { log, started, .. } = launch;
    let started = move |identity: ProcessIdentity| {
        let body = json!({ "program": program, "pid": identity.pid });
        log.append(EntryKind::SessionStarted, "session", body);
        started(identity);
    };
    let stop = control.cancel.child_token();
    let mut run = Box::pin(forge_exec::run(command, &stop, started, output));
    let (finished, was_silent) = tokio::select! {
        finished = &mut run => (finished, false),
        () = last_output.fall_silent(silence) => {
            stop.cancel();
            (run.await, true)
        }
        never = control.activity.keep_settling() => match never {},
    };
    // Whoever cancelled at the same moment is right.
    let was_silent = was_silent && !control.cancel.is_cancelled();
    Ok(Ran { finished: finished.map_err(not_run)?, was_silent })
}

fn not_run(error: ExecError) -> AgentError {
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

/// What the end means. Why Forge stopped it goes before what the program said, and that before its code.
fn judge(ran: &Ran, limits: &Limits, output: &Output) -> Result<(), AgentError> {
    let Ran { finished, was_silent } = ran;
    if *was_silent && finished.cancelled {
        return Err(AgentError::Silent { after: limits.silence.unwrap_or_default() });
    }
    if finished.cancelled {
        return Err(AgentError::Cancelled);
    }
    if finished.timed_out {
        return Err(AgentError::Limit(LimitKind::WallClock(limits.wall_clock.unwrap_or_default())));
    }
    if finished.exit == Exit::Code(0) {
        return Ok(());
    }
    Err(output
        .error
        .clone()
        .unwrap_or_else(|| AgentError::Crashed { exit: Some(finished.exit), last_line: output.last_words() }))
}

/// The last entry of a run: how its process ended, and what that means.
fn note_end(log: &LogWriter, finished: Option<&Finished>, result: &Result<(), AgentError>, took: Duration) {
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
async fn flush(log: LogWriter) {
    if let Err(error) = tokio::task::spawn_blocking(move || log.flush()).await {
        tracing::error!(%error, "failed to write the end of a log");
    }
}

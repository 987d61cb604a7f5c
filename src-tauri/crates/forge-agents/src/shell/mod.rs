//! The shell adapter: any command that reads a prompt from a file.
//!
//! There is no protocol, so the exit code is the final event, and what the command prints is its log:
//! text, or entries of the log format, one JSON object a line.

mod command;
mod fuzz;
#[cfg(test)]
mod tests;

use std::time::Instant;

use async_trait::async_trait;
use forge_exec::{Exit, Finished};
use forge_keeper::{KeptRun, KeptSink, LimitHit};
use forge_model::{
    agent::{AdapterKind, AgentModel},
    environment::Variables,
    log::EntryKind,
    usage,
};
use serde_json::{Value, json};

#[doc(hidden)]
pub use fuzz::fuzz_lines;

use crate::{
    Adapter, AgentError, Capabilities, Confinable, Control, Detected, Launch, LimitKind, Limits, LogWriter,
    NewEntry, ProbeFolder, ProgramState, RunOutcome,
    end::{flush, not_run, note_end},
    output::{Output, RawLogSink},
    program::path_in,
};

/// What takes a command's output into its log, as a run of the adapter does it: to be measured by itself.
#[doc(hidden)]
#[must_use]
pub fn output_sink(log: LogWriter, control: &Control) -> Box<dyn KeptSink> {
    Box::new(Output::new(RawLogSink::Log(log), control))
}

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

    /// Whatever its command is, a profile names what it needs.
    fn sign_in_variables(&self, _: &Value, _: &Variables) -> Vec<&'static str> {
        Vec::new()
    }

    fn confinable(&self, _: &Value, _: &Variables) -> Confinable {
        Confinable::Whole(ProgramState::default())
    }

    async fn detect(&self, config: &Value, place: &ProbeFolder) -> Result<Detected, AgentError> {
        command::detect(config, &path_in(&place.variables))
    }

    async fn models(&self, _: &Value, _: &ProbeFolder) -> Result<Vec<AgentModel>, AgentError> {
        Ok(Vec::new())
    }

    async fn run(&self, launch: Launch, control: &Control) -> RunOutcome {
        let log = launch.log.clone();
        let begun = Instant::now();
        let limits = launch.limits;
        log.append_entry(NewEntry::text(EntryKind::UserMessage, &launch.prompt));
        let mut output = Output::new(RawLogSink::Log(log.clone()), control);
        let ran = run_watched(launch, &mut output, control).await;
        output.finish();
        control.activity.flush();

        let (result, finished) = match ran {
            Ok(ran) => (judge(&ran, &limits, &output, control), Some(ran.finished)),
            Err(error) => (Err(error), None),
        };
        note_end(&log, finished.as_ref(), &result, begun.elapsed());
        flush(log).await;
        RunOutcome {
            result,
            session_id: None,
            usage: usage::by_model(&output.usage),
            carry: None,
            exit: finished.as_ref().map(|finished| finished.exit),
            activity: control.activity.latest(),
            summary: output.summary,
            left_behind: finished.map_or(0, |finished| finished.left_behind),
        }
    }
}

struct Ran {
    finished: Finished,
    /// The limit at which Forge stopped it.
    hit: Option<LimitHit>,
}

/// Runs the command, stops it when it is silent for too long, and keeps the activity going.
async fn run_watched(launch: Launch, output: &mut Output, control: &Control) -> Result<Ran, AgentError> {
    let command = command::prepare(&launch)?;
    let program = command.program.to_string_lossy().into_owned();
    let (id, goes_on, tools) = (launch.kept_id(), launch.goes_on(), launch.tools());
    let Launch { log, mut started, keeper, task_id, limits, memo, .. } = launch;
    let limits = forge_keeper::Limits { wall_clock: None, silence: limits.silence };
    let kept = KeptRun { id, task: task_id, command, limits, memo, goes_on, tools };
    let session = keeper.open(kept).await.map_err(not_run)?;
    if let Some(identity) = session.opened().identity.clone() {
        let body = json!({ "program": program, "pid": identity.pid });
        log.append(EntryKind::SessionStarted, "session", body);
        started(identity);
    }
    let stop = control.cancel.child_token();
    output.stop_by(&stop);
    let finished = {
        let mut run = Box::pin(session.run(&stop, output));
        tokio::select! {
            finished = &mut run => finished,
            never = control.activity.keep_settling() => match never {},
        }
    };
    // Whoever cancelled at the same moment is right.
    let hit = output.limit.filter(|_| !control.cancel.is_cancelled());
    Ok(Ran { finished: finished.map_err(not_run)?, hit })
}

/// What the end means. Why Forge stopped it goes before what the program said, and that before its code.
fn judge(ran: &Ran, limits: &Limits, output: &Output, control: &Control) -> Result<(), AgentError> {
    let Ran { finished, hit } = ran;
    match hit.filter(|_| finished.cancelled) {
        Some(LimitHit::Silence) => {
            return Err(AgentError::Silent { after: limits.silence.unwrap_or_default() });
        }
        Some(LimitHit::Output) => return Err(AgentError::Limit(LimitKind::Output)),
        // The time limit of a command is the keeper's own.
        Some(LimitHit::WallClock) | None => {}
    }
    if finished.cancelled && !control.cancel.is_cancelled() {
        // No engine was there for longer than it may be.
        return Err(AgentError::Lost);
    }
    if finished.cancelled {
        return Err(control.why_stopped());
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

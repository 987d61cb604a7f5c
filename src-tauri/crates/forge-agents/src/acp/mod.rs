//! The adapter of any program that speaks the Agent Client Protocol, version 1.
//!
//! One process is one run: it is greeted, a session is opened, loaded or forked, chosen for and prompted; its input
//! is closed behind the last answer. The program gets no files and no terminals of ours. Invariants: what a session
//! that is loaded says again is neither logged nor counted; only the answer to the prompt says how it ended; what a
//! permission mode does not allow is asked or refused.

mod asks;
mod dialogue;
mod entries;
mod export;
mod outcome;
mod probe;
mod rounds;
mod spending;
#[cfg(test)]
mod tests;
mod wire;

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use forge_exec::Command;
use forge_model::{
    agent::{AdapterKind, AgentModel, PermissionMode, ProgramConfig},
    environment::Variables,
    execution::ExecutionRole,
    log::EntryKind,
};
use serde_json::{Value, json};

use crate::{
    Adapter, AgentError, Capabilities, Confinable, Control, Detected, Launch, ProbeFolder, RunOutcome,
    SessionRequest,
    clock::now_ms,
    dialogue::converse,
    end::{flush, never_began},
    fuzz::feed,
    program, sign_in, state,
};
use dialogue::{AcpDialogue, Brief};
use export::Export;

/// Drives any program that speaks the Agent Client Protocol, version 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct AcpAdapter;

#[async_trait]
impl Adapter for AcpAdapter {
    fn kind(&self) -> AdapterKind {
        AdapterKind::Acp
    }

    /// What a program may be able to do. One that cannot load or fork goes on as well as it can, and says so.
    fn capabilities(&self) -> Capabilities {
        Capabilities { review: false, steer: false, ..Capabilities::ALL }
    }

    fn sign_in_variables(&self, config: &Value, environment: &Variables) -> Vec<&'static str> {
        let program = config.get("program").and_then(Value::as_str).unwrap_or_default();
        sign_in::acp(program, environment)
    }

    fn confinable(&self, config: &Value, environment: &Variables) -> Confinable {
        state::acp(config.get("program").and_then(Value::as_str).unwrap_or_default(), environment)
    }

    async fn detect(&self, config: &Value, place: &ProbeFolder) -> Result<Detected, AgentError> {
        let (config, program) = program::named(config, None, &program::path_in(&place.variables))?;
        probe::detect(&config, program, place).await
    }

    async fn models(&self, config: &Value, place: &ProbeFolder) -> Result<Vec<AgentModel>, AgentError> {
        let (config, program) = program::named(config, None, &program::path_in(&place.variables))?;
        probe::models(&config, program, place).await
    }

    async fn run(&self, mut launch: Launch, control: &Control) -> RunOutcome {
        let (command, export, config) = match prepare(&mut launch) {
            Ok(prepared) => prepared,
            Err(error) => return never_began(launch, error).await,
        };
        let mut dialogue = AcpDialogue::new(Brief::of(&launch, &config));
        let log = launch.log.clone();
        let mut outcome = converse(launch, command, &mut dialogue, control).await;
        if let (Some(export), Some(session), Err(error)) = (export, &outcome.session_id, &outcome.result)
            && let Some(answered) = export.explain(session, error, now_ms(), &control.cancel).await
        {
            let text = format!("The model's service answered {}: {}.", answered.status, answered.error);
            let body = json!({ "text": text, "code": "answered", "status": answered.status });
            log.append(EntryKind::Notice, "", body);
            flush(log).await;
            outcome.result = Err(answered.error);
        }
        outcome
    }
}

fn prepare(launch: &mut Launch) -> Result<(Command, Option<Export>, ProgramConfig), AgentError> {
    let (config, program) = program::named(&launch.config, None, &program::path_of(launch))?;
    let given = asking(&program).iter().filter(|(name, _)| !launch.base.contains_key(OsStr::new(name)));
    launch.env.splice(0..0, given.map(|&(name, value)| (name.to_owned(), value.to_owned())));
    let bare = ProgramConfig { args: None, ..config.clone() };
    let export = Export::of(program::command(launch, &bare, program.clone(), &[]));
    let command = program::command(launch, &config, program, &[]);
    Ok((command, export, config))
}

/// What makes a program ask before it changes anything, for those that do not by themselves, and tell the model what
/// was refused instead of ending the turn as if it were done. The user's and a profile's own environment count more.
fn asking(program: &Path) -> &'static [(&'static str, &'static str)] {
    match program.file_stem().and_then(|name| name.to_str()) {
        Some("opencode") => &[
            ("OPENCODE_PERMISSION", r#"{"edit":"ask","bash":"ask","external_directory":"ask"}"#),
            ("OPENCODE_CONFIG_CONTENT", r#"{"experimental":{"continue_loop_on_deny":true}}"#),
        ],
        _ => &[],
    }
}

/// Lets dialogues read arbitrary bytes as the program's lines, answering whatever they ask. For fuzzing.
#[doc(hidden)]
pub fn fuzz_lines(bytes: &[u8]) {
    let sessions =
        [SessionRequest::New, SessionRequest::Resume("s".to_owned()), SessionRequest::Fork("s".to_owned())];
    for (permissions, session) in PermissionMode::ALL.iter().zip(sessions.into_iter().cycle()) {
        let mut dialogue = AcpDialogue::new(Brief {
            prompt: "Work.".to_owned(),
            role: ExecutionRole::Reviewer,
            permissions: *permissions,
            worktree: PathBuf::from("/work"),
            model: Some("m".to_owned()),
            effort: Some("high".to_owned()),
            turns: None,
            session,
            carry: serde_json::from_slice(bytes).ok(),
            mcp: None,
        });
        feed(&mut dialogue, bytes, 0, |_| {});
    }
}

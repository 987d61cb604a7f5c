//! The adapter of Claude Code, by stream-json on its pipes.
//!
//! One process is one run: it is greeted, told the prompt, answered when it asks, and its input is closed behind the
//! last result. Its sessions outlive it, so a later run resumes or forks them. Invariants: the program's own guards
//! stay as they are; only `result` says how a turn ended; what is spent is counted once, from the program's
//! increments.

mod arguments;
mod asks;
mod calls;
mod dialogue;
mod entries;
mod outcome;
mod probe;
mod spending;
#[cfg(test)]
mod tests;
mod wire;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use forge_exec::Command;
use forge_model::{
    agent::{AdapterKind, AgentModel, PermissionMode},
    environment::Variables,
    execution::ExecutionRole,
    log::EntryKind,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    Adapter, AgentError, Capabilities, Confinable, Control, Detected, Launch, ProbeFolder, RunOutcome,
    SessionRequest, Started,
    dialogue::{SESSION_LOST, converse},
    end::never_began,
    fuzz::feed,
    program, sign_in, state,
};
use dialogue::{Brief, ClaudeDialogue};
use outcome::Given;

/// The program's name, when a profile names none.
const PROGRAM: &str = "claude";

/// Drives Claude Code, by stream-json on its pipes.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClaudeAdapter;

#[async_trait]
impl Adapter for ClaudeAdapter {
    fn kind(&self) -> AdapterKind {
        AdapterKind::Claude
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { review: false, ..Capabilities::ALL }
    }

    fn sign_in_variables(&self, _: &Value, environment: &Variables) -> Vec<&'static str> {
        sign_in::claude(environment)
    }

    fn confinable(&self, _: &Value, environment: &Variables) -> Confinable {
        state::claude(environment)
    }

    async fn detect(&self, config: &Value, place: &ProbeFolder) -> Result<Detected, AgentError> {
        let (config, program) = program::named(config, Some(PROGRAM), &program::path_in(&place.variables))?;
        probe::detect(&config, program, place).await
    }

    async fn models(&self, config: &Value, place: &ProbeFolder) -> Result<Vec<AgentModel>, AgentError> {
        let (config, program) = program::named(config, Some(PROGRAM), &program::path_in(&place.variables))?;
        probe::models(&config, program, place).await
    }

    async fn run(&self, mut launch: Launch, control: &Control) -> RunOutcome {
        let given = arguments::ENVIRONMENT.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        launch.env.splice(0..0, given);
        let again = (launch.session != SessionRequest::New).then(|| start_anew(&mut launch));
        let log = launch.log.clone();
        let (outcome, is_lost) = converse_once(launch, control).await;
        match again.filter(|_| is_lost && !control.cancel.is_cancelled()) {
            Some(fresh) => {
                log.append(EntryKind::Notice, "", json!({ "text": SESSION_LOST, "code": "session_lost" }));
                converse_once(fresh, control).await.0
            }
            None => outcome,
        }
    }
}

/// One process, and whether it did not know the session that it was to go on with.
async fn converse_once(launch: Launch, control: &Control) -> (RunOutcome, bool) {
    let command = match prepare(&launch) {
        Ok(prepared) => prepared,
        Err(error) => return (never_began(launch, error).await, false),
    };
    let mut dialogue = ClaudeDialogue::new(Brief::of(&launch));
    let outcome = converse(launch, command, &mut dialogue, control).await;
    (outcome, dialogue.is_lost())
}

fn prepare(launch: &Launch) -> Result<Command, AgentError> {
    let (config, program) = program::named(&launch.config, Some(PROGRAM), &program::path_of(launch))?;
    let args = arguments::of(launch, &config, &Uuid::new_v4().to_string())?;
    let command = program::command(launch, &config, program, &args);
    Ok(arguments::OF_ANOTHER.iter().fold(command, |command, name| command.env_remove(name)))
}

/// The same run in a session of its own, for the case that the session it goes on with is gone.
fn start_anew(launch: &mut Launch) -> Launch {
    let started = std::mem::replace(&mut launch.started, Box::new(|_| {}));
    let started = Arc::new(Mutex::new(started));
    let tell = |started: Arc<Mutex<Started>>| -> Started {
        Box::new(move |identity| (started.lock().unwrap_or_else(PoisonError::into_inner))(identity))
    };
    launch.started = tell(Arc::clone(&started));
    Launch {
        execution_id: launch.execution_id.clone(),
        task_id: launch.task_id.clone(),
        keeper: launch.keeper.clone(),
        process: launch.process + 1,
        kept: launch.kept,
        memo: launch.memo.clone(),
        log: launch.log.clone(),
        config: launch.config.clone(),
        model: launch.model.clone(),
        prompt: launch.prompt.clone(),
        prompt_file: launch.prompt_file.clone(),
        worktree: launch.worktree.clone(),
        given: launch.given.clone(),
        base: Arc::clone(&launch.base),
        env: launch.env.clone(),
        shell: launch.shell.clone(),
        sandbox: launch.sandbox.clone(),
        limits: launch.limits,
        grace: launch.grace,
        session: SessionRequest::New,
        carry: None,
        role: launch.role,
        permissions: launch.permissions,
        mcp: launch.mcp.clone(),
        started: tell(started),
    }
}

/// Lets dialogues read arbitrary bytes as the program's lines, answering whatever they ask. For fuzzing.
#[doc(hidden)]
pub fn fuzz_lines(bytes: &[u8]) {
    for permissions in PermissionMode::ALL {
        let mut dialogue = ClaudeDialogue::new(Brief {
            run: String::new(),
            prompt: "Work.".to_owned(),
            role: ExecutionRole::Reviewer,
            permissions: *permissions,
            worktree: PathBuf::from("/work"),
            limits: Given::default(),
            goes_on: true,
            carry: serde_json::from_slice(bytes).ok(),
        });
        feed(&mut dialogue, bytes, 0, |_| {});
    }
}

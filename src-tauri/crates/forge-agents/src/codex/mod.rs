//! The adapter of Codex, by the JSON-RPC of its app server.
//!
//! One process for each run: what a server of its own costs (a tenth of a second) buys that a run's end is the
//! process's end. The program's own settings, its sign-in among them, are the user's and stay as they are, but for
//! model, effort, sandbox and approvals, which the profile decides. Its sandbox is never opened.

mod asks;
mod dialogue;
mod entries;
mod failure;
mod fuzz;
mod probe;
mod review;
#[cfg(test)]
mod tests;
mod usage;
mod wire;

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use forge_exec::Command;
use forge_model::{
    agent::{AdapterKind, AgentModel, ProgramConfig},
    environment::Variables,
};
use serde_json::Value;

pub use dialogue::{CodexDialogue, Plan};
#[doc(hidden)]
pub use fuzz::fuzz_lines;

use crate::{
    Adapter, AgentError, Capabilities, Confinable, Control, Detected, ForgeMcp, Launch, ProbeFolder,
    RunOutcome, clock::now_ms, dialogue::converse, end::never_began, program, sign_in,
};

use wire::SERVER;

/// The program, unless a profile names another.
const PROGRAM: &str = "codex";

/// Drives Codex, by the JSON-RPC of its app server.
#[derive(Debug, Clone, Copy, Default)]
pub struct CodexAdapter;

#[async_trait]
impl Adapter for CodexAdapter {
    fn kind(&self) -> AdapterKind {
        AdapterKind::Codex
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn sign_in_variables(&self, _: &Value, _: &Variables) -> Vec<&'static str> {
        sign_in::CODEX.to_vec()
    }

    fn confinable(&self, _: &Value, _: &Variables) -> Confinable {
        Confinable::Own
    }

    async fn detect(&self, config: &Value, place: &ProbeFolder) -> Result<Detected, AgentError> {
        let (config, program) = program::named(config, Some(PROGRAM), &program::path_in(&place.variables))?;
        probe::detect(&config, program, place).await
    }

    async fn models(&self, config: &Value, place: &ProbeFolder) -> Result<Vec<AgentModel>, AgentError> {
        let (config, program) = program::named(config, Some(PROGRAM), &program::path_in(&place.variables))?;
        probe::models(&config, program, place).await
    }

    async fn run(&self, launch: Launch, control: &Control) -> RunOutcome {
        let Prepared { command, config, temp } = match prepare(&launch) {
            Ok(prepared) => prepared,
            Err(error) => return never_began(launch, error).await,
        };
        let mut dialogue = CodexDialogue::new(Plan {
            prompt: launch.prompt.clone(),
            model: launch.model.clone(),
            effort: config.effort,
            worktree: launch.worktree.clone(),
            permissions: launch.permissions,
            role: launch.role,
            session: launch.session.clone(),
            carry: launch.carry.clone(),
            turns: launch.limits.turns,
            now_ms,
        });
        let outcome = converse(launch, command, &mut dialogue, control).await;
        if let Some(folder) = temp
            && let Err(error) = fs::remove_dir_all(&folder)
        {
            tracing::warn!(%error, folder = %folder.display(), "failed to remove an agent's temporary files");
        }
        outcome
    }
}

/// What a run needs.
struct Prepared {
    command: Command,
    config: ProgramConfig,
    /// A folder for its temporary files, which goes with it.
    temp: Option<PathBuf>,
}

fn prepare(launch: &Launch) -> Result<Prepared, AgentError> {
    let (config, program) = program::named(&launch.config, Some(PROGRAM), &program::path_of(launch))?;
    let of_forge = launch.mcp.as_ref().map(ForgeMcp::for_codex);
    let args: Vec<String> =
        std::iter::once(SERVER.to_owned()).chain(of_forge.into_iter().flatten()).collect();
    let mut command = program::command(launch, &config, program, &args);
    let temp = own_temp_folder(launch, &config);
    if let Some(folder) = &temp {
        fs::create_dir_all(folder).map_err(|error| AgentError::Unavailable {
            program: PROGRAM.to_owned(),
            detail: format!("could not create its temporary folder: {error}"),
        })?;
        command = command.env("TMPDIR", folder);
    }
    Ok(Prepared { command, config, temp })
}

/// A folder for temporary files beside the prompt, when the one that the program would take is above its home: it
/// then refuses to put its sandbox's helper there, and every command fails. What the profile sets stays.
fn own_temp_folder(launch: &Launch, config: &ProgramConfig) -> Option<PathBuf> {
    let of_profile = |name: &str| config.env.as_ref().and_then(|env| env.get(name)).cloned();
    if of_profile("TMPDIR").is_some() {
        return None;
    }
    let inherited = |name: &str| launch.base.get(OsStr::new(name))?.to_str().map(str::to_owned);
    let variable = |name: &str| {
        let of_launch = launch.env.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        of_profile(name).or(of_launch).or_else(|| inherited(name)).filter(|value| !value.is_empty())
    };
    let temp = variable("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let home = variable("CODEX_HOME")
        .map(PathBuf::from)
        .or_else(|| variable("HOME").map(|home| Path::new(&home).join(".codex")));
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_above = home.is_some_and(|home| real(&home).starts_with(real(&temp)));
    let beside = launch.prompt_file.parent().filter(|_| is_above)?;
    Some(beside.join(format!("tmp-{}", launch.execution_id)))
}

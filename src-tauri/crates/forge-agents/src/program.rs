//! From the profile of an agent with a protocol to a command line.

use std::{ffi::OsStr, path::PathBuf, sync::Arc};

use forge_exec::{Command, find_program};
use forge_model::{agent::ProgramConfig, environment::Variables};
use serde_json::Value;

use crate::{AgentError, Launch, marker_of};

/// The profile's configuration.
///
/// # Errors
/// `Unavailable`, saying what is wrong with it.
fn parse(config: &Value) -> Result<ProgramConfig, AgentError> {
    serde_json::from_value(config.clone()).map_err(|error| AgentError::Unavailable {
        program: "agent".to_owned(),
        detail: format!("its configuration is not valid: {error}"),
    })
}

/// The profile's program on `path`, a `PATH` value; `default` when the profile names none.
///
/// # Errors
/// `Unavailable` when it is not there, or nothing names one.
fn find(config: &ProgramConfig, default: Option<&str>, path: &str) -> Result<PathBuf, AgentError> {
    let Some(name) = config.program.as_deref().or(default).filter(|name| !name.trim().is_empty()) else {
        return Err(AgentError::Unavailable {
            program: "agent".to_owned(),
            detail: "its profile has no program".to_owned(),
        });
    };
    let path = config.env.as_ref().and_then(|env| env.get("PATH")).map_or(path, String::as_str);
    find_program(name, path).ok_or_else(|| AgentError::Unavailable {
        program: name.to_owned(),
        detail: if name.contains('/') { "the program does not exist" } else { "it is not on the PATH" }
            .to_owned(),
    })
}

/// The profile's configuration, and its program on `path`; `default` when it names none.
///
/// # Errors
/// `Unavailable`, saying why there is no such program.
pub(crate) fn named(
    config: &Value,
    default: Option<&str>,
    path: &str,
) -> Result<(ProgramConfig, PathBuf), AgentError> {
    let config = parse(config)?;
    let program = find(&config, default, path)?;
    Ok((config, program))
}

/// The command of a launch: `program` with the adapter's arguments, then the profile's; its environment is what it
/// inherits, plus the launch's, plus the profile's.
pub(crate) fn command(launch: &Launch, config: &ProgramConfig, program: PathBuf, args: &[String]) -> Command {
    let mut command = Command::new(program, &launch.worktree, marker_of(&launch.execution_id))
        .args(args)
        .args(config.args.iter().flatten())
        .base(Arc::clone(&launch.base))
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .envs(config.env.iter().flatten())
        .grace(launch.grace);
    command.sandbox.clone_from(&launch.sandbox);
    command
}

/// The `PATH` that the program of a launch gets.
pub(crate) fn path_of(launch: &Launch) -> String {
    let given = launch.env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
    given.unwrap_or_else(|| path_in(&launch.base))
}

/// The `PATH` of an environment.
pub(crate) fn path_in(environment: &Variables) -> String {
    environment.get(OsStr::new("PATH")).map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
}

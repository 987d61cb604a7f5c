//! From an agent profile to a command line.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use forge_exec::{Command, find_program};
use forge_model::agent::ShellConfig;
use serde_json::Value;

use crate::{AgentError, Detected, Launch, marker_of, program::path_in};

/// The shell of a line whose first word names no program.
const SHELL: &str = "sh";

/// First words that a shell answers itself and that need no program of that name.
const OF_SHELL: &[&str] = &[
    ".", "alias", "break", "case", "cd", "command", "continue", "declare", "eval", "exec", "exit", "export",
    "for", "function", "getopts", "hash", "if", "jobs", "let", "local", "read", "readonly", "return",
    "select", "set", "shift", "source", "test", "time", "times", "trap", "type", "typeset", "ulimit",
    "umask", "unalias", "unset", "until", "wait", "while",
];

/// Stands for the prompt's path in a profile's command and arguments.
const PROMPT_FILE: &str = "{prompt_file}";

pub(super) fn parse(config: &Value) -> Result<ShellConfig, AgentError> {
    let unusable = |detail: String| AgentError::Unavailable { program: "shell agent".to_owned(), detail };
    let config: ShellConfig = serde_json::from_value(config.clone())
        .map_err(|error| unusable(format!("its configuration is not valid: {error}")))?;
    if config.command.trim().is_empty() {
        return Err(unusable("its configuration has no command".to_owned()));
    }
    Ok(config)
}

/// Looks for the profile's program. Of a line of shell that is its first word, where this names a program; what else it
/// says is known to its shell alone, so that the shell is what is found.
pub(super) fn detect(config: &Value, path: &str) -> Result<Detected, AgentError> {
    let config = parse(config)?;
    let path = config.env.as_ref().and_then(|env| env.get("PATH")).map_or(path, String::as_str);
    let word = match &config.args {
        Some(_) => config.command.as_str(),
        None => config.command.split_whitespace().next().unwrap_or_default(),
    };
    let program = match find_program(word, path) {
        Some(program) => program,
        None if config.args.is_none() && !names_a_program(word) => {
            find_program(SHELL, path).ok_or_else(|| not_found(SHELL))?
        }
        None => return Err(not_found(word)),
    };
    Ok(Detected { program, version: None, signed_in: None })
}

/// Whether a shell would start a program by this first word. A relative path depends on the worktree.
fn names_a_program(word: &str) -> bool {
    let is_plain = word.chars().all(|c| c.is_alphanumeric() || "-_.+@/".contains(c));
    is_plain && (word.starts_with('/') || !word.contains('/')) && !OF_SHELL.contains(&word)
}

/// The command of a launch.
pub(super) fn prepare(launch: &Launch) -> Result<Command, AgentError> {
    let config = parse(&launch.config)?;
    let marker = marker_of(&launch.execution_id);
    let prompt_file = launch.prompt_file.to_string_lossy();
    let path = variable(&config, launch, "PATH").unwrap_or_else(|| path_in(&launch.base));
    let command = match &config.args {
        Some(args) => {
            let program = config.command.replace(PROMPT_FILE, &prompt_file);
            let program = resolve(&program, &path)?;
            let args = args.iter().map(|arg| arg.replace(PROMPT_FILE, &prompt_file));
            Command::new(program, &launch.worktree, marker).args(args)
        }
        None => {
            let line = config.command.replace(PROMPT_FILE, &quote(&launch.prompt_file));
            let mut command = Command::shell(&launch.shell, &line, &launch.worktree, marker);
            command.program = resolve(&command.program.to_string_lossy(), &path)?.into();
            command
        }
    };
    let mut command = command
        .base(Arc::clone(&launch.base))
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .envs(config.env.iter().flatten())
        .env("FORGE_PROMPT_FILE", &launch.prompt_file)
        // Always set, so that a command never sees the values of a run that it is nested in.
        .env("FORGE_MODEL", launch.model.as_deref().unwrap_or_default())
        .env("FORGE_EFFORT", config.effort.as_deref().unwrap_or_default())
        .grace(launch.grace);
    command.sandbox.clone_from(&launch.sandbox);
    Ok(match launch.limits.wall_clock {
        Some(limit) => command.timeout(limit),
        None => command,
    })
}

/// Resolves the program in the child's `PATH`.
fn resolve(program: &str, path: &str) -> Result<PathBuf, AgentError> {
    if program.contains('/') {
        return Ok(PathBuf::from(program));
    }
    find_program(program, path).ok_or_else(|| not_found(program))
}

fn not_found(program: &str) -> AgentError {
    let detail = if program.contains('/') { "the program does not exist" } else { "it is not on the PATH" };
    AgentError::Unavailable { program: program.to_owned(), detail: detail.to_owned() }
}

/// What a variable will be in the child, as far as profile and launch say. The profile wins.
fn variable(config: &ShellConfig, launch: &Launch, name: &str) -> Option<String> {
    let of_profile = config.env.as_ref().and_then(|env| env.get(name)).cloned();
    let of_launch = || launch.env.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    of_profile.or_else(of_launch)
}

/// A path as one word of a POSIX shell.
fn quote(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_what_a_shell_would_read() {
        assert_eq!(quote(Path::new("/a b/it's $HOME")), r"'/a b/it'\''s $HOME'");
    }

    #[test]
    fn only_a_program_that_is_there_is_found() {
        let found = |command: &str| {
            let detected = detect(&serde_json::json!({ "command": command }), "/usr/bin:/bin");
            detected.map(|it| it.program.to_string_lossy().into_owned()).map_err(|error| error.to_string())
        };
        let named = |command: &str, name: &str| found(command).unwrap().ends_with(&format!("/{name}"));
        assert!(named("cat x", "cat") && named("/bin/sh -c x", "sh"));
        for of_shell in
            ["for f in *; do :; done", "A=1 nosuchprog", "./agent.sh", "(cd x)", "exec nosuchprog", "$AGENT"]
        {
            assert!(named(of_shell, "sh"), "{of_shell}");
        }
        assert!(found("nosuchprog --x | cat").unwrap_err().contains("not on the PATH"));
        assert!(found("/nonexistent/x").unwrap_err().contains("does not exist"));
    }

    #[test]
    fn names_what_is_wrong_with_a_profile() {
        let problem = |config: Value| parse(&config).expect_err("must be refused").to_string();
        assert!(problem(serde_json::json!({})).contains("missing field `command`"));
        assert!(problem(serde_json::json!({ "command": " " })).contains("has no command"));
        assert!(problem(serde_json::json!({ "command": "x", "arg": 1 })).contains("unknown field `arg`"));
    }
}

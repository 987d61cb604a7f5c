//! Why a command failed, and the exit code that says so.

use std::{io, path::PathBuf};

use forge_api::{ApiError, MisfitError, TokenError};
use forge_engine::{BackupError, EngineAddress, InstanceError, OpenError, StartError, needs_restore};
use forge_mcp::StdioError;
use forge_remote::RemoteFault;
use forge_server::ServeError;

/// The operation failed.
pub(crate) const FAILED: u8 = 1;
/// The command line is wrong.
pub(crate) const USAGE: u8 = 2;
const NOT_FOUND: u8 = 3;
/// The call conflicts with the current state.
pub(crate) const CONFLICT: u8 = 4;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The engine refused the call.
    #[error("{}", .0.message)]
    Refused(ApiError),
    /// The command line is incomplete.
    #[error("{message}")]
    Usage { message: String, hint: &'static str },
    /// The named thing does not exist.
    #[error("{message}")]
    NotFound { message: String, hint: &'static str },
    /// The call conflicts with the current state.
    #[error("{message}")]
    Conflict { message: String, hint: &'static str },
    /// The same three, where the remedy names what was meant.
    #[error("{message}")]
    Told { kind: Kind, message: String, hint: String },
    /// The engine could not start.
    #[error("Could not open {}: {source}", data_dir.display())]
    Start { data_dir: PathBuf, source: StartError },
    /// The engine of another computer cannot be used.
    #[error("{0}")]
    There(RemoteFault),
    /// A tool of the system refused.
    #[error("{message}")]
    Tool { message: String, hint: &'static str },
    /// Another process uses the data folder without serving the API.
    #[error("another Forge (process {}) uses {} and serves no API", holder.pid, data_dir.display())]
    Busy { data_dir: PathBuf, holder: EngineAddress },
    /// The running engine did not answer.
    #[error("Could not reach the engine (process {}) at {url}: {source}", pid)]
    Unreachable { pid: u32, url: String, source: reqwest::Error },
    /// The engine's answer does not follow the contract.
    #[error("Could not read the engine's answer at {url}: {detail}")]
    Strange { url: String, detail: String },
    /// What it answers is not of the operation's type.
    #[error(transparent)]
    Misfit(#[from] MisfitError),
    /// The token is not readable.
    #[error(transparent)]
    Token(TokenError),
    /// The server could not start.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The engine did not start in the background.
    #[error("Could not start the engine in the background: {reason}")]
    Background { reason: String },
    /// The client of `forge mcp` violated the protocol.
    #[error(transparent)]
    Mcp(#[from] StdioError),
    /// The system reported an I/O error.
    #[error("Could not {doing}: {source}")]
    Io { doing: String, source: io::Error },
    /// The async runtime could not start.
    #[error("Could not start: {0}")]
    Runtime(#[source] io::Error),
    /// A signal stopped checks, which do not resume.
    #[error("checks stopped; the attempt is not counted")]
    ChecksInterrupted,
    /// A signal stopped the following of a log, or the engine ended meanwhile.
    #[error("the log is no longer followed; its run was not stopped")]
    Unfollowed,
    /// A signal stopped the command.
    #[error("pending work resumes at the next start of Forge")]
    Interrupted,
}

/// What kind of refusal it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The command line is incomplete.
    Usage,
    /// The named thing does not exist.
    NotFound,
    /// The call conflicts with the current state.
    Conflict,
}

impl Kind {
    const fn code(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
        }
    }

    const fn exit_code(self) -> u8 {
        match self {
            Self::Usage => USAGE,
            Self::NotFound => NOT_FOUND,
            Self::Conflict => CONFLICT,
        }
    }
}

impl CliError {
    /// What an interruption means for a call of `validate`.
    pub(crate) fn of_checks(self) -> Self {
        match self {
            Self::Interrupted => Self::ChecksInterrupted,
            other => other,
        }
    }

    /// What an interruption means where a log is followed.
    pub(crate) fn of_log(self) -> Self {
        match self {
            Self::Interrupted => Self::Unfollowed,
            other => other,
        }
    }

    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }

    /// What scripts branch on.
    pub(crate) fn code(&self) -> &str {
        match self {
            Self::Refused(error) => &error.code,
            Self::Usage { .. } => "usage",
            Self::NotFound { .. } => "not_found",
            Self::Conflict { .. } => "conflict",
            Self::Told { kind, .. } => kind.code(),
            Self::Start { source: StartError::Instance(InstanceError::Taken(_)), .. } | Self::Busy { .. } => {
                "engine_running"
            }
            Self::There(fault) => fault.code(),
            Self::Tool { .. } => "tool_failed",
            Self::Start { source, .. } if needs_restore(source) => "database_damaged",
            Self::Start { .. } => "start_failed",
            Self::Unreachable { .. } => "unreachable",
            Self::Strange { .. } | Self::Misfit(_) => "strange_answer",
            Self::Token(_) => "token",
            Self::Serve(_) => "serve_failed",
            Self::Background { .. } => "start_failed",
            Self::Mcp(_) => "mcp_failed",
            Self::Io { .. } | Self::Runtime(_) => "io",
            Self::Interrupted | Self::ChecksInterrupted | Self::Unfollowed => "interrupted",
        }
    }

    /// Remedy.
    pub(crate) fn hints(&self) -> Vec<String> {
        let one = |text: &str| vec![text.to_owned()];
        match self {
            Self::Refused(error) => hints_of(error),
            Self::There(fault) => vec![fault.remedy()],
            Self::Told { hint, .. } => one(hint),
            Self::Usage { hint, .. }
            | Self::NotFound { hint, .. }
            | Self::Conflict { hint, .. }
            | Self::Tool { hint, .. } => one(hint),
            Self::Start { source: StartError::Instance(InstanceError::Taken(_)), .. } | Self::Busy { .. } => {
                one("Stop that process, or use another folder with --data-dir.")
            }
            Self::Start { source: StartError::Instance(InstanceError::Io { .. }), .. } => {
                one("Make sure that Forge can write to the folder, or use another one with --data-dir.")
            }
            Self::Start { source: StartError::Git(_), .. } => one("Install git 2.39 or later."),
            Self::Start { source, .. } if needs_restore(source) => one(
                "List the copies with `forge backup list`, then restore one with `forge backup restore NAME`.",
            ),
            Self::Start { source: StartError::Open(OpenError::TooNew { .. }), .. } => {
                one("Start the newer Forge that wrote the database.")
            }
            Self::Start {
                source: StartError::Open(OpenError::Backup(BackupError::Unknown(_) | BackupError::Foreign(_))),
                ..
            } => one("List the copies with `forge backup list`."),
            Self::Start { source, .. } => match source.storage_trouble() {
                Some(trouble) => one(trouble.remedy_at_start()),
                None => one("Report the text above."),
            },
            Self::Unreachable { .. } => one("If the engine is starting or stopping, try again in a moment."),
            Self::Strange { .. } | Self::Misfit(_) => {
                one("Make sure that the engine and this program are of the same version.")
            }
            Self::Token(_) => {
                one("Run as the user that started the engine: only that user can read the token.")
            }
            Self::Serve(ServeError::Socket(error)) => one(error.remedy()),
            Self::Serve(_) => one("Choose another port with --port, or 0 for any."),
            Self::Background { .. } => one(
                "Start `forge serve` in a terminal to see all that it says; `serve.log` is in the data folder.",
            ),
            Self::Mcp(_) => {
                one("MCP clients start `forge mcp`; `forge mcp --print-config codex` prints a configuration.")
            }
            Self::Io { .. } | Self::Runtime(_) => one("Fix the cause, then try again."),
            Self::ChecksInterrupted => one("Run the same command again."),
            Self::Unfollowed => one("Follow it again with the same command."),
            Self::Interrupted => one(
                "Run `forge serve`, or `forge task start TASK` to go on with one task; `forge status` shows the progress.",
            ),
        }
    }

    /// The program's exit code.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Refused(error) => match error.status {
                404 => NOT_FOUND,
                409 | 412 | 422 => CONFLICT,
                _ => FAILED,
            },
            Self::Usage { .. } => USAGE,
            Self::NotFound { .. } => NOT_FOUND,
            Self::Told { kind, .. } => kind.exit_code(),
            Self::Conflict { .. }
            | Self::Busy { .. }
            | Self::Start { source: StartError::Instance(InstanceError::Taken(_)), .. } => CONFLICT,
            Self::Start { .. }
            | Self::There(_)
            | Self::Tool { .. }
            | Self::Unreachable { .. }
            | Self::Strange { .. }
            | Self::Misfit(_)
            | Self::Token(_)
            | Self::Serve(_)
            | Self::Background { .. }
            | Self::Mcp(_)
            | Self::Io { .. }
            | Self::Runtime(_)
            | Self::ChecksInterrupted
            | Self::Unfollowed
            | Self::Interrupted => FAILED,
        }
    }
}

/// What helps where the engine itself gives no hint.
const fn usual_hint(status: u16) -> &'static str {
    match status {
        400 => "Correct the input. Nothing was changed.",
        404 => "List what exists with the `list` commands.",
        409 | 412 | 422 => "Nothing was changed. Check the current state, then decide again.",
        _ => "See the engine's log.",
    }
}

/// The engine's hints, and what its details say can be done instead.
fn hints_of(error: &ApiError) -> Vec<String> {
    let mut hints = error.hints.clone();
    let offers = error.details["offers"].as_array().into_iter().flatten();
    let offered: Vec<&str> = offers.filter_map(|offer| offer["verb"].as_str()).collect();
    if !offered.is_empty() {
        hints.push(format!("Offered now: {}.", offered.join(", ")));
    }
    if error.code == "name_taken" {
        hints.push("Choose another name (`--name` for a project). Nothing was changed.".to_owned());
    }
    if hints.is_empty() {
        hints
            .push(remedy(&error.code, &error.message).unwrap_or_else(|| usual_hint(error.status)).to_owned());
    }
    hints
}

/// The command that helps where the engine, which knows of no commands, gives no hint.
fn remedy(code: &str, message: &str) -> Option<&'static str> {
    Some(match code {
        "not_found" => {
            let rest = message.strip_prefix("no ")?;
            let kinds = [
                ("task", "List them with `forge task list`."),
                ("project", "List them with `forge project list`."),
                ("agent", "List them with `forge agent list`."),
                ("machine", "List them with `forge machine list`."),
                (
                    "execution",
                    "List what runs with `forge run list`; `forge task log TASK` shows the latest run of a task.",
                ),
                ("fix", "List them with `forge fix list`."),
                ("lesson", "List them with `forge knowledge list`."),
                ("backup", "List them with `forge workspace backups`."),
                (
                    "workspace of task",
                    "Start the task with `forge task start TASK`: that makes its worktree.",
                ),
                ("changed file", "List the changed files with `forge task diff TASK --name-only`."),
            ];
            let named = |kind: &str| rest.strip_prefix(kind).is_some_and(|rest| rest.starts_with(" `"));
            kinds.iter().find(|(kind, _)| named(kind)).map(|(_, hint)| *hint)?
        }
        "fix_decided" => "See what became of it with `forge fix list`.",
        "fix_outdated" => "See what else there is with `forge fix list`.",
        "workspace_missing" => {
            "Work makes the worktree again: `forge task move TASK todo`, then `forge task start TASK`, with `--agent user` to \
             start no agent."
        }
        "not_an_orphan" | "path_escape" => {
            "List folders that belong to no task with `forge workspace orphans`."
        }
        "task_open" => "Close it first, such as with `forge task cancel TASK`.",
        "nothing_to_undo" => {
            "Only a move on the window's board can be undone; move the task back with `forge task move TASK STATE`."
        }
        "not_claimable" => "See what can be done with it now with `forge task show TASK`.",
        "not_awaiting" => "See where its review is with `forge task show TASK`.",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_found_is_listed_by_the_command_of_its_kind() {
        let hint = |message: &str| remedy("not_found", message).unwrap_or_default();
        assert!(hint("no task `9`").contains("forge task list"));
        assert!(hint("no fix `9`").contains("forge fix list"));
        assert!(hint("no workspace of task `9`").contains("forge task start"));
        assert_eq!(hint("no such thing"), "");
        assert!(remedy("workspace_missing", "").is_some_and(|hint| hint.contains("forge task move")));
        assert_eq!(remedy("internal", ""), None);
    }
}

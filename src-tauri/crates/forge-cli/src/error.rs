//! Why a command failed, and the exit code that says so.

use std::{io, path::PathBuf};

use forge_api::{ApiError, MisfitError, TokenError};
use forge_engine::{BackupError, EngineAddress, InstanceError, OpenError, StartError, needs_restore};
use forge_mcp::StdioError;
use forge_server::ServeError;

/// The operation failed.
pub(crate) const FAILED: u8 = 1;
/// The command line is wrong.
pub(crate) const USAGE: u8 = 2;
const NOT_FOUND: u8 = 3;
const CONFLICT: u8 = 4;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The engine refused it.
    #[error("{}", .0.message)]
    Refused(ApiError),
    /// The command line does not say enough.
    #[error("{message}")]
    Usage { message: String, hint: &'static str },
    /// There is no such thing.
    #[error("{message}")]
    NotFound { message: String, hint: &'static str },
    /// It does not fit what is there.
    #[error("{message}")]
    Conflict { message: String, hint: &'static str },
    /// The engine does not start.
    #[error("failed to open {}: {source}", data_dir.display())]
    Start { data_dir: PathBuf, source: StartError },
    /// Somebody has the data folder, but serves nobody.
    #[error("another Forge (process {}) uses {} and serves no one", holder.pid, data_dir.display())]
    Busy { data_dir: PathBuf, holder: EngineAddress },
    /// The engine that runs does not answer.
    #[error("failed to reach the engine (process {}) at {url}: {source}", pid)]
    Unreachable { pid: u32, url: String, source: reqwest::Error },
    /// What it answers is not of this contract.
    #[error("failed to understand the answer of the engine at {url}: {detail}")]
    Strange { url: String, detail: String },
    /// What it answers is not of the operation's type.
    #[error(transparent)]
    Misfit(#[from] MisfitError),
    /// The token cannot be read.
    #[error(transparent)]
    Token(TokenError),
    /// Nothing is served.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The client of `forge mcp` does not speak the protocol.
    #[error(transparent)]
    Mcp(#[from] StdioError),
    /// The machine refuses something.
    #[error("failed to {doing}: {source}")]
    Io { doing: String, source: io::Error },
    /// No runtime.
    #[error("failed to start: {0}")]
    Runtime(#[source] io::Error),
    /// A signal ended checks, of which nothing goes on later.
    #[error("interrupted; the checks were ended, and no attempt is counted")]
    ChecksInterrupted,
    /// A signal ended it.
    #[error("interrupted; what was begun goes on when Forge is started again")]
    Interrupted,
}

impl CliError {
    /// What an interruption means for a call of `validate`.
    pub(crate) fn of_checks(self) -> Self {
        match self {
            Self::Interrupted => Self::ChecksInterrupted,
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
            Self::Start { source: StartError::Instance(InstanceError::Taken(_)), .. } | Self::Busy { .. } => {
                "engine_running"
            }
            Self::Start { source, .. } if needs_restore(source) => "database_damaged",
            Self::Start { .. } => "start_failed",
            Self::Unreachable { .. } => "unreachable",
            Self::Strange { .. } | Self::Misfit(_) => "strange_answer",
            Self::Token(_) => "token",
            Self::Serve(_) => "serve_failed",
            Self::Mcp(_) => "mcp_failed",
            Self::Io { .. } | Self::Runtime(_) => "io",
            Self::Interrupted | Self::ChecksInterrupted => "interrupted",
        }
    }

    /// What to do about it.
    pub(crate) fn hints(&self) -> Vec<String> {
        let one = |text: &str| vec![text.to_owned()];
        match self {
            Self::Refused(error) => hints_of(error),
            Self::Usage { hint, .. } | Self::NotFound { hint, .. } | Self::Conflict { hint, .. } => one(hint),
            Self::Start { source: StartError::Instance(InstanceError::Taken(_)), .. } | Self::Busy { .. } => {
                one("End that process first, or use another folder with --data-dir.")
            }
            Self::Start { source: StartError::Instance(InstanceError::Io { .. }), .. } => {
                one("See to it that the folder can be written, or use another one with --data-dir.")
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
                None => one("Report it with the text above."),
            },
            Self::Unreachable { .. } => one("If it is just starting or stopping, try again in a moment."),
            Self::Strange { .. } | Self::Misfit(_) => one("Is it another version of Forge?"),
            Self::Token(_) => one("The token is made by the engine's first start, for its own user alone."),
            Self::Serve(_) => one("Choose another port with --port, or 0 for any."),
            Self::Mcp(_) => {
                one("`forge mcp` is started by MCP clients; `forge mcp --print-config codex` says how.")
            }
            Self::Io { .. } | Self::Runtime(_) => one("See to what the system says, then try again."),
            Self::ChecksInterrupted => one("The same command makes them again."),
            Self::Interrupted => one("`forge task list` shows how far it came."),
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
            Self::Conflict { .. }
            | Self::Busy { .. }
            | Self::Start { source: StartError::Instance(InstanceError::Taken(_)), .. } => CONFLICT,
            Self::Start { .. }
            | Self::Unreachable { .. }
            | Self::Strange { .. }
            | Self::Misfit(_)
            | Self::Token(_)
            | Self::Serve(_)
            | Self::Mcp(_)
            | Self::Io { .. }
            | Self::Runtime(_)
            | Self::ChecksInterrupted
            | Self::Interrupted => FAILED,
        }
    }
}

/// What helps where the engine itself gives no hint.
const fn usual_hint(status: u16) -> &'static str {
    match status {
        400 => "Correct what the message names; nothing was done.",
        404 => "The `list` commands show what there is.",
        409 | 412 | 422 => "Nothing was done; look how it stands now, then decide anew.",
        _ => "The log of the engine says more.",
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
        hints.push("Give it another name, for a project with `--name`; nothing was done.".to_owned());
    }
    if hints.is_empty() {
        hints.push(usual_hint(error.status).to_owned());
    }
    hints
}

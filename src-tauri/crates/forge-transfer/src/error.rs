//! Why a tree does not travel.

use std::{io, path::Path};

use forge_exec::{CollectError, ExecError};
use serde::{Deserialize, Serialize};

/// Why a tree does not travel, with the remedy in a second sentence where there is one. It goes over the wire as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Fault {
    /// There is no git.
    #[error("git is not installed. Install git {oldest} or newer there.", oldest = crate::git::OLDEST)]
    NoGit,
    /// git is too old.
    #[error("git is too old: {found}. Install git {oldest} or newer there.", oldest = crate::git::OLDEST)]
    OldGit {
        /// What it says of itself.
        found: String,
    },
    /// The disk is full.
    #[error("the disk is full at `{path}`. Free some space there, and try again.")]
    DiskFull {
        /// What was written.
        path: String,
    },
    /// Submodules are checked out.
    #[error(
        "the submodule `{path}` is checked out. Run the task on this machine, or remove the submodule's checkout."
    )]
    Submodule {
        /// One of them.
        path: String,
    },
    /// Files are stored differently than they are in the worktree, by a program.
    #[error(
        "the filter `{name}` changes files when they are checked out. Run the task on this machine, or remove the filter from `.gitattributes`."
    )]
    Filter {
        /// Its name.
        name: String,
    },
    /// The git directory cannot be lent.
    #[error("the git directory of the worktree is not lent: {reason}. Run the task on this machine.")]
    NotLent {
        /// Why.
        reason: String,
    },
    /// The worktree's files are not as they were sent or fetched.
    #[error(
        "files of the worktree were changed since they were sent. Back them up, and fetch with `replace`."
    )]
    LocalChanges,
    /// Nothing was ever sent there.
    #[error("the machine has no worktree of this task. Send it first.")]
    NoTree,
    /// Programs of the task still run there.
    #[error("programs of the task still run there. Stop them first.")]
    Busy,
    /// What came is not whole, or is no snapshot.
    #[error("the worktree arrived incomplete: {what}. Try again.")]
    Damaged {
        /// What is wrong.
        what: String,
    },
    /// git failed.
    #[error("`git {command}` failed: {said}")]
    Git {
        /// What was to be done.
        command: String,
        /// What git said.
        said: String,
    },
    /// The system refused something.
    #[error("could not {action} `{path}`: {reason}")]
    System {
        /// What was to be done.
        action: String,
        /// Where.
        path: String,
        /// What the system said.
        reason: String,
    },
}

impl Fault {
    /// Whether no other attempt and no other machine would change anything: the tree itself is the reason.
    #[must_use]
    pub const fn is_of_tree(&self) -> bool {
        matches!(self, Self::Submodule { .. } | Self::Filter { .. } | Self::NotLent { .. })
    }

    pub(crate) fn io<P: AsRef<Path>>(action: &'static str, path: P) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().display().to_string();
        move |error| match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path },
            _ => Self::System { action: action.to_owned(), path, reason: error.to_string() },
        }
    }

    pub(crate) fn git(command: &str, stderr: &[u8], store: &Path) -> Self {
        let said = String::from_utf8_lossy(stderr).trim_end().to_owned();
        if said.contains("No space left on device") || said.contains("Disk quota exceeded") {
            return Self::DiskFull { path: store.display().to_string() };
        }
        Self::Git { command: command.to_owned(), said }
    }

    pub(crate) fn exec(command: &str, error: &ExecError) -> Self {
        match error {
            ExecError::NoProgram { .. } => Self::NoGit,
            other => Self::Git { command: command.to_owned(), said: other.to_string() },
        }
    }

    pub(crate) fn collect(command: &str, error: &CollectError) -> Self {
        match error {
            CollectError::Run(error) => Self::exec(command, error),
            other => Self::Git { command: command.to_owned(), said: other.to_string() },
        }
    }

    /// What came is not whole.
    pub fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged { what: what.into() }
    }
}

impl From<tokio::task::JoinError> for Fault {
    fn from(error: tokio::task::JoinError) -> Self {
        Self::System { action: "finish".to_owned(), path: String::new(), reason: error.to_string() }
    }
}

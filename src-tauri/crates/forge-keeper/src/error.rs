//! Why a kept program did not come to its end.

use std::{ffi::OsString, io};

use forge_exec::ExecError;
use forge_transfer::Fault;

/// Why a kept program was not run, or not followed, to its end.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// It could not be run.
    #[error(transparent)]
    Run(#[from] ExecError),
    /// The keeper cannot be reached, or refuses.
    #[error("could not run `{}`: its keeper cannot be reached", program.display())]
    NoKeeper {
        /// What was to run.
        program: OsString,
        /// Why.
        source: io::Error,
    },
    /// The keeper was killed, and the program ended with it; what it came to is not known.
    #[error("could not follow `{}` to its end: its keeper was killed", program.display())]
    Lost {
        /// What ran.
        program: OsString,
    },
}

/// Why a worktree was not brought to another machine, or back.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The machine cannot be reached, or the connection broke. Try again when it can be reached.
    #[error("could not reach the machine: {0}")]
    Unreachable(#[source] io::Error),
    /// The keeper there refuses, or something is wrong there.
    #[error("the machine refused: {0}")]
    Refused(crate::Refusal),
    /// The worktree cannot travel to any machine.
    #[error("the worktree cannot be sent to another machine: {0}")]
    NotTransferable(Fault),
    /// Files of the worktree here were changed since they were sent.
    #[error("files of the worktree on this machine were changed since they were sent")]
    LocalChanges,
    /// The worktree there is not as it was when it was last sent or fetched here: something else worked on it.
    #[error("the worktree on the machine is not in the state that was last sent or fetched")]
    Foreign,
    /// Something failed on this machine.
    #[error("could not transfer the worktree on this machine: {0}")]
    Here(Fault),
}

impl TransferError {
    /// Whether it may be tried again when the machine can be reached.
    #[must_use]
    pub const fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }
}

impl From<io::Error> for TransferError {
    fn from(error: io::Error) -> Self {
        match error.get_ref().and_then(|it| it.downcast_ref::<crate::Refusal>()) {
            Some(refusal) => refusal.clone().into(),
            None => Self::Unreachable(error),
        }
    }
}

impl From<Fault> for TransferError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::LocalChanges => Self::LocalChanges,
            fault if fault.is_of_tree() => Self::NotTransferable(fault),
            fault => Self::Here(fault),
        }
    }
}

impl From<crate::Refusal> for TransferError {
    fn from(refusal: crate::Refusal) -> Self {
        match refusal {
            crate::Refusal::Transfer(fault) if fault.is_of_tree() => Self::NotTransferable(fault),
            refusal => Self::Refused(refusal),
        }
    }
}

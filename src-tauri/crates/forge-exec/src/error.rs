//! Why a program was not run.

use std::{ffi::OsString, io, path::PathBuf};

/// Why a program could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// The folder to run in is not there.
    #[error("could not run `{}`: the folder {} does not exist", program.display(), cwd.display())]
    NoFolder {
        /// What was to run.
        program: OsString,
        /// The missing folder.
        cwd: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The program is not there.
    #[error("could not run `{}`: no such program", program.display())]
    NoProgram {
        /// What was to run.
        program: OsString,
        /// What the system said.
        cause: io::Error,
    },
    /// The program is there but did not start.
    #[error("could not start `{}`", program.display())]
    Start {
        /// What was to run.
        program: OsString,
        /// Why.
        source: io::Error,
    },
    /// It could not be confined as it was asked, and was not started.
    #[error("could not confine `{}`", program.display())]
    Sandbox {
        /// What was to run.
        program: OsString,
        /// Why: a [`SandboxError`](crate::SandboxError), or the words of one.
        source: io::Error,
    },
    /// Its end could not be waited for.
    #[error("could not wait for `{}`", program.display())]
    Wait {
        /// What ran.
        program: OsString,
        /// Why.
        source: io::Error,
    },
    /// Its output could not be read or handed on; it was stopped.
    #[error("could not read the output of `{}`", program.display())]
    Output {
        /// What ran.
        program: OsString,
        /// Why.
        source: io::Error,
    },
}

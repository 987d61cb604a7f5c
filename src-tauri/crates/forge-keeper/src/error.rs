//! Why a kept program did not come to its end.

use std::{ffi::OsString, io};

use forge_exec::ExecError;

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

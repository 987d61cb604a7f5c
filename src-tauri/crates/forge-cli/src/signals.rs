//! The signals that ask this program to end.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::CliError;

/// Ends early, in good order, when a signal asks for it.
pub(crate) async fn interruptible<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let mut signals = Signals::listen()?;
    tokio::select! {
        done = work => done,
        _ = signals.any() => Err(CliError::Interrupted),
    }
}

/// Who asks this program to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// A person at the terminal: what runs ends, too.
    ByPerson,
    /// A service manager or an upgrade: agents go on meanwhile.
    ByProgram,
}

/// The signals that ask this program to end.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    pub(crate) fn listen() -> Result<Self, CliError> {
        let to = |kind| signal(kind).map_err(CliError::io("listen for signals"));
        Ok(Self {
            terminate: to(SignalKind::terminate())?,
            interrupt: to(SignalKind::interrupt())?,
            hangup: to(SignalKind::hangup())?,
        })
    }

    /// Waits for one of them.
    pub(crate) async fn any(&mut self) -> Asked {
        tokio::select! {
            _ = self.terminate.recv() => Asked::ByProgram,
            _ = self.interrupt.recv() => Asked::ByPerson,
            _ = self.hangup.recv() => Asked::ByPerson,
        }
    }
}

//! The signals that ask this program to end.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::CliError;

/// Ends early, in good order, when a signal asks for it.
pub(crate) async fn interruptible<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let mut signals = Signals::listen()?;
    tokio::select! {
        done = work => done,
        () = signals.any() => Err(CliError::Interrupted),
    }
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

    pub(crate) async fn any(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

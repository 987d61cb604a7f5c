//! Which engines are there, and how long programs may go on without one.

use std::time::Duration;

use tokio::sync::watch;

#[derive(Debug)]
pub(super) struct Presence {
    state: watch::Sender<State>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    engines: usize,
    patience: Duration,
}

/// An engine is there while it lives.
pub(super) struct Attendance<'p>(&'p Presence);

impl Drop for Attendance<'_> {
    fn drop(&mut self) {
        self.0.state.send_modify(|state| state.engines = state.engines.saturating_sub(1));
    }
}

impl Presence {
    pub(super) fn new(patience: Duration) -> Self {
        Self { state: watch::Sender::new(State { engines: 0, patience }) }
    }

    /// An engine came; when the last one goes, programs may go on for `patience`.
    pub(super) fn attend(&self, patience: Duration) -> Attendance<'_> {
        self.state.send_modify(|state| *state = State { engines: state.engines + 1, patience });
        Attendance(self)
    }

    /// Returns when an engine is there.
    pub(super) async fn attended(&self) {
        // The sender is this one's own.
        let _ = self.state.subscribe().wait_for(|state| state.engines > 0).await;
    }

    /// Returns when no engine is there, with how long programs may go on without one.
    pub(super) async fn absent(&self) -> Duration {
        let mut state = self.state.subscribe();
        // The sender is this one's own.
        let absent = state.wait_for(|state| state.engines == 0).await;
        absent.map_or(Duration::ZERO, |state| state.patience)
    }
}

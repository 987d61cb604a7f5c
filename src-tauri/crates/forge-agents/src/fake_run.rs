//! A dialogue without a program: what it says, logs and tells is kept in memory. For tests and fuzzing.

use std::collections::VecDeque;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::page::Page;
use crate::{
    Control, Handle, NewEntry, RunEvent,
    dialogue::{Paper, Scene, State},
};

/// One run that never has a process.
#[derive(Debug)]
pub struct Rehearsal {
    page: Page,
    control: Control,
    handle: Handle,
    events: mpsc::UnboundedReceiver<RunEvent>,
    out: VecDeque<Vec<u8>>,
    state: State,
}

impl Default for Rehearsal {
    fn default() -> Self {
        let (control, handle, events) = Control::new(CancellationToken::new());
        let page = Page { turn: 1, entries: Vec::new() };
        Self { page, control, handle, events, out: VecDeque::new(), state: State::default() }
    }
}

impl Rehearsal {
    /// Lets a dialogue act.
    pub fn scene(&mut self, act: impl FnOnce(&mut Scene<'_>)) {
        let log = Paper::Memory(&mut self.page);
        act(&mut Scene { log, control: &self.control, out: &mut self.out, state: &mut self.state });
    }

    /// What it logged since it was asked before, each with its turn.
    pub fn entries(&mut self) -> Vec<(u32, NewEntry)> {
        std::mem::take(&mut self.page.entries)
    }

    /// What it sent since it was asked before.
    pub fn sent(&mut self) -> Vec<Value> {
        self.out.drain(..).filter_map(|line| serde_json::from_slice(&line).ok()).collect()
    }

    /// What it told since it was asked before.
    pub fn told(&mut self) -> Vec<RunEvent> {
        std::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }

    /// Whether it came to its end.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.state.over
    }

    /// The engine's end of the run.
    #[must_use]
    pub const fn handle(&self) -> &Handle {
        &self.handle
    }
}

//! A run without a program, for tests and fuzzing: keeps in memory what the dialogue sends, logs and reports.

use std::collections::VecDeque;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::memory_log::MemoryLog;
use crate::{
    Control, Handle, NewEntry, RunEvent,
    dialogue::{DialogueContext, LogSink, State},
};

/// A run without a process.
#[derive(Debug)]
pub struct FakeRun {
    log: MemoryLog,
    control: Control,
    handle: Handle,
    events: mpsc::UnboundedReceiver<RunEvent>,
    out: VecDeque<Vec<u8>>,
    state: State,
}

impl Default for FakeRun {
    fn default() -> Self {
        let (control, handle, events) = Control::new(CancellationToken::new());
        let log = MemoryLog { turn: 1, entries: Vec::new() };
        Self { log, control, handle, events, out: VecDeque::new(), state: State::default() }
    }
}

impl FakeRun {
    /// Lets a dialogue act.
    pub fn with_context(&mut self, act: impl FnOnce(&mut DialogueContext<'_>)) {
        let log = LogSink::Memory(&mut self.log);
        act(&mut DialogueContext { log, control: &self.control, out: &mut self.out, state: &mut self.state });
    }

    /// What it logged since it was asked before, each with its turn.
    pub fn entries(&mut self) -> Vec<(u32, NewEntry)> {
        std::mem::take(&mut self.log.entries)
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

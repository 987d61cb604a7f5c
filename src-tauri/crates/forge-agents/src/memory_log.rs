//! A log in memory, for runs without a program.

use crate::NewEntry;

/// The log entries of a fake run, each with its turn.
#[derive(Debug, Default)]
pub(crate) struct MemoryLog {
    pub(crate) turn: u32,
    pub(crate) entries: Vec<(u32, NewEntry)>,
}

impl MemoryLog {
    pub(crate) fn append(&mut self, entry: NewEntry) {
        self.entries.push((self.turn, entry));
    }
}

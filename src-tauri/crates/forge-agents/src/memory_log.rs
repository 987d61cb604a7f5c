//! Entries that are kept in memory, each with its turn.

use crate::NewEntry;

/// The entries of a rehearsal, each with its turn.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) turn: u32,
    pub(crate) entries: Vec<(u32, NewEntry)>,
}

impl Page {
    pub(crate) fn append(&mut self, entry: NewEntry) {
        self.entries.push((self.turn, entry));
    }
}

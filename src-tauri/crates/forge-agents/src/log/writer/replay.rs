//! Writing a log once more: a run that goes on after the engine was killed tells again what it told, and what the log
//! has of that is not written a second time.
//!
//! The entries of the log are taken in order. An entry that is told is looked for among the next ones, since others
//! than the run may have written between; one that is not found there is new. Raw bytes are counted from the beginning.

use std::{collections::VecDeque, path::PathBuf};

use forge_model::{
    log::{EntryKind, LogEntry},
    redact::Redactor,
};

use super::{LogReader, NewEntry};
use crate::log::blob;

/// How many entries of others may lie between two of the run.
const WINDOW: usize = 64;

#[derive(Debug)]
pub(super) struct Replay {
    dir: PathBuf,
    log_id: String,
    /// Entries that were not told yet, in order.
    ahead: VecDeque<LogEntry>,
    /// The last entry that was read.
    read: u64,
    /// Whether that was the last one of all.
    is_read: bool,
    /// Raw bytes that the log has.
    raw: u64,
}

impl Replay {
    pub(super) const fn new(dir: PathBuf, log_id: String, raw: u64) -> Self {
        Self { dir, log_id, ahead: VecDeque::new(), read: 0, is_read: false, raw }
    }

    /// Whether the log has an entry already.
    pub(super) fn has(&mut self, entry: &NewEntry, turn: u32, redactor: &Redactor) -> bool {
        self.fill();
        let same = Same::new(entry, turn, redactor);
        let is_same = |known: &LogEntry| same.is(known);
        let Some(at) = self.ahead.iter().take(WINDOW).position(is_same) else { return false };
        self.ahead.remove(at);
        // What was passed may still be told: the two pipes of a program are heard in another order now and then.
        self.ahead.drain(..at.saturating_sub(WINDOW / 2));
        true
    }

    /// Of raw bytes that start at `at`, those that the log lacks.
    pub(super) fn fresh<'b>(&self, at: u64, bytes: &'b [u8]) -> &'b [u8] {
        let known = usize::try_from(self.raw.saturating_sub(at)).unwrap_or(usize::MAX);
        bytes.get(known..).unwrap_or_default()
    }

    /// How many raw bytes the log had.
    pub(super) const fn raw(&self) -> u64 {
        self.raw
    }

    /// What Forge itself told of the end before: it tells that again when everything of the run was told.
    pub(super) fn last_words(mut self) -> Vec<LogEntry> {
        while !self.is_read {
            self.read_more();
        }
        let is_forges = |entry: &LogEntry| {
            matches!(entry.kind, EntryKind::TurnEnded | EntryKind::ProcessExit | EntryKind::Notice)
        };
        self.ahead.into_iter().filter(is_forges).collect()
    }

    fn fill(&mut self) {
        if self.ahead.len() < WINDOW && !self.is_read {
            self.read_more();
        }
    }

    fn read_more(&mut self) {
        // What cannot be read is written again.
        if let Ok(page) = LogReader::page(&self.dir, &self.log_id, Some(self.read), None, WINDOW * 8)
            && !page.entries.is_empty()
        {
            self.read = page.last_seq;
            self.ahead.extend(page.entries);
        } else {
            self.is_read = true;
        }
    }
}

/// Takes an entry out of those that were told before, if it is one of them. How long a run took that ended is told once.
pub(super) fn was_told(known: &mut Vec<LogEntry>, entry: &NewEntry, turn: u32, redactor: &Redactor) -> bool {
    if known.is_empty() {
        return false;
    }
    let same = Same::new(entry, turn, redactor);
    let is_end = entry.kind == EntryKind::ProcessExit;
    let at = known.iter().position(|known| same.is(known) || (is_end && known.kind == entry.kind));
    at.map(|at| known.remove(at)).is_some()
}

/// An entry that is looked for in a log.
struct Same<'e> {
    entry: &'e NewEntry,
    turn: u32,
    redactor: &'e Redactor,
    body: serde_json::Value,
}

impl<'e> Same<'e> {
    fn new(entry: &'e NewEntry, turn: u32, redactor: &'e Redactor) -> Self {
        Self { entry, turn, redactor, body: redactor.json(entry.body.clone()) }
    }

    fn is(&self, known: &LogEntry) -> bool {
        let Self { entry, turn, redactor, .. } = self;
        let mut body = self.body.clone();
        if let Some(short) = blob::shorten(&mut body, known.seq) {
            body = short.body;
        }
        let id =
            if entry.id.is_empty() { known.seq.to_string() } else { redactor.text(&entry.id).into_owned() };
        (known.kind, known.status, known.turn) == (entry.kind, entry.status, *turn)
            && known.id == id
            && known.body == body
    }
}

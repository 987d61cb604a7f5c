//! Writing a log once more: a run that goes on after the engine was killed tells again what it told, and what the log
//! has of that is not written a second time.
//!
//! The entries of the log are taken in order. An entry that is told is looked for among the next ones, since others
//! than the run may have written between; one that is not found there is new. Raw bytes are counted from the beginning.

use std::{collections::VecDeque, path::PathBuf};

use forge_model::{log::LogEntry, redact::Redactor};

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
        let redacted = redactor.json(entry.body.clone());
        let is_same = |known: &LogEntry| {
            let mut body = redacted.clone();
            if let Some(short) = blob::shorten(&mut body, known.seq) {
                body = short.body;
            }
            let id = if entry.id.is_empty() {
                known.seq.to_string()
            } else {
                redactor.text(&entry.id).into_owned()
            };
            (known.kind, known.status, known.turn) == (entry.kind, entry.status, turn)
                && known.id == id
                && known.body == body
        };
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

    fn fill(&mut self) {
        if self.ahead.len() >= WINDOW || self.is_read {
            return;
        }
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

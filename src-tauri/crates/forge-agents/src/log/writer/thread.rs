//! The thread of a log: when it writes what is in memory, and what it does when the disk refuses.

use std::{
    io,
    sync::{MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{FRAME_EVERY, RETRY_EVERY, Shared, State};
use crate::log::{blob, files::Files, raw};

/// How long entries wait for company before they are written.
const FLUSH_EVERY: Duration = Duration::from_millis(30);

/// With this much in memory, and a disk that refuses, there is no room: who reads a program's output waits.
const WAIT_BYTES: usize = 8 * 1024 * 1024;

impl Shared {
    /// The thread of the log.
    pub(super) fn keep_writing(&self) {
        let mut last_write: Option<Instant> = None;
        loop {
            let mut state = self.state();
            while !state.closing && !state.is_dirty() && !state.frame_is_due() {
                state.asleep = true;
                state = match state.raw_since {
                    Some(since) => self.wait(state, FRAME_EVERY.saturating_sub(since.elapsed())),
                    None => self.wake.wait(state).unwrap_or_else(PoisonError::into_inner),
                };
            }
            state.asleep = false;
            // The first entry after a pause is written at once, those on its heels together.
            let pause = if state.refused { RETRY_EVERY } else { FLUSH_EVERY };
            let until = last_write.map(|last| last + pause);
            while let Some(left) = until.and_then(|until| until.checked_duration_since(Instant::now()))
                && !left.is_zero()
                && !state.closing
                && (state.refused || !state.is_much())
            {
                state.gathers = true;
                state = self.wait(state, left);
            }
            state.gathers = false;
            let closing = state.closing;
            drop(state);
            self.write(closing);
            last_write = Some(Instant::now());
            if closing {
                return;
            }
        }
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>, time: Duration) -> MutexGuard<'s, State> {
        // A wait of nothing would spin when the clock is coarse.
        let time = time.max(Duration::from_millis(1));
        self.wake.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Says whether there is room for more.
    pub(super) fn look_for_room(&self, state: &State) {
        let is_full = state.held() >= WAIT_BYTES || state.raw.len() + state.raw_writing >= WAIT_BYTES;
        let has_room = !(state.refused && is_full);
        self.room.send_if_modified(|room| std::mem::replace(room, has_room) != has_room);
    }

    /// Writes long texts that the disk refused before.
    fn write_blobs(&self) -> io::Result<()> {
        let blobs = std::mem::take(&mut self.state().blobs);
        for (at, (seq, text)) in blobs.iter().enumerate() {
            if let Err(error) = blob::write(&self.paths, *seq, text) {
                let left = blobs.get(at..).unwrap_or_default().to_vec();
                self.state().blobs.splice(..0, left);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Writes what is in memory; raw bytes too when a frame of them is due, or all of them.
    pub(super) fn write(&self, all_raw: bool) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let written_blobs = self.write_blobs();
        let (lines, offsets, raw, last_seq) = {
            let mut state = self.state();
            let raw = if all_raw || state.frame_is_due() {
                state.raw_since = None;
                std::mem::take(&mut state.raw)
            } else {
                Vec::new()
            };
            (state.writing, state.raw_writing) = (state.lines.len(), raw.len());
            (std::mem::take(&mut state.lines), std::mem::take(&mut state.offsets), raw, state.last_seq)
        };
        let written_raw = self.write_raw(&mut files, &raw);
        // An entry is written after the text that it refers to.
        let written = written_blobs.and_then(|()| files.write_entries(&lines, &offsets));
        let mut state = self.state();
        if let Some(error) = written_raw.as_ref().err().or(written.as_ref().err())
            && !state.refused
        {
            tracing::warn!(%error, log = %self.paths.lines.display(), "failed to write a log");
        }
        state.refused = written_raw.is_err() || written.is_err();
        (state.writing, state.raw_writing) = (0, 0);
        if written_raw.is_err() {
            state.raw.splice(..0, raw);
            state.raw_since = Some(Instant::now());
        }
        if written.is_err() {
            state.lines.splice(..0, lines);
            state.offsets.splice(..0, offsets);
            self.look_for_room(&state);
        } else {
            self.look_for_room(&state);
            drop(state);
            self.last.send_if_modified(|last| std::mem::replace(last, last_seq) != last_seq);
        }
    }

    fn write_raw(&self, files: &mut Files, content: &[u8]) -> io::Result<()> {
        if content.is_empty() || files.raw_end.compressed >= self.cap_bytes {
            return Ok(());
        }
        files.raw_end = raw::append(&files.raw, files.raw_end, content)?;
        Ok(())
    }
}

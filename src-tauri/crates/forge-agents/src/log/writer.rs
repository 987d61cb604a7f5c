//! Writing a log: entries are numbered and put into memory at once, and written by a thread of the log's
//! own within 30 ms, so that an agent that prints thousands of lines costs few system calls.
//!
//! Memory is bounded: who appends faster than the disk takes it does the writing itself and waits. When
//! the disk refuses (it is full), the entries in memory are kept and tried again, and whoever reads a program's
//! output waits for room ([`LogWriter::until_room`]), so that the program waits, too. From those who append all
//! the same, newer entries are dropped once there are too many, counted, and their number is said in the log when
//! it closes.
//!
//! Secrets are taken out of every entry before it is in memory. Raw bytes are written as they are given: whoever reads
//! a program takes the secrets out of its output first ([`LogWriter::redactor`]).

use std::{
    io,
    path::Path,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use forge_model::{
    log::{EntryKind, EntryStatus},
    redact::Redactor,
};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{
    LogError, LogReader, Paths, blob,
    files::{self, Files},
    io as io_error,
    private::private_folder,
    raw::{self, FRAME_BYTES},
};

/// How long entries wait for company before they are written.
const FLUSH_EVERY: Duration = Duration::from_millis(30);

/// How long a disk that refuses is left alone before it is tried again.
const RETRY_EVERY: Duration = Duration::from_millis(500);

/// With this much in memory, and a disk that refuses, there is no room: who reads a program's output waits.
const WAIT_BYTES: usize = 8 * 1024 * 1024;

/// How long raw bytes wait to fill a frame.
const FRAME_EVERY: Duration = Duration::from_secs(1);

/// With this much in memory there is company enough.
const HASTE_BYTES: usize = 1024 * 1024;

/// From this much in memory on, who appends writes.
const BUSY_BYTES: usize = 3 * 1024 * 1024;

/// With this much in memory, and a disk that refuses, entries are dropped.
const FULL_BYTES: usize = 16 * 1024 * 1024;

/// How many entries that tell of the end are taken beyond the cap.
const LAST_WORDS: u32 = 16;

/// `code` in the notice that says the log is full.
pub(super) const CAP_CODE: &str = "log_cap";

/// What an entry holds, less what the writer knows.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEntry {
    /// What it tells.
    pub kind: EntryKind,
    /// Identity within the turn; an empty one becomes the entry's number.
    pub id: String,
    /// The entry it belongs to.
    pub parent_id: Option<String>,
    /// How far it has come.
    pub status: Option<EntryStatus>,
    /// The content.
    pub body: Value,
    /// Where its raw bytes start; none: where the raw log ends now.
    pub raw_offset: Option<u64>,
}

impl NewEntry {
    /// An entry of its own, without a lifetime.
    #[must_use]
    pub const fn new(kind: EntryKind, id: String, body: Value) -> Self {
        Self { kind, id, parent_id: None, status: None, body, raw_offset: None }
    }

    /// Text of a kind whose body is `{text}`.
    #[must_use]
    pub fn text(kind: EntryKind, text: &str) -> Self {
        Self::new(kind, String::new(), json!({ "text": text }))
    }
}

/// What a log holds when it is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSummary {
    /// Entries in the log.
    pub entries: u64,
    /// Entries that came after the cap, or that the disk refused.
    pub dropped: u64,
    /// Raw bytes before compression.
    pub raw_bytes: u64,
}

/// Appends to one log. Clones write to the same log; the last one to go closes it.
#[derive(Debug, Clone)]
pub struct LogWriter {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    paths: Paths,
    execution_id: String,
    cap_bytes: u64,
    redactor: Arc<Redactor>,
    state: Mutex<State>,
    wake: Condvar,
    /// Taken before `state` by whoever writes, so that batches reach the files in order.
    files: Mutex<Files>,
    last: watch::Sender<u64>,
    /// Whether there is room in memory for more.
    room: watch::Sender<bool>,
}

/// What is numbered but perhaps not written.
#[derive(Debug)]
struct State {
    last_seq: u64,
    /// Where the next line starts in the text.
    position: u64,
    /// Bytes of text and of blobs.
    used: u64,
    capped: bool,
    last_words: u32,
    dropped: u64,
    turn: u32,
    lines: Vec<u8>,
    offsets: Vec<u8>,
    raw: Vec<u8>,
    /// Long texts that the disk refused, by the entry that they belong to.
    blobs: Vec<(u64, String)>,
    /// How many bytes of lines and of raw bytes are being written now: what the disk refuses of them comes back.
    writing: usize,
    raw_writing: usize,
    raw_position: u64,
    raw_since: Option<Instant>,
    closing: bool,
    refused: bool,
    /// Whether the log's thread waits for something to do.
    asleep: bool,
    /// Whether it waits for more to write. It is not woken by each entry then.
    gathers: bool,
}

impl LogWriter {
    /// Opens a log to append to it, and makes it when there is none. What a killed writer left torn at
    /// its end is cut off; an index that disagrees with the text is rebuilt. No entry holds what `redactor` finds.
    ///
    /// # Errors
    /// When the id is none, another writer has the log, or the files cannot be made or repaired.
    pub fn open(
        dir: &Path,
        log_id: &str,
        execution_id: &str,
        cap_bytes: u64,
        redactor: Arc<Redactor>,
    ) -> Result<Self, LogError> {
        let paths = Paths::new(dir, log_id)?;
        private_folder(dir).map_err(io_error("make", dir))?;
        let (files, total) = files::open(&paths, log_id)?;
        let used = files.text_end + files::folder_bytes(&paths.blobs);
        let state = State {
            last_seq: total,
            position: files.text_end,
            used,
            capped: has_cap_notice(dir, log_id, total)?,
            last_words: 0,
            dropped: 0,
            turn: 1,
            lines: Vec::new(),
            offsets: Vec::new(),
            raw: Vec::new(),
            blobs: Vec::new(),
            writing: 0,
            raw_writing: 0,
            raw_position: files.raw_end.content,
            raw_since: None,
            closing: false,
            refused: false,
            asleep: false,
            gathers: false,
        };
        let shared = Arc::new(Shared {
            paths,
            execution_id: execution_id.to_owned(),
            cap_bytes,
            redactor,
            state: Mutex::new(state),
            wake: Condvar::new(),
            files: Mutex::new(files),
            last: watch::Sender::new(total),
            room: watch::Sender::new(true),
        });
        let worker = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || worker.keep_writing())
            .map_err(io_error("start the writer of", &shared.paths.lines))?;
        Ok(Self { inner: Arc::new(Inner { shared, thread: Mutex::new(Some(thread)) }) })
    }

    /// Appends an entry of its own. Returns its number, or the last one's when the log takes no more.
    pub fn append(&self, kind: EntryKind, id: impl Into<String>, body: Value) -> u64 {
        self.append_entry(NewEntry::new(kind, id.into(), body))
    }

    /// Appends an entry. Returns its number, or the last one's when the log takes no more.
    pub fn append_entry(&self, entry: NewEntry) -> u64 {
        let shared = &self.inner.shared;
        let (seq, busy, asleep) = {
            let mut state = shared.state();
            state.append(shared, entry);
            shared.look_for_room(&state);
            (state.last_seq, state.is_busy(), state.is_to_be_woken())
        };
        if asleep {
            shared.wake.notify_one();
        }
        if busy {
            shared.write(false);
        }
        seq
    }

    /// Takes raw bytes as the program gave them. Returns where they start in the raw log.
    pub fn raw(&self, bytes: &[u8]) -> u64 {
        let shared = &self.inner.shared;
        let (offset, busy, asleep) = {
            let mut state = shared.state();
            let offset = state.raw_position;
            let is_first = state.raw_since.is_none();
            if !state.closing && state.raw.len() + state.raw_writing < FULL_BYTES {
                state.raw_position += bytes.len() as u64;
                state.raw.extend_from_slice(bytes);
                state.raw_since.get_or_insert_with(Instant::now);
            }
            shared.look_for_room(&state);
            // Whoever sleeps since the first bytes of a frame came sleeps until it is due.
            let wakes = is_first || state.raw.len() >= FRAME_BYTES;
            (offset, state.is_busy(), wakes && state.is_to_be_woken())
        };
        if asleep {
            shared.wake.notify_one();
        }
        if busy {
            shared.write(false);
        }
        offset
    }

    /// What takes the secrets out of this log.
    #[must_use]
    pub fn redactor(&self) -> &Arc<Redactor> {
        &self.inner.shared.redactor
    }

    /// Says which turn of the conversation the next entries belong to.
    pub fn set_turn(&self, turn: u32) {
        self.inner.shared.state().turn = turn;
    }

    /// The number of the last entry that can be read, as it grows.
    #[must_use]
    pub fn follow(&self) -> watch::Receiver<u64> {
        self.inner.shared.last.subscribe()
    }

    /// Writes what is in memory, raw bytes included. Blocks on the disk. False when the disk refused any of it: that
    /// stays in memory.
    pub fn flush(&self) -> bool {
        self.inner.shared.write(true);
        !self.inner.shared.state().refused
    }

    /// Waits until there is room for more: at once, unless the disk refuses what is in memory already. `waiting` is
    /// called while it goes on.
    pub async fn until_room(&self, mut waiting: impl FnMut() + Send) {
        let mut room = self.inner.shared.room.subscribe();
        while !*room.borrow_and_update() {
            waiting();
            // The writer lives as long as this handle, so the wait ends by the time or by news.
            let _ = tokio::time::timeout(RETRY_EVERY, room.changed()).await;
        }
    }

    /// Writes what is in memory and ends the log; what is appended later is dropped. Blocks on the disk.
    pub fn close(&self) -> LogSummary {
        self.inner.close();
        let state = self.inner.shared.state();
        LogSummary { entries: state.last_seq, dropped: state.dropped, raw_bytes: state.raw_position }
    }
}

impl Inner {
    fn close(&self) {
        {
            let mut state = self.shared.state();
            if !state.closing {
                state.say_what_was_dropped(&self.shared);
                state.closing = true;
            }
        }
        self.shared.wake.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!(log = %self.shared.paths.lines.display(), "the writer of a log panicked");
            // What it did not get to is in memory still.
            self.shared.write(true);
        }
        let files = self.shared.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = files.text.unlock() {
            tracing::warn!(%error, log = %self.shared.paths.lines.display(), "failed to unlock a log");
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}

impl State {
    fn append(&mut self, shared: &Shared, entry: NewEntry) {
        if self.closing || (self.refused && self.held() >= FULL_BYTES) {
            self.dropped += 1;
            return;
        }
        if self.capped {
            let is_last_word =
                matches!(entry.kind, EntryKind::TurnEnded | EntryKind::ProcessExit | EntryKind::HookRun);
            if is_last_word && self.last_words < LAST_WORDS {
                self.last_words += 1;
                self.put(shared, entry);
            } else {
                self.dropped += 1;
            }
            return;
        }
        if self.used >= shared.cap_bytes {
            self.capped = true;
            self.dropped += 1;
            self.put(shared, cap_notice(shared.cap_bytes));
            return;
        }
        self.put(shared, entry);
    }

    fn put(&mut self, shared: &Shared, mut entry: NewEntry) {
        let seq = self.last_seq + 1;
        let raw_offset = entry.raw_offset.unwrap_or(self.raw_position);
        if blob::is_long(&entry.body) {
            // What is cut apart below could cut a secret in two.
            entry.body = shared.redactor.json(entry.body);
        }
        if let Some(short) = blob::shorten(&mut entry.body, seq) {
            let length = short.text.len() as u64;
            if let Err(error) = blob::write(&shared.paths, seq, &short.text) {
                tracing::warn!(%error, log = %shared.paths.lines.display(), "failed to write a long text; trying again");
                self.blobs.push((seq, short.text));
            }
            self.used += length;
            entry.body = short.body;
        }
        let start = self.lines.len();
        let at = crate::clock::now_ms();
        let mut written = self.write_line(shared, &entry, (seq, at, raw_offset));
        // One search of the line says of almost every entry that it holds no secret.
        if written.is_ok() && shared.redactor.finds(self.lines.get(start..).unwrap_or_default()) {
            self.lines.truncate(start);
            entry.id = shared.redactor.string(entry.id);
            entry.parent_id = entry.parent_id.map(|id| shared.redactor.string(id));
            entry.body = shared.redactor.json(entry.body);
            written = self.write_line(shared, &entry, (seq, at, raw_offset));
        }
        if let Err(error) = written {
            tracing::error!(%error, "failed to write a log entry as JSON");
            self.lines.truncate(start);
            self.dropped += 1;
            return;
        }
        self.lines.push(b'\n');
        self.offsets.extend(self.position.to_le_bytes());
        let length = (self.lines.len() - start) as u64;
        self.position += length;
        self.used += length;
        self.last_seq = seq;
    }

    fn write_line(
        &mut self,
        shared: &Shared,
        entry: &NewEntry,
        (seq, at, raw_offset): (u64, i64, u64),
    ) -> serde_json::Result<()> {
        let line = Line {
            seq,
            at,
            execution_id: &shared.execution_id,
            turn: self.turn,
            id: if entry.id.is_empty() { LineId::Number(seq) } else { LineId::Given(&entry.id) },
            parent_id: entry.parent_id.as_deref(),
            kind: entry.kind,
            status: entry.status,
            body: &entry.body,
            raw_offset,
        };
        serde_json::to_writer(&mut self.lines, &line)
    }

    fn say_what_was_dropped(&mut self, shared: &Shared) {
        if self.dropped == 0 {
            return;
        }
        let dropped = self.dropped;
        let why = if self.capped { "the log was full" } else { "the disk failed" };
        let text = format!("{dropped} more entries were lost: {why}.");
        let body = json!({ "text": text, "code": "log_dropped", "dropped": dropped });
        self.put(shared, NewEntry::new(EntryKind::Notice, String::new(), body));
    }

    /// How many bytes of entries wait for the disk.
    fn held(&self) -> usize {
        self.lines.len() + self.writing + self.blobs.iter().map(|(_, text)| text.len()).sum::<usize>()
    }

    fn is_busy(&self) -> bool {
        !self.refused && (self.lines.len() > BUSY_BYTES || self.raw.len() > BUSY_BYTES)
    }

    /// Whether much waits to be written.
    fn is_much(&self) -> bool {
        self.lines.len() > HASTE_BYTES || self.raw.len() > HASTE_BYTES
    }

    /// Whether the log's thread must hear of what was appended; it hears of it once.
    fn is_to_be_woken(&mut self) -> bool {
        let is_much = self.is_much();
        std::mem::take(&mut self.asleep) || (is_much && std::mem::take(&mut self.gathers))
    }

    fn is_dirty(&self) -> bool {
        !self.lines.is_empty() || !self.blobs.is_empty() || self.raw.len() >= FRAME_BYTES
    }

    fn frame_is_due(&self) -> bool {
        self.raw.len() >= FRAME_BYTES || self.raw_since.is_some_and(|since| since.elapsed() >= FRAME_EVERY)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread of the log.
    fn keep_writing(&self) {
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
    fn look_for_room(&self, state: &State) {
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
    fn write(&self, all_raw: bool) {
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

/// An entry as it is written; the same fields as [`forge_model::log::LogEntry`], borrowed.
#[derive(Serialize)]
struct Line<'e> {
    seq: u64,
    at: i64,
    execution_id: &'e str,
    turn: u32,
    id: LineId<'e>,
    parent_id: Option<&'e str>,
    kind: EntryKind,
    status: Option<EntryStatus>,
    body: &'e Value,
    raw_offset: u64,
}

enum LineId<'e> {
    Given(&'e str),
    Number(u64),
}

impl Serialize for LineId<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Given(id) => serializer.serialize_str(id),
            Self::Number(seq) => serializer.collect_str(seq),
        }
    }
}

fn cap_notice(cap_bytes: u64) -> NewEntry {
    let text = format!(
        "The log is full ({} MiB). The agent keeps running, but its further output is not kept.",
        cap_bytes / (1024 * 1024)
    );
    let body = json!({ "text": text, "code": CAP_CODE, "cap_bytes": cap_bytes });
    NewEntry::new(EntryKind::Notice, String::new(), body)
}

/// Whether an earlier writer said that the log is full: it says so within its last words.
fn has_cap_notice(dir: &Path, log_id: &str, total: u64) -> Result<bool, LogError> {
    if total == 0 {
        return Ok(false);
    }
    let page = LogReader::page(dir, log_id, None, None, LAST_WORDS as usize * 2)?;
    Ok(page.entries.iter().any(|entry| {
        entry.kind == EntryKind::Notice && entry.body.get("code").and_then(Value::as_str) == Some(CAP_CODE)
    }))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::log::DEFAULT_CAP_BYTES;

    #[test]
    fn close_after_the_writer_panicked_writes_what_is_in_memory() {
        let dir = tempfile::tempdir().expect("a folder");
        let log =
            LogWriter::open(dir.path(), "log", "e", DEFAULT_CAP_BYTES, Default::default()).expect("a log");
        let (shared, thread) = (&log.inner.shared, &log.inner.thread);
        // The writer is gone before the entry comes.
        shared.state().closing = true;
        shared.wake.notify_all();
        let writer = thread.lock().expect("not poisoned").take().expect("a writer");
        writer.join().expect("an end in order");
        shared.state().closing = false;
        log.append_entry(NewEntry::text(EntryKind::Stdout, "the tail"));
        let panics = std::thread::spawn(|| panic!("a mistake in the writer"));
        *thread.lock().expect("not poisoned") = Some(panics);
        assert_eq!(log.close().entries, 1);
        let page = LogReader::page(dir.path(), "log", None, None, 10).expect("a page");
        assert_eq!(page.entries.len(), 1, "the tail is lost");
    }

    #[test]
    fn what_the_disk_refuses_is_kept_and_written_when_it_takes_it_again() {
        let dir = tempfile::tempdir().expect("a folder");
        let log =
            LogWriter::open(dir.path(), "log", "e", DEFAULT_CAP_BYTES, Default::default()).expect("a log");
        let append = |text: &str| log.append_entry(NewEntry::text(EntryKind::Stdout, text));
        let swap = |text: &mut File, raw: &mut File| {
            let mut files = log.inner.shared.files.lock().expect("the files");
            std::mem::swap(&mut files.text, text);
            std::mem::swap(&mut files.raw, raw);
        };
        append("before");
        log.raw(b"before");
        log.flush();
        // A file that may only be read refuses what is written, as a full disk does.
        let mut text = File::open(dir.path().join("log.jsonl")).expect("the text");
        let mut raw = File::open(dir.path().join("log.raw.zst")).expect("the raw log");
        swap(&mut text, &mut raw);
        append("during");
        log.raw(b"during");
        log.flush();
        assert_eq!(*log.follow().borrow(), 1, "told of an entry that is not in the file");
        assert_eq!(append("more"), 3);
        log.flush();
        swap(&mut text, &mut raw);
        append("after");
        assert_eq!(log.close(), LogSummary { entries: 4, dropped: 0, raw_bytes: 12 });
        let page = LogReader::page(dir.path(), "log", None, None, 10).expect("a page");
        let texts: Vec<_> = page.entries.iter().filter_map(|entry| entry.body["text"].as_str()).collect();
        assert_eq!(texts, ["before", "during", "more", "after"]);
        assert_eq!(LogReader::raw(dir.path(), "log", 0, 100).expect("bytes"), b"beforeduring");
    }

    #[tokio::test]
    async fn full_disk_leaves_no_room_until_it_takes_writes_again() {
        let dir = tempfile::tempdir().expect("a folder");
        let log =
            LogWriter::open(dir.path(), "log", "e", DEFAULT_CAP_BYTES, Default::default()).expect("a log");
        log.until_room(|| panic!("waited while the disk takes everything")).await;
        let text = File::open(dir.path().join("log.jsonl")).expect("the text");
        let right = std::mem::replace(&mut log.inner.shared.files.lock().expect("the files").text, text);
        let mut appended = 0;
        while *log.inner.shared.room.borrow() {
            log.append_entry(NewEntry::text(EntryKind::Stdout, &"x".repeat(60_000)));
            appended += 1;
            assert!(log.inner.shared.state().lines.len() < FULL_BYTES, "room is said to be there still");
        }
        assert!(!log.flush(), "the disk refuses");
        let waiter = log.clone();
        let (waits, waiting) = tokio::sync::oneshot::channel();
        let mut waits = Some(waits);
        let waited = tokio::spawn(async move {
            waiter
                .until_room(|| {
                    if let Some(waits) = waits.take() {
                        waits.send(()).expect("somebody who waits for it");
                    }
                })
                .await;
        });
        waiting.await.expect("a wait");
        log.inner.shared.files.lock().expect("the files").text = right;
        waited.await.expect("room");
        assert_eq!(log.close(), LogSummary { entries: appended, dropped: 0, raw_bytes: 0 });
    }

    #[test]
    fn long_text_that_the_disk_refuses_is_written_later() {
        let dir = tempfile::tempdir().expect("a folder");
        let log =
            LogWriter::open(dir.path(), "log", "e", DEFAULT_CAP_BYTES, Default::default()).expect("a log");
        // A file where the folder of long texts belongs is in the way of it.
        let blobs = dir.path().join("log.blobs");
        std::fs::write(&blobs, b"").expect("a file");
        log.append_entry(NewEntry::text(EntryKind::Stdout, &"y".repeat(200_000)));
        assert!(!log.flush());
        assert_eq!(*log.follow().borrow(), 0, "told of an entry whose text is nowhere");
        std::fs::remove_file(&blobs).expect("no file");
        assert!(log.flush());
        assert_eq!(log.close().dropped, 0);
        assert_eq!(
            std::fs::read_to_string(dir.path().join("log.blobs/1.txt")).expect("a text").len(),
            200_000
        );
    }

    #[test]
    fn a_disk_that_goes_on_refusing_costs_entries_and_no_memory() {
        let dir = tempfile::tempdir().expect("a folder");
        let log =
            LogWriter::open(dir.path(), "log", "e", DEFAULT_CAP_BYTES, Default::default()).expect("a log");
        let text = File::open(dir.path().join("log.jsonl")).expect("the text");
        let right = std::mem::replace(&mut log.inner.shared.files.lock().expect("the files").text, text);
        for _ in 0..600 {
            log.append_entry(NewEntry::text(EntryKind::Stdout, &"x".repeat(60_000)));
        }
        assert!(log.inner.shared.state().lines.len() < FULL_BYTES + 2 * BUSY_BYTES);
        log.inner.shared.files.lock().expect("the files").text = right;
        let summary = log.close();
        assert!(summary.dropped > 100, "{summary:?}");
        // All that were not dropped, and the notice.
        assert_eq!(summary.entries + summary.dropped, 601);
        let end = LogReader::page(dir.path(), "log", None, None, 1).expect("a page").entries;
        assert_eq!(end[0].body["dropped"], summary.dropped);
    }
}

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

mod line;
mod replay;
mod thread;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use forge_model::{
    log::{EntryKind, EntryStatus, LogEntry},
    redact::Redactor,
};
use forge_reading::refusal::{RefusalReader, Refusals};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{
    LogError, LogReader, Paths, blob,
    files::{self, Files},
    io as io_error,
    private::private_folder,
    raw::FRAME_BYTES,
};

use line::{Line, LineId};
use replay::{Replay, was_told};

/// How long a disk that refuses is left alone before it is tried again.
const RETRY_EVERY: Duration = Duration::from_millis(500);

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

/// `code` in the notices that the disk where the program runs is full, and that it has space again.
const DISK_FULL_CODE: &str = "disk_full";
const DISK_FREE_CODE: &str = "disk_free";

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
    dir: PathBuf,
    log_id: String,
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
    /// What is told once more.
    replay: Option<Replay>,
    /// What Forge itself told of the end before the run was gone on with, and has not told again.
    told_before: Vec<LogEntry>,
    /// When what is told now happened; now, where nobody says so.
    told_at: Option<i64>,
    /// Reads refusals of a sandbox in what is appended.
    refusals: Option<RefusalReader>,
    /// What people call the machine that the program runs on; none for this computer.
    machine: Option<String>,
}

impl LogWriter {
    /// Opens a log for appending, and creates it if it does not exist. A torn end that a killed writer left is cut off;
    /// an index that disagrees with the text is rebuilt. Entries are redacted by `redactor`.
    ///
    /// # Errors
    /// When the id is not valid, another writer has the log, or the files cannot be created or repaired.
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
            replay: None,
            told_before: Vec::new(),
            told_at: None,
            refusals: None,
            machine: None,
        };
        let shared = Arc::new(Shared {
            dir: dir.to_owned(),
            log_id: log_id.to_owned(),
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
                let fresh = state.replay.as_ref().map_or(bytes, |replay| replay.fresh(offset, bytes));
                if !fresh.is_empty() {
                    state.raw.extend_from_slice(fresh);
                    state.raw_since.get_or_insert_with(Instant::now);
                }
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

    /// From now on a run tells once more what it told before it was interrupted: what the log has of that is not
    /// written again. Called before anything is appended.
    pub fn tell_again(&self) {
        let shared = &self.inner.shared;
        let mut state = shared.state();
        let known = std::mem::take(&mut state.raw_position);
        state.replay = Some(Replay::new(shared.dir.clone(), shared.log_id.clone(), known));
    }

    /// Everything was told that had happened before; what comes now is new.
    pub fn told_again(&self) {
        self.inner.shared.state().end_replay();
    }

    /// Says what people call the machine that the program runs on.
    pub fn set_machine(&self, name: &str) {
        self.inner.shared.state().machine = Some(name.to_owned());
    }

    /// Tells that the disk where the program runs refuses what it prints, and where; nothing once it takes that again.
    pub fn note_disk(&self, path: Option<&Path>) {
        let on = self.inner.shared.state().machine.as_ref().map(|name| format!(" of the machine `{name}`"));
        let on = on.unwrap_or_default();
        let (code, text) = match path {
            Some(path) => (
                DISK_FULL_CODE,
                format!(
                    "The disk{on} takes no more output at `{}`. The program waits, and nothing is lost. Free some space there.",
                    path.display()
                ),
            ),
            None => (DISK_FREE_CODE, format!("The disk{on} takes output again, and the program goes on.")),
        };
        self.append(EntryKind::Notice, String::new(), json!({ "text": text, "code": code }));
    }

    /// From now on what is appended is searched for refusals of a sandbox. Called before anything is appended.
    pub fn read_refusals(&self) {
        self.inner.shared.state().refusals = Some(RefusalReader::new());
    }

    /// The refusals that were told, once there are no more.
    #[must_use]
    pub fn refusals(&self) -> Refusals {
        let reader = self.inner.shared.state().refusals.take();
        reader.map(RefusalReader::finish).unwrap_or_default()
    }

    /// Says when what is told from now on happened, in Unix milliseconds; none means now.
    pub fn set_time(&self, at_ms: Option<i64>) {
        self.inner.shared.state().told_at = at_ms;
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

    /// Waits until there is room for more: at once, unless the disk refuses what is in memory already.
    pub async fn until_room(&self) {
        let mut room = self.inner.shared.room.subscribe();
        // The writer lives as long as this handle.
        let _ = room.wait_for(|room| *room).await;
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
        if let Some(refusals) = &mut self.refusals {
            read_output(&entry, refusals);
        }
        if let Some(mut replay) = self.replay.take() {
            let is_known = replay.has(&entry, self.turn, &shared.redactor);
            self.replay = Some(replay);
            if is_known {
                return;
            }
        } else if was_told(&mut self.told_before, &entry, self.turn, &shared.redactor) {
            return;
        }
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
        let at = self.told_at.unwrap_or_else(crate::clock::now_ms);
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

    /// The log goes on where it ended, whatever was told again.
    fn end_replay(&mut self) {
        if let Some(replay) = self.replay.take() {
            self.raw_position = self.raw_position.max(replay.raw());
            self.told_before = replay.last_words();
        }
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
}

/// Has the output of a program or tool read, once it is whole.
fn read_output(entry: &NewEntry, refusals: &mut RefusalReader) {
    let is_stream = matches!(entry.kind, EntryKind::Stdout | EntryKind::Stderr);
    let is_call = matches!(entry.kind, EntryKind::Command | EntryKind::FileChange | EntryKind::ToolCall);
    if is_stream {
        entry.body.get("text").into_iter().for_each(|text| read_texts(text, refusals));
        // An entry of a stream is one or more whole lines, without the last line break.
        refusals.push(b"\n");
    } else if is_call && matches!(entry.status, Some(EntryStatus::Completed | EntryStatus::Failed)) {
        let told = ["output", "error"].into_iter().filter_map(|name| entry.body.get(name));
        for value in told {
            read_texts(value, refusals);
            refusals.push(b"\n");
        }
    }
}

fn read_texts(value: &Value, refusals: &mut RefusalReader) {
    match value {
        Value::String(text) => refusals.push(text.as_bytes()),
        Value::Array(values) => values.iter().for_each(|value| read_texts(value, refusals)),
        Value::Object(fields) => fields.values().for_each(|value| read_texts(value, refusals)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
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
mod tests;

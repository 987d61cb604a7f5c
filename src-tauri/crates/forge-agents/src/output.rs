//! From bytes to entries: text in batches of lines, and the lines that are entries themselves.

use std::{io, path::Path, sync::Arc};

use async_trait::async_trait;
use forge_exec::Stream;
use forge_keeper::{KeptSink, LimitHit, Output as Printed};
use forge_model::{
    log::{EntryKind, EntryStatus},
    redact::{RedactedStream, Redactor},
    usage::{MAX_FIGURE, UsageSample},
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    AgentError, Control, LogWriter, NewEntry, RunEvent, adapter::Activity, doing::doing,
    log::MAX_INLINE_TEXT, memory_log::MemoryLog,
};

/// The longest line that may still turn out to be an entry.
const MAX_ENTRY_LINE: usize = 1024 * 1024;

/// How much of a program's last line is kept to say how it failed.
const LAST_LINE_CHARS: usize = 300;

/// Where entries and raw bytes go.
pub(crate) enum RawLogSink {
    /// To a run's log.
    Log(LogWriter),
    /// Into memory, in a run without a program; of the raw bytes only their number.
    Memory { log: MemoryLog, raw_bytes: u64 },
}

impl RawLogSink {
    /// What takes the secrets out of what goes there.
    fn redactor(&self) -> Arc<Redactor> {
        match self {
            Self::Log(log) => Arc::clone(log.redactor()),
            Self::Memory { .. } => Arc::default(),
        }
    }

    fn raw(&mut self, bytes: &[u8]) -> u64 {
        match self {
            Self::Log(log) => log.raw(bytes),
            Self::Memory { raw_bytes, .. } => {
                let at = *raw_bytes;
                *raw_bytes += bytes.len() as u64;
                at
            }
        }
    }

    fn append(&mut self, entry: NewEntry) {
        match self {
            Self::Log(log) => drop(log.append_entry(entry)),
            Self::Memory { log, .. } => log.append(entry),
        }
    }

    fn set_time(&self, at_ms: Option<i64>) {
        match self {
            Self::Log(log) => log.set_time(at_ms),
            Self::Memory { .. } => {}
        }
    }

    fn set_turn(&mut self, turn: u32) {
        match self {
            Self::Log(log) => log.set_turn(turn),
            Self::Memory { log, .. } => log.turn = turn,
        }
    }
}

/// Takes a command's output.
pub(crate) struct Output {
    pub(crate) log: RawLogSink,
    activity: Activity,
    events: mpsc::UnboundedSender<RunEvent>,
    /// The limit that the command reached.
    pub(crate) limit: Option<LimitHit>,
    /// Fired when it reaches one.
    stop: CancellationToken,
    stdout: PartialLine,
    stderr: PartialLine,
    /// What takes the secrets out before anything is written or read.
    redacted_stdout: RedactedStream,
    redacted_stderr: RedactedStream,
    /// What it reported, sample by sample.
    pub(crate) usage: Vec<UsageSample>,
    /// How it summed up.
    pub(crate) summary: Option<String>,
    /// The error it reported.
    pub(crate) error: Option<AgentError>,
    /// The last line of text it printed; of standard error rather than of standard output.
    last_text: String,
    last_error_text: String,
}

/// Bytes of a line whose end has not come yet.
#[derive(Default)]
struct PartialLine {
    bytes: Vec<u8>,
    raw_offset: u64,
    /// Whether the line's start was handed on already.
    is_within_line: bool,
}

impl Output {
    pub(crate) fn new(log: RawLogSink, control: &Control) -> Self {
        let redactor = log.redactor();
        Self {
            redacted_stdout: redactor.stream(),
            redacted_stderr: redactor.stream(),
            log,
            activity: control.activity.clone(),
            events: control.events(),
            limit: None,
            stop: CancellationToken::new(),
            stdout: PartialLine::default(),
            stderr: PartialLine::default(),
            usage: Vec::new(),
            summary: None,
            error: None,
            last_text: String::new(),
            last_error_text: String::new(),
        }
    }

    /// Has a limit that is reached fire a token.
    pub(crate) fn stop_by(&mut self, stop: &CancellationToken) {
        self.stop = stop.clone();
    }

    /// What it said last, to be shown with a failure.
    pub(crate) fn last_words(&self) -> String {
        let text = if self.last_error_text.is_empty() { &self.last_text } else { &self.last_error_text };
        text.chars().take(LAST_LINE_CHARS).collect()
    }

    /// Takes the lines that never got an end.
    pub(crate) fn finish(&mut self) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let rest = self.redacted(stream).finish();
            self.take_redacted(stream, &rest);
            let carry = std::mem::take(self.carry(stream));
            self.lines(stream, &carry);
        }
    }

    const fn carry(&mut self, stream: Stream) -> &mut PartialLine {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }

    /// Waits while the disk refuses the log.
    async fn until_room(&self) {
        if let RawLogSink::Log(log) = &self.log {
            log.until_room().await;
        }
    }

    /// Takes bytes that came at a time, in Unix milliseconds.
    pub(crate) fn take_at(&mut self, stream: Stream, bytes: &[u8], at_ms: i64) {
        self.log.set_time(Some(at_ms));
        self.take(stream, bytes);
        self.log.set_time(None);
    }

    const fn redacted(&mut self, stream: Stream) -> &mut RedactedStream {
        match stream {
            Stream::Stdout => &mut self.redacted_stdout,
            Stream::Stderr => &mut self.redacted_stderr,
        }
    }

    /// Takes bytes as they were read.
    pub(crate) fn take(&mut self, stream: Stream, bytes: &[u8]) {
        let bytes = self.redacted(stream).push(bytes);
        self.take_redacted(stream, &bytes);
    }

    fn take_redacted(&mut self, stream: Stream, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let raw_offset = self.log.raw(bytes);
        let carry = self.carry(stream);
        if carry.bytes.is_empty() {
            carry.raw_offset = raw_offset;
        }
        let whole = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
        let (whole, rest) = bytes.split_at(whole);
        if !whole.is_empty() {
            let mut lines = std::mem::take(carry);
            carry.raw_offset = raw_offset + whole.len() as u64;
            lines.bytes.extend_from_slice(whole);
            self.lines(stream, &lines);
        }
        self.carry(stream).bytes.extend_from_slice(rest);
        self.relieve(stream);
    }

    /// Hands on the start of a line that is too long to wait for its end.
    fn relieve(&mut self, stream: Stream) {
        let carry = self.carry(stream);
        let may_be_entry =
            stream == Stream::Stdout && carry.bytes.first() == Some(&b'{') && !carry.is_within_line;
        let most = if may_be_entry { MAX_ENTRY_LINE } else { MAX_INLINE_TEXT };
        if carry.bytes.len() < most {
            return;
        }
        let mut bytes = std::mem::take(&mut carry.bytes);
        let raw_offset = carry.raw_offset;
        carry.bytes = bytes.split_off(character_boundary(&bytes, bytes.len()));
        carry.raw_offset = raw_offset + bytes.len() as u64;
        carry.is_within_line = true;
        self.text(stream, &bytes, raw_offset);
    }

    /// Takes whole lines: runs of text become entries, and so does each line that is one.
    fn lines(&mut self, stream: Stream, lines: &PartialLine) {
        let PartialLine { bytes, raw_offset, is_within_line } = lines;
        let mut text_from = 0;
        if stream == Stream::Stdout && memchr::memchr(b'{', bytes).is_some() {
            let mut at = 0;
            for line in crate::lines::lines(bytes) {
                let end = at + line.len();
                let is_line = at > 0 || !is_within_line;
                if let Some(entry) = is_line.then(|| Reported::parse(line)).flatten() {
                    let text = bytes.get(text_from..at).unwrap_or_default();
                    self.text(stream, text, raw_offset + text_from as u64);
                    self.reported(entry, raw_offset + at as u64);
                    text_from = end;
                }
                at = end;
            }
        }
        let text = bytes.get(text_from..).unwrap_or_default();
        self.text(stream, text, raw_offset + text_from as u64);
    }

    /// Appends text, in pieces that stay in their entries. A piece that does not end its line says so.
    fn text(&mut self, stream: Stream, bytes: &[u8], raw_offset: u64) {
        let kind = match stream {
            Stream::Stdout => EntryKind::Stdout,
            Stream::Stderr => EntryKind::Stderr,
        };
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let end = at + piece_length(rest);
            let piece = bytes.get(at..end).unwrap_or_default();
            let (text, is_whole) = match piece.strip_suffix(b"\n") {
                Some(text) => (String::from_utf8_lossy(text), true),
                None => (String::from_utf8_lossy(piece), false),
            };
            if end == bytes.len() {
                self.remember(stream, &text);
            }
            let body =
                if is_whole { json!({ "text": text }) } else { json!({ "text": text, "partial": true }) };
            let mut entry = NewEntry::new(kind, String::new(), body);
            entry.raw_offset = Some(raw_offset + at as u64);
            self.log.append(entry);
            at = end;
        }
    }

    fn remember(&mut self, stream: Stream, text: &str) {
        let Some(line) = text.rsplit(['\n', '\r']).find(|line| !line.trim().is_empty()) else { return };
        self.activity.say(line);
        let kept = line.trim().chars().take(LAST_LINE_CHARS).collect();
        match stream {
            Stream::Stdout => self.last_text = kept,
            Stream::Stderr => self.last_error_text = kept,
        }
    }

    fn reported(&mut self, reported: Reported, raw_offset: u64) {
        let Reported { kind, id, parent_id, status, turn, body } = reported;
        if let Some(line) = doing(kind, &body) {
            self.activity.say(&line);
        }
        if kind == EntryKind::Usage {
            self.count(&body);
        } else if kind == EntryKind::TurnEnded {
            self.turn_ended(&body);
        }
        if let Some(turn) = turn {
            self.log.set_turn(turn);
        }
        self.log.append(NewEntry { kind, id, parent_id, status, body, raw_offset: Some(raw_offset) });
    }

    fn count(&mut self, body: &Value) {
        match ReportedUsage::read(body) {
            Ok(usage) => {
                let sample = UsageSample::from(usage);
                // Nobody listening is fine.
                let _ = self.events.send(RunEvent::Used { sample: sample.clone(), carry: None });
                self.usage.push(sample);
            }
            Err(error) => {
                let text = format!("A usage report was not readable and is not counted: {error}.");
                let body = json!({ "text": text, "code": "usage_unread" });
                self.log.append(NewEntry::new(EntryKind::Notice, String::new(), body));
            }
        }
    }

    fn turn_ended(&mut self, body: &Value) {
        if let Some(summary) = body.get("summary").and_then(Value::as_str) {
            self.summary = Some(summary.to_owned());
        }
        self.error = body.get("error").and_then(reported_error);
    }
}

#[async_trait]
impl KeptSink for Output {
    async fn output(&mut self, printed: Printed<'_>) -> io::Result<()> {
        self.until_room().await;
        self.take_at(printed.stream, printed.bytes, printed.at_ms);
        Ok(())
    }

    async fn limit(&mut self, hit: LimitHit) {
        self.limit.get_or_insert(hit);
        self.stop.cancel();
    }

    async fn live(&mut self) {
        if let RawLogSink::Log(log) = &self.log {
            log.told_again();
        }
    }

    async fn disk_refuses(&mut self, path: Option<&Path>) {
        if let RawLogSink::Log(log) = &self.log {
            log.note_disk(path);
        }
    }
}

/// How much of the text goes into one entry: whole lines where they fit.
fn piece_length(text: &[u8]) -> usize {
    let Some(most) = text.get(..MAX_INLINE_TEXT) else { return text.len() };
    match most.iter().rposition(|byte| *byte == b'\n') {
        Some(at) => at + 1,
        None => character_boundary(text, MAX_INLINE_TEXT),
    }
}

/// The end of the last whole character up to `end`. Bytes that are no UTF-8 are cut anywhere.
fn character_boundary(bytes: &[u8], end: usize) -> usize {
    let last = bytes.get(end.saturating_sub(3)..end).unwrap_or_default();
    let Some(back) = last.iter().rev().position(|byte| *byte >= 0xC0) else { return end };
    let start = end - back - 1;
    let is_cut = bytes
        .get(start..end)
        .is_some_and(|part| std::str::from_utf8(part).is_err_and(|error| error.error_len().is_none()));
    if is_cut && start > 0 { start } else { end }
}

/// A line that is an entry.
struct Reported {
    kind: EntryKind,
    id: String,
    parent_id: Option<String>,
    status: Option<EntryStatus>,
    turn: Option<u32>,
    body: Value,
}

impl Reported {
    /// None: it is text. An end of the process is not for the process to tell.
    fn parse(line: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Wire {
            kind: String,
            body: Value,
            #[serde(default)]
            id: String,
            parent_id: Option<String>,
            status: Option<EntryStatus>,
            turn: Option<u32>,
        }
        let line = line.trim_ascii();
        if line.first() != Some(&b'{') || line.last() != Some(&b'}') {
            return None;
        }
        let Wire { kind, body, id, parent_id, status, turn } = serde_json::from_slice(line).ok()?;
        // Forge alone tells how a process and a hook ended.
        let kind = EntryKind::read(&kind)
            .filter(|kind| !matches!(kind, EntryKind::ProcessExit | EntryKind::HookRun))?;
        Some(Self { kind, id, parent_id, status, turn, body })
    }
}

/// Usage as a script gives it: what it leaves out is zero, a cost that it leaves out is unknown.
#[derive(Deserialize)]
struct ReportedUsage {
    #[serde(default)]
    model: String,
    #[serde(default)]
    input_uncached: u64,
    #[serde(default)]
    cache_read: u64,
    #[serde(default)]
    cache_write: u64,
    #[serde(default)]
    output: u64,
    #[serde(default)]
    reasoning: u64,
    cost_micro_usd: Option<u64>,
}

impl ReportedUsage {
    /// Reads a report. A figure that not every reader of JSON holds exactly is refused.
    fn read(body: &Value) -> Result<Self, String> {
        let usage = Self::deserialize(body).map_err(|error| error.to_string())?;
        let figures = [
            ("input_uncached", usage.input_uncached),
            ("cache_read", usage.cache_read),
            ("cache_write", usage.cache_write),
            ("output", usage.output),
            ("reasoning", usage.reasoning),
            ("cost_micro_usd", usage.cost_micro_usd.unwrap_or_default()),
        ];
        match figures.into_iter().find(|(_, figure)| *figure > MAX_FIGURE) {
            Some((name, figure)) => Err(format!("{name} is {figure}, and must be below 2^53")),
            None => Ok(usage),
        }
    }
}

impl From<ReportedUsage> for UsageSample {
    fn from(usage: ReportedUsage) -> Self {
        let ReportedUsage {
            model,
            input_uncached,
            cache_read,
            cache_write,
            output,
            reasoning,
            cost_micro_usd,
        } = usage;
        Self { model, input_uncached, cache_read, cache_write, output, reasoning, cost_micro_usd }
    }
}

/// The error in the body of a `turn_ended` entry: `{"error": {"code", "message"?, "until_ms"?}}`. Only
/// what a program can know about itself; everything else is told by how it ends.
fn reported_error(error: &Value) -> Option<AgentError> {
    #[derive(Deserialize)]
    struct Wire {
        code: String,
        #[serde(default)]
        message: String,
        until_ms: Option<i64>,
    }
    let Wire { code, message: detail, until_ms } = Wire::deserialize(error).ok()?;
    match code.as_str() {
        "auth" => Some(AgentError::Auth { detail }),
        "rate_limited" => until_ms.map(|until_ms| AgentError::RateLimited { until_ms }),
        "model_error" => Some(AgentError::ModelError { detail }),
        "refused" => Some(AgentError::Refused { detail }),
        _ => None,
    }
}

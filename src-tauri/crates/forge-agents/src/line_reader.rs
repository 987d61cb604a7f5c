//! Splits a program's output into lines for its dialogue, all lines of one read at a time.
//!
//! Memory is bounded: at most [`READS_AHEAD`] reads are queued, then the program has to wait. A line that is too long is
//! dropped; the raw log has it.
//!
//! The raw log gets the output without secrets and with masked deltas (`deltas.rs`). The dialogue gets the output
//! unchanged, because the program must get some values back unchanged, such as the input of an approved tool call, and
//! they may contain a secret. The log redacts what a dialogue writes.

use std::{io, path::Path};

use async_trait::async_trait;
use forge_exec::Stream;
use forge_keeper::{KeptSink, LimitHit, Output as Printed};
use forge_model::redact::RedactedStream;
use tokio::sync::mpsc;

use crate::{
    Control, LogWriter,
    deltas::MaskedDeltas,
    lines::{MAX_LINE_BYTES, lines},
    output::{Output, RawLogSink},
};

/// How many reads of the pipe, each with the lines that it ends, wait for the dialogue before the program has to.
pub(crate) const READS_AHEAD: usize = 2;

/// What a read of standard output ended.
#[derive(Debug)]
pub(crate) enum Read {
    /// Whole lines, with their ends; the program's last one may have none. The first starts at `raw_offset` in the raw
    /// log, the others each behind the one before it, unless `starts` says otherwise for all of them.
    /// They came at `at_ms`, in Unix milliseconds.
    Lines { bytes: Vec<u8>, raw_offset: u64, starts: Vec<u64>, at_ms: i64 },
    /// A line that is not kept.
    TooLong { length: usize },
    /// The program reached a limit.
    Limit(LimitHit),
    /// What comes now was said after this engine began to follow the program.
    Live,
}

/// Reads a program's output: standard output as lines for the dialogue, standard error for the log.
pub(crate) struct LineReader {
    log: LogWriter,
    pub(crate) errors: Output,
    lines: mpsc::Sender<Read>,
    carry: Vec<u8>,
    deltas: MaskedDeltas,
    redacted: RedactedStream,
    /// Where the line under way starts in the raw log.
    raw_offset: u64,
    /// Whether some of it is there.
    has_begun: bool,
    /// Bytes of a line that is too long, so far.
    skipped: usize,
    longest: usize,
    /// When what is read now came.
    at_ms: i64,
}

impl LineReader {
    pub(crate) fn new(log: LogWriter, control: &Control, lines: mpsc::Sender<Read>) -> Self {
        let errors = Output::new(RawLogSink::Log(log.clone()), control);
        Self {
            deltas: MaskedDeltas::new(),
            redacted: log.redactor().stream(),
            log,
            errors,
            lines,
            carry: Vec::new(),
            raw_offset: 0,
            has_begun: false,
            skipped: 0,
            longest: MAX_LINE_BYTES,
            at_ms: 0,
        }
    }

    /// Takes the line that never got an end.
    pub(crate) fn finish(&mut self) -> Option<Read> {
        self.errors.finish();
        let rest = self.deltas.finish();
        let mut redacted = self.redacted.push(&rest).into_owned();
        redacted.extend(self.redacted.finish());
        self.raw(&redacted);
        if self.carry.is_empty() && self.skipped == 0 {
            return None;
        }
        let raw_offset = self.raw_offset;
        let (bytes, at_ms) = (std::mem::take(&mut self.carry), self.at_ms);
        let whole = Read::Lines { bytes, raw_offset, starts: Vec::new(), at_ms };
        Some(self.too_long(0).unwrap_or(whole))
    }

    /// Writes what is redacted. Returns where each line starts that ends in it.
    fn raw(&mut self, redacted: &[u8]) -> Vec<u64> {
        let mut at = self.log.raw(redacted);
        let mut starts = Vec::new();
        for line in lines(redacted) {
            if !self.has_begun {
                self.raw_offset = at;
            }
            at += line.len() as u64;
            self.has_begun = !line.ends_with(b"\n");
            if !self.has_begun {
                starts.push(self.raw_offset);
                self.raw_offset = at;
            }
        }
        starts
    }

    /// Gives up the line under way when `more` bytes make it too long.
    fn too_long(&mut self, more: usize) -> Option<Read> {
        let length = self.skipped + self.carry.len() + more;
        if length <= self.longest {
            return None;
        }
        self.skipped = 0;
        self.carry.clear();
        Some(Read::TooLong { length })
    }

    async fn stdout(&mut self, bytes: &[u8]) {
        let masked = self.deltas.push(bytes);
        let redacted = self.redacted.push(&masked);
        // As many lines end in what is redacted as in what was read.
        let mut starts = self.raw(&redacted);
        let ended = memchr::memrchr(b'\n', bytes).map_or(0, |last| last + 1);
        let (mut ended, rest) = bytes.split_at(ended);
        if let Some(first) = memchr::memchr(b'\n', ended)
            && let Some(read) = self.too_long(first)
        {
            // The receiver outlives the process.
            let _ = self.lines.send(read).await;
            starts.drain(..1);
            ended = ended.get(first + 1..).unwrap_or_default();
        }
        if let (false, Some(raw_offset)) = (ended.is_empty(), starts.first().copied()) {
            let mut whole = std::mem::take(&mut self.carry);
            whole.extend_from_slice(ended);
            let is_as_read = self.raw_offset == raw_offset + whole.len() as u64;
            let starts = if is_as_read { Vec::new() } else { starts };
            let _ =
                self.lines.send(Read::Lines { bytes: whole, raw_offset, starts, at_ms: self.at_ms }).await;
        }
        if self.skipped > 0 || self.carry.len() + rest.len() > self.longest {
            self.skipped += self.carry.len() + rest.len();
            self.carry.clear();
        } else {
            self.carry.extend_from_slice(rest);
        }
    }
}

#[async_trait]
impl KeptSink for LineReader {
    async fn output(&mut self, printed: Printed<'_>) -> io::Result<()> {
        let Printed { stream, at_ms, bytes } = printed;
        self.at_ms = at_ms;
        self.log.until_room().await;
        match stream {
            Stream::Stdout => self.stdout(bytes).await,
            Stream::Stderr => self.errors.take_at(Stream::Stderr, bytes, at_ms),
        }
        Ok(())
    }

    async fn limit(&mut self, hit: LimitHit) {
        // The receiver outlives the process.
        let _ = self.lines.send(Read::Limit(hit)).await;
    }

    async fn live(&mut self) {
        // The receiver outlives the process.
        let _ = self.lines.send(Read::Live).await;
    }

    async fn disk_refuses(&mut self, path: Option<&Path>) {
        self.log.note_disk(path);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tempfile::TempDir;
    use tokio_util::sync::CancellationToken;

    use super::*;

    fn reader(dir: &TempDir, longest: usize) -> (LineReader, mpsc::Receiver<Read>) {
        let log = LogWriter::open(dir.path(), "log", "e", u64::MAX, Default::default()).expect("a log");
        let (sender, lines) = mpsc::channel(READS_AHEAD);
        let mut reader = LineReader::new(log, &Control::new(CancellationToken::new()).0, sender);
        reader.longest = longest;
        (reader, lines)
    }

    const fn printed(bytes: &[u8]) -> Printed<'_> {
        Printed { stream: Stream::Stdout, at_ms: 1, bytes }
    }

    /// Each line and where it is in the raw log, or how long it was.
    fn lines_of(read: Read, heard: &mut Vec<(String, u64)>) {
        match read {
            Read::Lines { bytes, mut raw_offset, starts, .. } => {
                for (at, line) in lines(&bytes).enumerate() {
                    let start = starts.get(at).copied().unwrap_or(raw_offset);
                    heard.push((String::from_utf8_lossy(line).trim_end().to_owned(), start));
                    raw_offset += line.len() as u64;
                }
            }
            Read::TooLong { length } => heard.push(("(too long)".to_owned(), length as u64)),
            Read::Limit(_) | Read::Live => {}
        }
    }

    #[tokio::test]
    async fn every_line_is_heard_wherever_a_read_ends() {
        let text = b"one\n\nthree is long\n4\n123456789012345678901\nsix\n123456789012345678901234\nend";
        let expected = [
            ("one", 0),
            ("", 4),
            ("three is long", 5),
            ("4", 19),
            ("(too long)", 21),
            ("six", 43),
            ("(too long)", 24),
            ("end", 72),
        ];
        // A read is never longer than the longest line.
        for length in 1..=20 {
            let dir = tempfile::tempdir().expect("a folder");
            let (mut reader, mut lines) = reader(&dir, 20);
            let mut heard = Vec::new();
            for bytes in text.chunks(length) {
                let mut taken = Vec::new();
                let mut write = Box::pin(reader.output(printed(bytes)));
                loop {
                    tokio::select! {
                        biased;
                        Some(read) = lines.recv() => taken.push(read),
                        written = &mut write => break written.expect("written"),
                    }
                }
                drop(write);
                taken.into_iter().for_each(|read| lines_of(read, &mut heard));
            }
            while let Ok(read) = lines.try_recv() {
                lines_of(read, &mut heard);
            }
            if let Some(last) = reader.finish() {
                lines_of(last, &mut heard);
            }
            let heard: Vec<_> = heard.iter().map(|(line, at)| (line.as_str(), *at)).collect();
            assert_eq!(heard, expected, "reads of {length} bytes");
        }
    }

    #[tokio::test]
    async fn dialogue_hears_a_secret_that_the_raw_log_does_not_hold() {
        let secret = format!("ghp_{}", "aB3dE5".repeat(6));
        let dir = tempfile::tempdir().expect("a folder");
        let redactor = Arc::new(forge_model::redact::Redactor::new(&[], &[], &[]));
        let log = LogWriter::open(dir.path(), "log", "e", u64::MAX, redactor).expect("a log");
        let (sender, mut lines) = mpsc::channel(8);
        let mut reader = LineReader::new(log.clone(), &Control::new(CancellationToken::new()).0, sender);
        let text = format!("one\n{{\"key\":\"{secret}\"}}\nthree\n{secret}");
        let (first, second) = text.as_bytes().split_at(20);
        reader.output(printed(first)).await.expect("written");
        reader.output(printed(second)).await.expect("written");
        let last = reader.finish().expect("a last line");
        let mut heard = Vec::new();
        while let Ok(read) = lines.try_recv() {
            lines_of(read, &mut heard);
        }
        lines_of(last, &mut heard);
        log.flush();
        let raw = crate::LogReader::raw(dir.path(), "log", 0, 1000).expect("raw bytes");
        let raw = String::from_utf8(raw).expect("text");
        let left = "[redacted: GITHUB_TOKEN]";
        assert_eq!(raw, format!("one\n{{\"key\":\"{left}\"}}\nthree\n{left}"));
        let at = |part: &str| raw.find(part).expect("a line") as u64;
        let expected = [
            ("one".to_owned(), 0),
            (format!("{{\"key\":\"{secret}\"}}"), 4),
            ("three".to_owned(), at("three")),
            (secret, at("three") + 6),
        ];
        assert_eq!(heard, expected);
    }

    #[tokio::test]
    async fn secret_that_comes_in_deltas_is_in_no_line_of_the_raw_log() {
        let dir = tempfile::tempdir().expect("a folder");
        let (mut reader, lines) = reader(&dir, MAX_LINE_BYTES);
        let delta = |text: &str| {
            format!("{{\"method\":\"item/agentMessage/delta\",\"params\":{{\"delta\":\"{text}\"}}}}\n")
        };
        let text = format!("one\n{}{}two", delta("ghp_aB3dE5"), delta("gH7jK9"));
        let (first, second) = text.as_bytes().split_at(30);
        reader.output(printed(first)).await.expect("written");
        reader.output(printed(second)).await.expect("written");
        assert!(reader.finish().is_some());
        drop(lines);
        reader.log.flush();
        let raw = crate::LogReader::raw(dir.path(), "log", 0, 1000).expect("raw bytes");
        let expected = format!("one\n{}{}two", delta("**********"), delta("******"));
        assert_eq!(String::from_utf8_lossy(&raw), expected);
    }

    #[tokio::test]
    async fn a_program_waits_for_a_dialogue_that_does_not_listen() {
        let dir = tempfile::tempdir().expect("a folder");
        let (mut reader, mut lines) = reader(&dir, MAX_LINE_BYTES);
        for _ in 0..READS_AHEAD {
            reader.output(printed(&b"{}\n".repeat(20_000))).await.expect("written");
        }
        let mut write = Box::pin(reader.output(printed(b"{}\n")));
        let took = tokio::select! {
            biased;
            _ = &mut write => true,
            () = std::future::ready(()) => false,
        };
        assert!(!took, "a third read was taken");
        assert!(matches!(lines.recv().await, Some(Read::Lines { raw_offset: 0, .. })));
        write.await.expect("written");
    }
}

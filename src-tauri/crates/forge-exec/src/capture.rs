//! Keeping the two ends of an output: how it began and how it ended, with a mark where it was cut.

use std::{collections::VecDeque, io};

use async_trait::async_trait;

use crate::{OutputSink, Stream};

/// Keeps at most a fixed number of bytes of each stream: the first half and the last half.
#[derive(Debug, Clone)]
pub struct HeadTail {
    stdout: Ends,
    stderr: Ends,
}

/// What was kept, as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// Standard output, with a mark where something was cut.
    pub stdout: String,
    /// Standard error, with a mark where something was cut.
    pub stderr: String,
    /// Bytes that were left out of both.
    pub cut: u64,
}

impl HeadTail {
    /// Keeps `bytes` of each stream.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self { stdout: Ends::new(bytes), stderr: Ends::new(bytes) }
    }

    /// Takes output, without a runtime.
    pub fn push(&mut self, stream: Stream, bytes: &[u8]) {
        match stream {
            Stream::Stdout => self.stdout.push(bytes),
            Stream::Stderr => self.stderr.push(bytes),
        }
    }

    /// The kept text. Bytes that are no UTF-8 become replacement characters; a character that the cut
    /// went through is left out whole.
    #[must_use]
    pub fn into_strings(self) -> Captured {
        let cut = self.stdout.cut().saturating_add(self.stderr.cut());
        Captured { stdout: self.stdout.into_string(), stderr: self.stderr.into_string(), cut }
    }
}

#[async_trait]
impl OutputSink for HeadTail {
    async fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        self.push(stream, bytes);
        Ok(())
    }
}

#[derive(Debug, Clone)]
struct Ends {
    head: Vec<u8>,
    head_limit: usize,
    tail: VecDeque<u8>,
    tail_limit: usize,
    total: u64,
}

impl Ends {
    fn new(bytes: usize) -> Self {
        let tail_limit = bytes / 2;
        Self { head: Vec::new(), head_limit: bytes - tail_limit, tail: VecDeque::new(), tail_limit, total: 0 }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let (head, rest) = bytes.split_at(bytes.len().min(self.head_limit - self.head.len()));
        self.head.extend_from_slice(head);
        let last = rest.get(rest.len().saturating_sub(self.tail_limit)..).unwrap_or_default();
        let over = (self.tail.len() + last.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..over);
        self.tail.extend(last);
    }

    fn cut(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    fn into_string(mut self) -> String {
        let cut = self.cut();
        let tail: &[u8] = self.tail.make_contiguous();
        if cut == 0 {
            self.head.extend_from_slice(tail);
            return String::from_utf8_lossy(&self.head).into_owned();
        }
        let head = String::from_utf8_lossy(without_split_end(&self.head));
        let tail = String::from_utf8_lossy(without_split_start(tail));
        format!("{head}\n[... {cut} bytes left out ...]\n{tail}")
    }
}

/// Leaves out a character that was cut at the end.
fn without_split_end(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes.get(bytes.len().saturating_sub(4)..).unwrap_or_default()) {
        Ok(_) => bytes,
        Err(_) => {
            let tail = bytes.len().saturating_sub(3);
            let start = (tail..bytes.len()).rev().find(|at| bytes.get(*at).is_some_and(|byte| *byte >= 0xC0));
            match start {
                Some(at) if is_incomplete(bytes.get(at..).unwrap_or_default()) => {
                    bytes.get(..at).unwrap_or_default()
                }
                _ => bytes,
            }
        }
    }
}

fn is_incomplete(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

/// Leaves out what is left of a character that was cut at the start.
fn without_split_start(bytes: &[u8]) -> &[u8] {
    let broken = bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
    bytes.get(broken..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(limit: usize, chunks: &[&[u8]]) -> String {
        let mut sink = HeadTail::new(limit);
        for chunk in chunks {
            sink.push(Stream::Stdout, chunk);
        }
        sink.into_strings().stdout
    }

    #[test]
    fn keeps_everything_that_fits() {
        assert_eq!(kept(10, &[b"0123", b"456789"]), "0123456789");
        assert_eq!(kept(11, &[b"0123456789", b"x"]), "0123456789x");
    }

    #[test]
    fn cuts_the_middle_and_says_how_much() {
        assert_eq!(kept(4, &[b"0123456789"]), "01\n[... 6 bytes left out ...]\n89");
        assert_eq!(kept(4, &[b"0", b"1", b"2", b"3", b"4"]), "01\n[... 1 bytes left out ...]\n34");
        assert_eq!(kept(0, &[b"abc"]), "\n[... 3 bytes left out ...]\n");
    }

    #[test]
    fn never_shows_half_a_character() {
        let text = "äöüß€😀".repeat(20);
        for limit in 2..60 {
            let shown = kept(limit, &[text.as_bytes()]);
            assert!(!shown.contains('\u{FFFD}'), "limit {limit}: {shown}");
        }
    }

    #[test]
    fn shows_bytes_that_are_no_text() {
        assert_eq!(kept(10, &[b"a\xFFb"]), "a\u{FFFD}b");
        assert_eq!(
            kept(4, &[b"a\xFF", b"12345", b"\xFFb"]),
            "a\u{FFFD}\n[... 5 bytes left out ...]\n\u{FFFD}b"
        );
    }

    #[test]
    fn keeps_the_streams_apart_and_counts_what_was_cut() {
        let mut sink = HeadTail::new(4);
        sink.push(Stream::Stdout, b"out");
        sink.push(Stream::Stderr, b"errors");
        let captured = sink.into_strings();
        assert_eq!((captured.stdout.as_str(), captured.cut), ("out", 2));
    }
}

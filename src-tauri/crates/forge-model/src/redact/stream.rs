//! Redaction of what comes in pieces: whole lines go on at once, the beginning of a line waits for its end.

use std::{borrow::Cow, sync::Arc};

use super::{
    formats::{PRIVATE_KEY, may_continue},
    keys::{KeyLine, key_content, key_line, last_line_end, leaves_key_open},
    placeholder::placeholder,
    redactor::Redactor,
};

/// How much of a line without an end is looked at again with what follows it. A longer secret is found by its
/// beginning.
const OVERLAP: usize = 16 * 1024;

/// The most of a private key that is left out: what claims to be a longer one is none.
const LONGEST_KEY: usize = 64 * 1024;

/// A program's output on its way to where it is written. At most a few times [`OVERLAP`] is kept in memory.
#[derive(Debug)]
pub struct RedactedStream {
    redactor: Arc<Redactor>,
    state: State,
    /// The beginning of a line whose end has not come.
    held: Vec<u8>,
}

/// What the text so far means for what follows.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct State {
    within: Within,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Nothing.
    #[default]
    Text,
    /// A private key, of which this much was left out, and whether only headers were.
    Key { left_out: usize, headers: bool },
    /// A secret whose beginning is redacted.
    Secret,
}

impl RedactedStream {
    pub(super) fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, state: State::default(), held: Vec::new() }
    }

    /// Takes bytes, and gives those that can be written: all whole lines, in the same number as they came.
    pub fn push<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        if self.redactor.is_none() {
            return Cow::Borrowed(bytes);
        }
        let ended = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
        let (lines, rest) = bytes.split_at(ended);
        let mut out = Vec::new();
        if !lines.is_empty() {
            if self.held.is_empty() && self.state.leaves_alone(&self.redactor, lines) {
                self.held.extend_from_slice(rest);
                if !self.is_too_long() {
                    return Cow::Borrowed(lines);
                }
                out.extend_from_slice(lines);
            } else {
                self.held.extend_from_slice(lines);
                self.state.lines(&self.redactor, &self.held, &mut out);
                self.held.clear();
                self.held.extend_from_slice(rest);
            }
        } else {
            self.held.extend_from_slice(rest);
        }
        if self.is_too_long() {
            let taken = self.state.part_of_line(&self.redactor, &self.held, self.overlap(), &mut out);
            self.held.drain(..taken);
        }
        Cow::Owned(out)
    }

    /// What is left when nothing more comes.
    #[must_use]
    pub fn finish(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        let held = std::mem::take(&mut self.held);
        self.state.lines(&self.redactor, &held, &mut out);
        self.state = State::default();
        out
    }

    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        self.held.len()
    }

    fn overlap(&self) -> usize {
        OVERLAP.max(self.redactor.longest + 1)
    }

    fn is_too_long(&self) -> bool {
        self.held.len() > 2 * self.overlap()
    }
}

impl State {
    /// Whether whole lines stay as they are.
    fn leaves_alone(self, redactor: &Redactor, lines: &[u8]) -> bool {
        self.within == Within::Text && !redactor.suspects(lines)
    }

    /// Writes whole lines without their secrets.
    pub(super) fn lines(&mut self, redactor: &Redactor, text: &[u8], out: &mut Vec<u8>) {
        if self.leaves_alone(redactor, text) {
            out.extend_from_slice(text);
            return;
        }
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let (content, end) = match line.strip_suffix(b"\n") {
                Some(content) => (content, &b"\n"[..]),
                None => (line, &b""[..]),
            };
            self.line(redactor, content, out);
            out.extend_from_slice(end);
            if self.within == Within::Secret {
                self.within = Within::Text;
            }
        }
    }

    /// Writes a line, or the last part of a line, without its line ending.
    fn line(&mut self, redactor: &Redactor, mut line: &[u8], out: &mut Vec<u8>) {
        if let Within::Secret = self.within {
            let length = line.iter().position(|byte| !may_continue(*byte)).unwrap_or(line.len());
            line = line.get(length..).unwrap_or_default();
            if line.is_empty() {
                return;
            }
            self.within = Within::Text;
        }
        if let Within::Key { left_out, headers } = self.within {
            let ended = last_line_end(line);
            let kind = key_line(line);
            let continues =
                matches!(kind, KeyLine::Blank | KeyLine::Content) || (kind == KeyLine::Header && headers);
            if ended.is_none() && continues && left_out <= LONGEST_KEY {
                let headers = headers && kind != KeyLine::Content;
                self.within = Within::Key { left_out: left_out + line.len() + 1, headers };
                return;
            }
            self.within = Within::Text;
            line = line.get(ended.unwrap_or_default()..).unwrap_or_default();
        }
        let spans = if redactor.suspects(line) { redactor.spans(line) } else { Vec::new() };
        let mut at = 0;
        for span in spans {
            out.extend_from_slice(line.get(at..span.at.start).unwrap_or_default());
            out.extend_from_slice(placeholder(span.name).as_bytes());
            at = span.at.end;
        }
        out.extend_from_slice(line.get(at..).unwrap_or_default());
        if redactor.formats.is_some() && leaves_key_open(line) {
            self.within = Within::Key { left_out: 0, headers: true };
        }
    }

    /// Writes the beginning of a line whose end has not come, and says how much of it that was. At least `overlap` bytes
    /// are left, unless a secret goes through all of them.
    fn part_of_line(&mut self, redactor: &Redactor, held: &[u8], overlap: usize, out: &mut Vec<u8>) -> usize {
        if let Within::Secret | Within::Key { .. } = self.within {
            let is_key = self.within != Within::Secret;
            let length = if is_key {
                key_content(held)
            } else {
                held.iter().position(|byte| !may_continue(*byte)).unwrap_or(held.len())
            };
            if length < held.len() {
                self.within = Within::Text;
            }
            return length;
        }
        let cut = held.len() - overlap;
        let mut at = 0;
        for span in redactor.spans(held) {
            if span.at.start >= cut {
                break;
            }
            out.extend_from_slice(held.get(at..span.at.start).unwrap_or_default());
            out.extend_from_slice(placeholder(span.name).as_bytes());
            at = span.at.end;
            if span.at.end == held.len() {
                let key = Within::Key { left_out: 0, headers: true };
                self.within = if span.name == PRIVATE_KEY { key } else { Within::Secret };
                return held.len();
            }
        }
        let end = cut.max(at);
        out.extend_from_slice(held.get(at..end).unwrap_or_default());
        end
    }
}

//! Private keys in PEM, which go over several lines.
//!
//! What shows a key decorates its lines: a diff with `-` or `+`, `grep -n` and viewers with a number, terminals with
//! colors, source code with quotes. Within a key, a line goes on with it when it holds what a key is made of, whatever
//! stands around that.

use std::{borrow::Cow, ops::Range};

use memchr::memmem;

use super::bytes::{is_base64, length_of};

/// What each private key in PEM begins with, and what ends it.
const PEM_BEGIN: &[u8] = b"-----BEGIN ";
const PEM_END: &[u8] = b"-----END ";
const PEM_DASHES: &[u8] = b"-----";

/// What no other text than a key has so many characters of in a row: lines of keys have 64 to 76.
const LONG_RUN: usize = 24;

/// The most that stands between two lines of a key that are told as one, such as an end of a line, colors and a number.
const LONGEST_DECORATION: usize = 48;

/// How much may stand on the last line of a key before its end.
const LONGEST_LAST_LINE: usize = 160;

/// How long a line is that has nothing but what stands before lines.
const LONGEST_BLANK: usize = 24;

/// How a color of a terminal begins, as it is and in JSON.
const COLOR_STARTS: [&[u8]; 3] = [b"\x1b[", b"\\u001b[", b"\\u001B["];

/// What a line is within a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyLine {
    /// Nothing, or a number.
    Blank,
    /// `Version: ...` and the like, before the key's content.
    Header,
    /// Some of the key.
    Content,
    /// No part of a key.
    Other,
}

/// How long a private key is after its `-----BEGIN `, as far as it stands on this line.
pub(super) fn pem(rest: &[u8]) -> Option<usize> {
    let head = head(rest)?;
    Some(head + key_content(rest.get(head..)?))
}

/// Length of the rest of a line that begins a private key.
fn head(rest: &[u8]) -> Option<usize> {
    let label = length_of(rest, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ');
    let is_key = memmem::find(rest.get(..label)?, b"PRIVATE KEY").is_some();
    (is_key && rest.get(label..)?.starts_with(PEM_DASHES)).then_some(label + PEM_DASHES.len())
}

/// How much of a line belongs to a key that ends on it.
pub(super) fn key_end(line: &[u8]) -> Option<usize> {
    let end = memmem::find(line, PEM_END)?;
    // Another key's end, far behind what is no key, is not this one's.
    let is_its_own = !line.get(..end)?.contains(&b'"');
    is_its_own.then(|| behind_end(line, end))
}

/// How much of a line belongs to a key that began before it and ends on it. Source code has quotes around a line.
pub(super) fn last_line_end(line: &[u8]) -> Option<usize> {
    let end = memmem::find(line, PEM_END)?;
    let is_line_of_key = end <= LONGEST_LAST_LINE && !is_json(line);
    if is_line_of_key { Some(behind_end(line, end)) } else { key_end(line) }
}

/// What agents print is JSON, line by line, and a key is on one line of it.
fn is_json(line: &[u8]) -> bool {
    line.starts_with(b"{\"")
}

/// Where the line that ends a key and begins at `end` is over.
fn behind_end(line: &[u8], end: usize) -> usize {
    let after = end + PEM_END.len();
    let label = line.get(after..).and_then(|rest| memmem::find(rest, PEM_DASHES));
    label.map_or(line.len(), |label| after + label + PEM_DASHES.len())
}

/// Length of the part of a line that belongs to a key from an earlier line.
pub(super) fn key_content(line: &[u8]) -> usize {
    if let Some(end) = key_end(line) {
        return end;
    }
    let is_content =
        |byte: u8| is_base64(byte) || matches!(byte, b'\\' | b' ' | b'\t' | b'\r' | b':' | b',' | b'-');
    let mut length = length_of(line, is_content);
    while let Some(run) = next_run(line, length) {
        let from = run.start;
        length = run.end;
        length += length_of(line.get(length..).unwrap_or_default(), is_content);
        let piece = line.get(from..length).unwrap_or_default();
        if let Some(end) = memmem::find(piece, PEM_END) {
            return behind_end(line, from + end);
        }
    }
    length
}

/// Where a key goes on from `from`, behind a decoration that does not end a text in JSON.
fn next_run(line: &[u8], from: usize) -> Option<Range<usize>> {
    let mut at = from;
    while at <= from + LONGEST_DECORATION {
        let left = line.get(at..).filter(|left| !left.is_empty())?;
        if left.starts_with(PEM_END) {
            return Some(at..at + PEM_END.len());
        }
        let length = length_of(left, is_base64);
        if length >= LONG_RUN {
            return Some(at..at + length);
        }
        let is_escaped = at.checked_sub(1).and_then(|before| line.get(before)) == Some(&b'\\');
        if left.first() == Some(&b'"') && !is_escaped {
            return None;
        }
        at += length.max(1);
    }
    None
}

/// What a line is within a key that began before it.
pub(super) fn key_line(line: &[u8]) -> KeyLine {
    let line = without_colors(line);
    let line = line.trim_ascii();
    // Also one of nothing but its decoration: `+`, `12:`.
    if line.len() <= LONGEST_BLANK && !line.iter().any(u8::is_ascii_alphabetic) {
        return KeyLine::Blank;
    }
    if is_json(line) {
        return KeyLine::Other;
    }
    let has_long_run = || line.split(|byte| !is_base64(*byte)).any(|run| run.len() >= LONG_RUN);
    if memmem::find(line, PEM_END).is_some() || has_long_run() || is_short_content(line) {
        return KeyLine::Content;
    }
    if is_header(line) { KeyLine::Header } else { KeyLine::Other }
}

/// Whether the last word of a line is the short end of a key: behind no letters, or with what words do not have.
fn is_short_content(line: &[u8]) -> bool {
    let line = without_line_end(line);
    let start = line.iter().rposition(|byte| !is_base64(*byte)).map_or(0, |at| at + 1);
    let Some((before, last)) = line.split_at_checked(start).filter(|(_, last)| !last.is_empty()) else {
        return false;
    };
    let has = |kind: fn(&u8) -> bool| last.iter().any(kind);
    let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    !before.iter().any(u8::is_ascii_alphabetic) || last.ends_with(b"=") || is_mixed
}

/// Without what ends a line of a key in source code: `\n", +`.
fn without_line_end(mut line: &[u8]) -> &[u8] {
    loop {
        line = line.trim_ascii_end();
        line = match line {
            [rest @ .., b'\\', b'n' | b'r']
            | [rest @ .., b'"' | b'\'' | b',' | b';' | b'\\' | b'`' | b')'] => rest,
            [.., b'"' | b'\'' | b' ', b'+' | b'.'] => &line[..line.len() - 1],
            _ => return line,
        };
    }
}

/// Whether a line is `Word: text`, behind any decoration.
fn is_header(line: &[u8]) -> bool {
    let Some(colon) = memmem::find(line, b": ").or_else(|| line.ends_with(b":").then(|| line.len() - 1))
    else {
        return false;
    };
    let before = line.get(..colon).unwrap_or_default();
    let start = before.iter().rposition(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'-'));
    let word = before.get(start.map_or(0, |at| at + 1)..).unwrap_or_default();
    // The dash of a diff belongs to no word.
    let word = word.iter().position(|byte| *byte != b'-').and_then(|at| word.get(at..)).unwrap_or_default();
    word.first().is_some_and(u8::is_ascii_uppercase)
}

/// Whether a key begins in a line and does not end on it.
pub(super) fn leaves_key_open(line: &[u8]) -> bool {
    let Some(begin) = memmem::rfind(line, PEM_BEGIN) else { return false };
    let line = without_colors(line.get(begin + PEM_BEGIN.len()..).unwrap_or_default());
    let Some(length) = pem(&line).filter(|_| memmem::find(&line, PEM_END).is_none()) else { return false };
    let rest = line.get(length..).unwrap_or_default().trim_ascii();
    // A line of source code that the next one is added to.
    let is_escaped = line.get(..length).is_some_and(|key| key.ends_with(b"\\n"));
    let is_added = matches!(rest, [.., b'+' | b',' | b'\\' | b'.']);
    let is_decoration = |byte: &u8| matches!(byte, b'"' | b'\'' | b'+' | b',' | b'\\' | b'.' | b'`' | b' ');
    rest.is_empty() || ((is_escaped || is_added) && rest.iter().all(is_decoration))
}

/// A line without the colors of a terminal.
fn without_colors(line: &[u8]) -> Cow<'_, [u8]> {
    if !COLOR_STARTS.iter().any(|start| memmem::find(line, start).is_some()) {
        return Cow::Borrowed(line);
    }
    let mut plain = Vec::with_capacity(line.len());
    let mut at = 0;
    while let Some((first, _)) = line.get(at..).and_then(<[u8]>::split_first) {
        let length = color_length(&line[at..]);
        if length == 0 {
            plain.push(*first);
        }
        at += length.max(1);
    }
    Cow::Owned(plain)
}

/// How long the color of a terminal is that a text begins with; 0 when it begins with none.
pub(super) fn color_length(text: &[u8]) -> usize {
    let Some(start) = COLOR_STARTS.iter().find(|start| text.starts_with(start)) else { return 0 };
    let rest = text.get(start.len()..).unwrap_or_default();
    let numbers = length_of(rest, |byte| byte.is_ascii_digit() || matches!(byte, b';' | b':' | b'?'));
    match rest.get(numbers) {
        Some(last) if last.is_ascii_alphabetic() => start.len() + numbers + 1,
        _ => 0,
    }
}

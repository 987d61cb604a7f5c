//! The index: where each entry's line starts. It is trusted only as far as it agrees with the text.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, SeekFrom},
    os::unix::fs::FileExt as _,
};

use serde::Deserialize;

use super::packed::Text;

/// Bytes of one offset.
pub(super) const OFFSET_BYTES: u64 = 8;

/// The text as far as it consists of whole entries, and where they start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Offsets {
    /// The index file is right about its first `stored` entries, which end at `covered`; `more` follow.
    Stored { stored: u64, covered: u64, more: Vec<u64>, end: u64 },
    /// The index file is wrong: these are the right ones.
    Rebuilt { all: Vec<u64>, end: u64 },
}

impl Offsets {
    pub(super) fn total(&self) -> u64 {
        match self {
            Self::Stored { stored, more, .. } => stored + more.len() as u64,
            Self::Rebuilt { all, .. } => all.len() as u64,
        }
    }

    /// Where the last whole entry ends.
    pub(super) const fn end(&self) -> u64 {
        match self {
            Self::Stored { end, .. } | Self::Rebuilt { end, .. } => *end,
        }
    }

    /// The offsets of the entries `from..to` (from 0), and where the last of them ends.
    pub(super) fn range(&self, index: Option<&File>, from: u64, to: u64) -> io::Result<Vec<u64>> {
        match self {
            Self::Rebuilt { all, end } => Ok(slice(all, from, to, *end)),
            Self::Stored { stored, covered, more, end } => {
                let mut offsets = read(index, from.min(*stored), to.min(*stored))?;
                let after = slice(more, from.saturating_sub(*stored), to.saturating_sub(*stored), *end);
                if to > *stored {
                    offsets.extend(after);
                } else if to == *stored {
                    offsets.push(*covered);
                } else {
                    offsets.extend(read(index, to, to + 1)?);
                }
                Ok(offsets)
            }
        }
    }
}

/// The offsets `from..to` and the one that ends them.
fn slice(offsets: &[u64], from: u64, to: u64, end: u64) -> Vec<u64> {
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(offsets.len());
    let mut part = offsets.get(place(from)..place(to)).unwrap_or_default().to_vec();
    part.push(offsets.get(place(to)).copied().unwrap_or(end));
    part
}

fn read(index: Option<&File>, from: u64, to: u64) -> io::Result<Vec<u64>> {
    let Some(index) = index else { return Ok(Vec::new()) };
    let length = usize::try_from((to - from) * OFFSET_BYTES).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    index.read_exact_at(&mut bytes, from * OFFSET_BYTES)?;
    Ok(bytes.as_chunks().0.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect())
}

/// Compares the index with the text and finds the entries beyond it. Reads the tail only, unless the two
/// disagree; then all of the text.
pub(super) fn survey(text: &mut dyn Text, index: Option<&File>) -> io::Result<Offsets> {
    let mut stored = match index {
        Some(index) => index.metadata()?.len() / OFFSET_BYTES,
        None => 0,
    };
    let length = text.seek(SeekFrom::End(0))?;
    // An index that is longer than the text (the text lost its tail) is right up to where the text ends.
    while stored > 0 {
        let last = read(index, stored - 1, stored)?.first().copied().unwrap_or(u64::MAX);
        if last < length && starts_line(text, last)? {
            match seq_at(text, last)? {
                Line::Entry { seq, end } if seq == stored => {
                    let (more, end_of_all) = scan(text, end)?;
                    return Ok(Offsets::Stored { stored, covered: end, more, end: end_of_all });
                }
                Line::Torn => {}
                Line::Entry { .. } | Line::Other => break,
            }
        } else if last < length {
            break;
        }
        stored -= 1;
    }
    let (all, end) = scan(text, 0)?;
    Ok(Offsets::Rebuilt { all, end })
}

/// Finds the lines from `start` on. What follows the last line break, or a last line that is no entry, is
/// what a killed writer left and does not count. A line in the middle counts whatever it holds: its place
/// keeps the numbers of those after it right.
fn scan(text: &mut dyn Text, start: u64) -> io::Result<(Vec<u64>, u64)> {
    text.seek(SeekFrom::Start(start))?;
    let mut reader = BufReader::with_capacity(256 * 1024, &mut *text);
    let mut offsets = Vec::new();
    let mut at = start;
    loop {
        let length = reader.skip_until(b'\n')? as u64;
        if length == 0 {
            break;
        }
        offsets.push(at);
        at += length;
    }
    while let Some(last) = offsets.last().copied() {
        if matches!(seq_at(text, last)?, Line::Entry { .. }) {
            break;
        }
        // Only the very last line can be torn, but more than one may hold what a file system made up.
        at = last;
        offsets.pop();
    }
    Ok((offsets, at))
}

enum Line {
    /// A whole entry, which ends at `end`, line break included.
    Entry { seq: u64, end: u64 },
    /// The text ends within it.
    Torn,
    /// Whole, but no entry.
    Other,
}

fn seq_at(text: &mut dyn Text, offset: u64) -> io::Result<Line> {
    #[derive(Deserialize)]
    struct Seq {
        seq: u64,
    }
    text.seek(SeekFrom::Start(offset))?;
    let mut line = Vec::new();
    BufReader::new(text).read_until(b'\n', &mut line)?;
    if line.last() != Some(&b'\n') {
        return Ok(Line::Torn);
    }
    let end = offset + line.len() as u64;
    Ok(serde_json::from_slice::<Seq>(&line).map_or(Line::Other, |Seq { seq }| Line::Entry { seq, end }))
}

fn starts_line(text: &mut dyn Text, offset: u64) -> io::Result<bool> {
    if offset == 0 {
        return Ok(true);
    }
    let mut before = [0];
    text.seek(SeekFrom::Start(offset - 1))?;
    text.read_exact(&mut before)?;
    Ok(before == *b"\n")
}

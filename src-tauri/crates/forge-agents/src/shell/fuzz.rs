//! Arbitrary bytes as what a command prints.

use forge_exec::Stream;
use forge_model::log::EntryKind;
use tokio_util::sync::CancellationToken;

use crate::{
    Control, NewEntry,
    log::stays_short,
    memory_log::MemoryLog,
    output::{Output, RawLogSink},
};

/// Takes bytes as what a command prints, in pieces whose size the first byte chooses. Panics when an invariant
/// breaks: entries stand in the order in which they were printed, what is text has all of its bytes, whatever they
/// are, and no entry is longer than it may be.
#[doc(hidden)]
pub fn fuzz_lines(bytes: &[u8]) {
    let (choice, printed) = bytes.split_first().map_or((0, bytes), |(first, rest)| (*first, rest));
    // As it is read: at most 64 KiB, cut anywhere.
    let piece = 1_usize << (choice % 17);
    let (control, _handle, _events) = Control::new(CancellationToken::new());
    let sheet = RawLogSink::Memory { log: MemoryLog::default(), raw_bytes: 0 };
    let mut output = Output::new(sheet, &control);
    printed.chunks(piece).for_each(|piece| output.take(Stream::Stdout, piece));
    output.finish();
    let RawLogSink::Memory { log, .. } = output.log else { return };
    // What is said about a report has no place of its own in what was printed.
    let entries: Vec<NewEntry> =
        log.entries.into_iter().map(|(_, entry)| entry).filter(|entry| entry.raw_offset.is_some()).collect();
    let starts = entries.iter().filter_map(|entry| entry.raw_offset);
    let starts: Vec<usize> = starts.filter_map(|at| usize::try_from(at).ok()).collect();
    assert_eq!(starts.first().copied(), (!printed.is_empty()).then_some(0), "its first bytes are lost");
    let ends = starts.iter().skip(1).copied().chain([printed.len()]);
    for ((entry, start), end) in entries.into_iter().zip(&starts).zip(ends) {
        let span = printed.get(*start..end).unwrap_or_default();
        assert!(!span.is_empty(), "{start} to {end} is no place in {} bytes", printed.len());
        if entry.kind == EntryKind::Stdout && entry.body.get("text").is_some() && entry.id.is_empty() {
            is_whole(&entry, span);
        }
        assert!(stays_short(entry.body), "a body of {:?} is too long", entry.kind);
    }
}

/// A text that a command printed, unless it reported it as an entry.
fn is_whole(entry: &NewEntry, span: &[u8]) {
    if serde_json::from_slice::<serde_json::Value>(span).is_ok_and(|line| line.is_object()) {
        return;
    }
    let is_partial = entry.body.get("partial").is_some();
    let text = if is_partial { span } else { span.strip_suffix(b"\n").unwrap_or(span) };
    assert_eq!(entry.body["text"], *String::from_utf8_lossy(text), "bytes are lost");
}

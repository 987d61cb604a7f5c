use std::fs::File;

use super::*;
use crate::log::DEFAULT_CAP_BYTES;

#[test]
fn close_after_the_writer_panicked_writes_what_is_in_memory() {
    let dir = tempfile::tempdir().expect("a folder");
    let log = LogWriter::open(dir.path(), "log", "e", DEFAULT_CAP_BYTES, Default::default()).expect("a log");
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
    let log = LogWriter::open(dir.path(), "log", "e", DEFAULT_CAP_BYTES, Default::default()).expect("a log");
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
    let log = LogWriter::open(dir.path(), "log", "e", DEFAULT_CAP_BYTES, Default::default()).expect("a log");
    let waits = async |log: &LogWriter| {
        tokio::select! {
            biased;
            () = log.until_room() => false,
            () = std::future::ready(()) => true,
        }
    };
    assert!(!waits(&log).await, "it waited while the disk takes everything");
    let text = File::open(dir.path().join("log.jsonl")).expect("the text");
    let right = std::mem::replace(&mut log.inner.shared.files.lock().expect("the files").text, text);
    let mut appended = 0;
    while *log.inner.shared.room.borrow() {
        log.append_entry(NewEntry::text(EntryKind::Stdout, &"x".repeat(60_000)));
        appended += 1;
        assert!(log.inner.shared.state().lines.len() < FULL_BYTES, "room is said to be there still");
    }
    assert!(!log.flush(), "the disk refuses");
    assert!(waits(&log).await);
    log.inner.shared.files.lock().expect("the files").text = right;
    log.until_room().await;
    assert_eq!(log.close(), LogSummary { entries: appended, dropped: 0, raw_bytes: 0 });
}

#[test]
fn long_text_that_the_disk_refuses_is_written_later() {
    let dir = tempfile::tempdir().expect("a folder");
    let log = LogWriter::open(dir.path(), "log", "e", DEFAULT_CAP_BYTES, Default::default()).expect("a log");
    // A file where the folder of long texts belongs is in the way of it.
    let blobs = dir.path().join("log.blobs");
    std::fs::write(&blobs, b"").expect("a file");
    log.append_entry(NewEntry::text(EntryKind::Stdout, &"y".repeat(200_000)));
    assert!(!log.flush());
    assert_eq!(*log.follow().borrow(), 0, "told of an entry whose text is nowhere");
    std::fs::remove_file(&blobs).expect("no file");
    assert!(log.flush());
    assert_eq!(log.close().dropped, 0);
    assert_eq!(std::fs::read_to_string(dir.path().join("log.blobs/1.txt")).expect("a text").len(), 200_000);
}

#[test]
fn a_disk_that_goes_on_refusing_costs_entries_and_no_memory() {
    let dir = tempfile::tempdir().expect("a folder");
    let log = LogWriter::open(dir.path(), "log", "e", DEFAULT_CAP_BYTES, Default::default()).expect("a log");
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

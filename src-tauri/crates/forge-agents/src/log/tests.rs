//! Logs as a killed process leaves them, as a flood fills them, and as readers page through them.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use forge_model::log::{EntryKind, EntryStatus, LogEntry, LogPage};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

const ID: &str = "log-1";

struct Sandbox(TempDir);

impl Sandbox {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn dir(&self) -> &Path {
        self.0.path()
    }

    fn open(&self, cap: u64) -> LogWriter {
        LogWriter::open(self.dir(), ID, "execution-1", cap, Default::default()).expect("a log")
    }

    fn writer(&self) -> LogWriter {
        self.open(DEFAULT_CAP_BYTES)
    }

    /// Writes entries with these texts and closes the log.
    fn write(&self, texts: &[&str]) {
        let log = self.writer();
        for text in texts {
            log.append_entry(NewEntry::text(EntryKind::Stdout, text));
        }
        log.close();
    }

    fn page(&self, after: Option<u64>, before: Option<u64>, limit: usize) -> LogPage {
        LogReader::page(self.dir(), ID, after, before, limit).expect("a page")
    }

    fn texts(&self) -> Vec<String> {
        texts(&self.page(Some(0), None, 10_000))
    }

    fn path(&self, extension: &str) -> PathBuf {
        self.dir().join(format!("{ID}.{extension}"))
    }
}

fn texts(page: &LogPage) -> Vec<String> {
    page.entries.iter().map(text).collect()
}

fn text(entry: &LogEntry) -> String {
    entry.body.get("text").and_then(Value::as_str).unwrap_or("(none)").to_owned()
}

fn seqs(page: &LogPage) -> Vec<u64> {
    page.entries.iter().map(|entry| entry.seq).collect()
}

#[test]
fn keeps_every_part_of_an_entry() {
    let sandbox = Sandbox::new();
    let log = sandbox.writer();
    assert_eq!(log.raw(b"12345"), 0);
    log.set_turn(3);
    let mut entry = NewEntry::new(EntryKind::Command, "c-1".to_owned(), json!({ "command": "ls \u{1b}[1m" }));
    entry.parent_id = Some("p".to_owned());
    entry.status = Some(EntryStatus::Running);
    assert_eq!(log.append_entry(entry), 1);
    assert_eq!(log.append(EntryKind::Notice, "", json!({ "text": "x" })), 2);
    log.close();
    let page = sandbox.page(None, None, 10);
    assert_eq!((page.first_seq, page.last_seq, page.total), (1, 2, 2));
    let first = page.entries.first().expect("an entry").clone();
    assert!(first.at > 0);
    assert_eq!(
        first,
        LogEntry {
            seq: 1,
            at: first.at,
            execution_id: "execution-1".to_owned(),
            turn: 3,
            id: "c-1".to_owned(),
            parent_id: Some("p".to_owned()),
            kind: EntryKind::Command,
            status: Some(EntryStatus::Running),
            body: json!({ "command": "ls \u{1b}[1m" }),
            raw_offset: 5,
        }
    );
    // An entry without an id is one of its own, never an upsert of another.
    assert_eq!(page.entries.get(1).expect("an entry").id, "2");
}

#[test]
fn pages_from_every_place_in_both_directions() {
    let sandbox = Sandbox::new();
    let texts: Vec<String> = (1..=25).map(|number| format!("entry {number}")).collect();
    sandbox.write(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    for after in 0..=26 {
        for before in 0..=27 {
            for limit in [0, 1, 7, 100] {
                let expected: Vec<u64> = (after + 1..before.min(26)).take(limit).collect();
                assert_eq!(seqs(&sandbox.page(Some(after), Some(before), limit)), expected);
            }
        }
        let after_only: Vec<u64> = (after + 1..=25).take(4).collect();
        assert_eq!(seqs(&sandbox.page(Some(after), None, 4)), after_only);
        let before_only: Vec<u64> = (1..after.min(26)).rev().take(4).collect();
        let mut page = seqs(&sandbox.page(None, Some(after), 4));
        page.reverse();
        assert_eq!(page, before_only);
    }
    let end = sandbox.page(None, None, 3);
    assert_eq!((seqs(&end), end.first_seq, end.last_seq, end.total), (vec![23, 24, 25], 23, 25, 25));
    let none = sandbox.page(Some(25), None, 3);
    assert_eq!((none.entries.len(), none.first_seq, none.last_seq, none.total), (0, 0, 0, 25));
}

#[test]
fn a_tail_cut_at_any_byte_is_repaired() {
    let sandbox = Sandbox::new();
    sandbox.write(&["one", "two", "drei äöü \u{1F600} \"quoted\"\nand more"]);
    let (text, index) =
        (fs::read(sandbox.path("jsonl")).expect("text"), fs::read(sandbox.path("idx")).expect("index"));
    let lines: Vec<usize> =
        text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    // From two whole lines to three, and every index that a killed process may have left with it, the
    // one of the longer text too.
    for cut in lines[1]..=lines[2] {
        for index_length in [0, 8, 11, 16, 24] {
            fs::write(sandbox.path("jsonl"), &text[..cut]).expect("written");
            fs::write(sandbox.path("idx"), &index[..index_length]).expect("written");
            let whole = if cut == lines[2] { 3 } else { 2 };
            assert_eq!(sandbox.page(None, None, 10).total, whole, "reader, cut {cut} index {index_length}");

            let log = sandbox.writer();
            assert_eq!(log.append_entry(NewEntry::text(EntryKind::Stdout, "next")), whole + 1);
            log.close();
            let after = sandbox.texts();
            assert_eq!(after.len() as u64, whole + 1, "writer, cut {cut} index {index_length}");
            assert_eq!((after[1].as_str(), after[after.len() - 1].as_str()), ("two", "next"));
            assert_eq!(fs::metadata(sandbox.path("idx")).expect("index").len(), (whole + 1) * 8);
        }
    }
}

#[test]
fn a_wrong_index_is_rebuilt_from_the_text() {
    let sandbox = Sandbox::new();
    sandbox.write(&["one", "two", "three", "four"]);
    let right = fs::read(sandbox.path("idx")).expect("index");
    let mut broken = vec![Vec::new(), vec![0xFF; 32], vec![0; 32], vec![0; 800], vec![7; 3]];
    // Wrong in the middle alone: only a reader of that place can see it.
    let mut middle = right.clone();
    middle[8..16].copy_from_slice(&3_u64.to_le_bytes());
    broken.push(middle);
    let mut swapped = right.clone();
    swapped.rotate_left(8);
    broken.push(swapped);
    for index in broken {
        fs::write(sandbox.path("idx"), &index).expect("written");
        assert_eq!(sandbox.texts(), ["one", "two", "three", "four"], "{index:?}");
        sandbox.writer().close();
        assert_eq!(sandbox.texts(), ["one", "two", "three", "four"], "{index:?}");
    }
    fs::remove_file(sandbox.path("idx")).expect("removed");
    assert_eq!(sandbox.texts(), ["one", "two", "three", "four"]);
    sandbox.writer().close();
    assert_eq!(fs::read(sandbox.path("idx")).expect("index"), right);
}

#[test]
fn a_damaged_line_in_the_middle_is_shown_and_not_lost() {
    let sandbox = Sandbox::new();
    sandbox.write(&["one", "two", "three"]);
    let text = fs::read_to_string(sandbox.path("jsonl")).expect("text").replace("\"seq\":2,", "\"seq\":");
    fs::write(sandbox.path("jsonl"), text).expect("written");
    let page = sandbox.page(Some(0), None, 10);
    assert_eq!(seqs(&page), [1, 2, 3]);
    assert_eq!(page.entries[1].kind, EntryKind::Raw);
    assert!(text_of(&page, 1).contains("two"));
    assert_eq!(text_of(&page, 2), "three");
}

fn text_of(page: &LogPage, place: usize) -> String {
    page.entries.get(place).map(text).unwrap_or_default()
}

#[test]
fn long_text_is_kept_apart() {
    let sandbox = Sandbox::new();
    let long = "ä".repeat(40_000);
    let log = sandbox.writer();
    log.append(EntryKind::AssistantText, "a", json!({ "text": "x".repeat(MAX_INLINE_TEXT) }));
    log.append(EntryKind::AssistantText, "b", json!({ "text": long, "more": 1 }));
    log.append(EntryKind::Command, "c", json!({ "command": "ls", "exit_code": 0, "output": long }));
    let nested = json!({ "steps": vec!["y".repeat(1000); 200] });
    log.append(EntryKind::Plan, "d", nested.clone());
    log.close();
    let page = sandbox.page(None, None, 10);
    let body = |place: usize| &page.entries[place].body;
    assert_eq!(body(0)["text"].as_str().expect("inline").len(), MAX_INLINE_TEXT);
    assert_eq!(
        (&body(1)["blob"], &body(1)["text_bytes"], &body(1)["more"]),
        (&json!(2), &json!(80_000), &json!(1))
    );
    assert!(long.starts_with(body(1)["text_head"].as_str().expect("a head")));
    assert_eq!(body(1).get("text"), None);
    assert_eq!(
        (&body(2)["exit_code"], &body(2)["output_bytes"], &body(2)["blob"]),
        (&json!(0), &json!(80_000), &json!(3))
    );
    assert_eq!(body(3)["json"], json!(true));
    let blob = |seq| LogReader::blob(sandbox.dir(), ID, seq).expect("a text");
    assert_eq!((blob(2), blob(3)), (long.clone(), long));
    assert_eq!(serde_json::from_str::<Value>(&blob(4)).expect("JSON"), nested);
    assert!(matches!(LogReader::blob(sandbox.dir(), ID, 1), Err(LogError::NoBlob { .. })));
}

#[test]
fn a_full_log_says_so_and_keeps_the_end() {
    let sandbox = Sandbox::new();
    let log = sandbox.open(10_000);
    for number in 0..1000 {
        log.append_entry(NewEntry::text(EntryKind::Stdout, &format!("line {number}")));
    }
    log.append(EntryKind::ProcessExit, "exit", json!({ "code": 0 }));
    let summary = log.close();
    let page = sandbox.page(Some(0), None, 10_000);
    assert_eq!(page.total, summary.entries);
    let stdout = page.entries.iter().filter(|entry| entry.kind == EntryKind::Stdout).count() as u64;
    assert_eq!(stdout + summary.dropped, 1000);
    let end: Vec<_> = page.entries.iter().filter(|entry| entry.kind != EntryKind::Stdout).collect();
    assert_eq!(end.len(), 3, "{end:?}");
    assert_eq!(end[0].body["code"], "log_cap");
    assert_eq!(end[1].kind, EntryKind::ProcessExit);
    assert_eq!(end[2].body["dropped"], summary.dropped);
    assert!(fs::metadata(sandbox.path("jsonl")).expect("text").len() < 12_000);

    // Opened again it still is full, and does not say so twice.
    let log = sandbox.open(10_000);
    log.append_entry(NewEntry::text(EntryKind::Stdout, "more"));
    assert_eq!(log.close().dropped, 1);
    let page = sandbox.page(Some(0), None, 10_000);
    assert_eq!(page.entries.iter().filter(|entry| entry.body["code"] == "log_cap").count(), 1);
}

#[test]
fn raw_bytes_can_be_read_from_any_place() {
    let sandbox = Sandbox::new();
    let mut all = Vec::new();
    for round in 0_u32..3 {
        let log = sandbox.writer();
        let bytes: Vec<u8> =
            (0_u32..400_000).map(|at| (at.wrapping_mul(2_654_435_761 + round) >> 24) as u8).collect();
        for piece in bytes.chunks(65_536) {
            assert_eq!(log.raw(piece), all.len() as u64);
            all.extend_from_slice(piece);
        }
        log.close();
    }
    for (offset, limit) in [(0, 10), (262_143, 2), (399_999, 700_000), (1_199_990, 100), (5_000_000, 10)] {
        let expected = all.get(offset..).unwrap_or_default();
        let expected = &expected[..expected.len().min(limit)];
        let read = LogReader::raw(sandbox.dir(), ID, offset as u64, limit).expect("bytes");
        assert!(read == expected, "offset {offset}");
    }
}

#[test]
fn a_torn_raw_frame_costs_itself_alone() {
    let sandbox = Sandbox::new();
    let log = sandbox.writer();
    log.raw(b"first");
    log.flush();
    let kept = fs::metadata(sandbox.path("raw.zst")).expect("raw").len();
    log.raw(b"second");
    log.close();
    drop(log);
    let whole = fs::read(sandbox.path("raw.zst")).expect("raw");
    for cut in usize::try_from(kept).expect("small")..whole.len() {
        fs::write(sandbox.path("raw.zst"), &whole[..cut]).expect("written");
        let log = sandbox.writer();
        assert_eq!(log.raw(b"third"), 5);
        log.close();
        drop(log);
        assert_eq!(LogReader::raw(sandbox.dir(), ID, 0, 100).expect("bytes"), b"firstthird");
    }
}

#[tokio::test]
async fn a_follower_is_told_and_then_finds_the_entry() {
    let sandbox = Sandbox::new();
    let log = sandbox.writer();
    let mut follow = log.follow();
    for number in 1..=50 {
        log.append_entry(NewEntry::text(EntryKind::Stdout, "x"));
        follow.wait_for(|last| *last >= number).await.expect("told");
        assert!(sandbox.page(Some(number - 1), None, 1).total >= number);
    }
}

#[test]
fn many_writers_of_one_log_get_numbers_without_gaps() {
    let sandbox = Sandbox::new();
    let log = sandbox.writer();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let log = log.clone();
            scope.spawn(move || {
                for number in 0..2500 {
                    log.append_entry(NewEntry::text(EntryKind::Stdout, &format!("{writer}:{number}")));
                }
            });
        }
    });
    assert_eq!(log.close().entries, 10_000);
    let page = sandbox.page(Some(0), None, 20_000);
    assert_eq!(seqs(&page), (1..=10_000).collect::<Vec<_>>());
    for writer in 0..4 {
        let prefix = format!("{writer}:");
        let own: Vec<String> = texts(&page).into_iter().filter(|text| text.starts_with(&prefix)).collect();
        assert_eq!(own, (0..2500).map(|number| format!("{writer}:{number}")).collect::<Vec<_>>());
    }
}

#[test]
fn a_page_of_long_entries_stays_small() {
    let sandbox = Sandbox::new();
    let log = sandbox.writer();
    for _ in 0..100 {
        log.append_entry(NewEntry::text(EntryKind::Stdout, &"z".repeat(60_000)));
    }
    log.close();
    let front = sandbox.page(Some(0), None, 100);
    assert!((10..100).contains(&front.entries.len()), "{}", front.entries.len());
    assert_eq!(front.first_seq, 1);
    let back = sandbox.page(None, None, 100);
    assert!((10..100).contains(&back.entries.len()), "{}", back.entries.len());
    assert_eq!(back.last_seq, 100);
}

#[test]
fn refuses_ids_that_name_other_files_and_second_writers() {
    let sandbox = Sandbox::new();
    for id in ["", "..", ".hidden", "a/b", "a\\b", "a\0b", "ä", &"x".repeat(201)] {
        assert!(
            matches!(LogReader::page(sandbox.dir(), id, None, None, 1), Err(LogError::BadId(_))),
            "{id:?}"
        );
    }
    assert!(matches!(LogReader::page(sandbox.dir(), "none", None, None, 1), Err(LogError::NotFound(_))));
    let log = sandbox.writer();
    let second = LogWriter::open(sandbox.dir(), ID, "execution-2", DEFAULT_CAP_BYTES, Default::default());
    assert!(matches!(second, Err(LogError::InUse(_))));
    drop(log);
    sandbox.writer().close();
}

#[test]
fn nobody_else_may_read_it() {
    let sandbox = Sandbox::new();
    let dir = sandbox.dir().join("logs");
    let log = LogWriter::open(&dir, ID, "e", DEFAULT_CAP_BYTES, Default::default()).expect("a log");
    log.append(EntryKind::Stdout, "", json!({ "text": "x".repeat(100_000) }));
    log.close();
    let mode = |path: PathBuf| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(dir.clone()), mode(dir.join("log-1.blobs"))), (0o700, 0o700));
    for file in ["log-1.jsonl", "log-1.idx", "log-1.raw.zst", "log-1.blobs/1.txt"] {
        assert_eq!(mode(dir.join(file)), 0o600, "{file}");
    }
}

/// Compresses the logs of a sandbox; how many files that were.
fn pack(sandbox: &Sandbox) -> usize {
    pack_logs(sandbox.dir(), || true).expect("packed")
}

/// A log of several frames, with one text that is kept apart.
fn long_log(sandbox: &Sandbox) -> String {
    let apart = "x".repeat(MAX_INLINE_TEXT + 1);
    let lines: Vec<String> = (0..3000).map(|n| format!("{n} {}", "entry ".repeat(40))).collect();
    let texts: Vec<&str> = lines.iter().map(String::as_str).chain([apart.as_str(), "last"]).collect();
    sandbox.write(&texts);
    apart
}

#[test]
fn compressed_log_reads_the_same_at_every_place() {
    let sandbox = Sandbox::new();
    let apart = long_log(&sandbox);
    let places = [(Some(0), None), (Some(1499), None), (None, Some(900)), (Some(2990), None), (None, None)];
    let pages = || places.map(|(after, before)| sandbox.page(after, before, 100).entries);
    let before = pages();
    assert_eq!(pack(&sandbox), 2, "the text, and the text that was kept apart");
    assert!(!sandbox.path("jsonl").exists());
    assert_eq!(fs::metadata(sandbox.path("jsonl.zst")).expect("it").permissions().mode() & 0o777, 0o600);
    assert_eq!(pack(&sandbox), 0, "once is enough");
    assert_eq!(pages(), before);
    assert_eq!(LogReader::blob(sandbox.dir(), ID, 3001).expect("the text"), apart);
    fs::remove_file(sandbox.path("idx")).expect("removed");
    assert_eq!(pages(), before, "the index is made from the text");
    assert!(!sandbox.path("jsonl").exists(), "reading writes nothing");
}

#[test]
fn writer_goes_on_with_a_compressed_log() {
    let sandbox = Sandbox::new();
    long_log(&sandbox);
    let before = sandbox.page(Some(2990), None, 100).entries;
    pack(&sandbox);
    let log = sandbox.writer();
    assert_eq!(pack(&sandbox), 0, "it is being written");
    log.close();
    sandbox.write(&["more"]);
    assert!(!sandbox.path("jsonl.zst").exists());
    let after = sandbox.page(Some(2990), None, 100).entries;
    assert_eq!((&after[..before.len()], after.len()), (&before[..], before.len() + 1));
}

#[test]
fn log_is_whole_after_a_kill_while_it_was_compressed() {
    let sandbox = Sandbox::new();
    long_log(&sandbox);
    let before = sandbox.page(None, None, 5).entries;
    // Killed before the new file was whole, and before the old one went.
    for leftover in ["jsonl.zst.new", "jsonl.zst"] {
        fs::write(sandbox.path(leftover), "cut short").expect("a file");
        assert_eq!(sandbox.page(None, None, 5).entries, before, "{leftover}");
    }
    pack(&sandbox);
    assert_eq!(sandbox.page(None, None, 5).entries, before);
    assert!(!sandbox.path("jsonl.zst.new").exists());
}

#[test]
fn small_logs_stay_as_they_are() {
    let sandbox = Sandbox::new();
    sandbox.write(&["one"]);
    assert_eq!(pack(&sandbox), 0);
    assert!(sandbox.path("jsonl").exists());
    let missing = LogReader::page(sandbox.dir(), "other", None, None, 1);
    assert!(matches!(missing, Err(LogError::NotFound(_))), "{missing:?}");
}

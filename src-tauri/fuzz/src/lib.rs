//! What is fed with arbitrary bytes, by the fuzzer and by the ordinary test that plays the corpora. Each panics when
//! an invariant breaks.

use forge_model::{inner_loop, service, settings, workflow};
use forge_reading::{
    diagnostic::diagnostics,
    imports,
    lesson::{LessonReader, proposals},
    patch::read_patch,
    verdict::{AuditReader, audit},
};
use serde_json::json;

pub use forge_agents::{
    acp::fuzz_lines as acp_lines, claude::fuzz_lines as claude_lines, codex::fuzz_lines as codex_lines,
    shell::fuzz_lines as shell_lines,
};

/// What a reviewer says has the same verdict in whatever pieces it comes.
pub fn verdict_text(bytes: &[u8]) {
    let (choice, text) = bytes.split_first().map_or((0, bytes), |(first, rest)| (*first, rest));
    let text = String::from_utf8_lossy(text);
    let whole = audit(&text);
    assert!(whole.score.is_none_or(|score| score <= 100), "{whole:?}");
    let mut reader = AuditReader::new(64);
    in_pieces(&text, choice, |piece| reader.read(piece));
    let (read, end) = reader.finish();
    assert_eq!(read, whole, "it depends on the pieces");
    assert!(text.ends_with(&end) && end.len() <= 64, "{end:?}");
}

/// A workflow that is accepted is accepted as it is when it is written and read again.
pub fn workflow_json(bytes: &[u8]) {
    let Ok(parsed) = workflow::parse(&String::from_utf8_lossy(bytes)) else { return };
    let written = serde_json::to_string(&parsed.workflow);
    let again = written.as_deref().map(workflow::parse);
    assert!(
        matches!(&again, Ok(Ok(again)) if again.workflow == parsed.workflow && again.notes.is_empty()),
        "{parsed:?} became {again:?}"
    );
}

/// Settings that are accepted are accepted as they are when they are written and read again; a refusal has findings.
pub fn settings_json(bytes: &[u8]) {
    let Ok(value) = workflow::parse_json(&String::from_utf8_lossy(bytes)) else { return };
    let accepted = match settings::parse_settings(&value) {
        Ok(accepted) => accepted,
        Err(findings) => return assert!(!findings.is_empty(), "refused without a reason: {value}"),
    };
    let again = serde_json::to_value(&accepted).map(|written| settings::parse_settings(&written));
    assert!(matches!(&again, Ok(Ok(again)) if *again == accepted), "{accepted:?} became {again:?}");
}

/// What a `.forge.json` sets is accepted in the settings of a project, too.
pub fn repository_settings(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(inner_loop) = inner_loop::parse_repository(&text) {
        let set = settings::parse_settings(&json!({ inner_loop::KEY: inner_loop }));
        assert!(set.is_ok(), "{inner_loop} is refused in settings: {set:?}");
    }
    if let Ok(services) = service::parse_repository(&text) {
        let set = settings::parse_settings(&json!({ service::KEY: services }));
        assert!(set.is_ok(), "{services:?} is refused in settings: {set:?}");
    }
}

/// What is imported from a file of another tool can be saved as settings, unless it has zero bytes: no name and no command
/// has any, and the settings say so when they are saved.
pub fn tool_imports(bytes: &[u8]) {
    let (choice, text) = bytes.split_first().map_or((0, bytes), |(first, rest)| (*first, rest));
    let file = imports::FILES[usize::from(choice) % imports::FILES.len()];
    let Ok(imported) = imports::import(file, &String::from_utf8_lossy(text)) else { return };
    let set = json!({ "copy_files": imported.copy_files, "setup": imported.setup });
    let with_zero = workflow::nul_findings(&set, "");
    for finding in settings::parse_settings(&set).err().unwrap_or_default() {
        assert!(
            with_zero.iter().any(|it| it.path == finding.path),
            "{set} is refused in settings: {finding:?}"
        );
    }
}

/// A patch that may be proposed is in its limits, and its hunks have the lengths that they say, as git requires.
pub fn patch_text(bytes: &[u8]) {
    let answer = String::from_utf8_lossy(bytes);
    let Ok(patch) = read_patch(&answer, "src/a.rs", 20) else { return };
    assert_eq!(patch.path, "src/a.rs");
    assert!((1..=20).contains(&(patch.added + patch.removed)), "{patch:?}");
    let mut lines = patch.text.lines().peekable();
    let head: Vec<&str> = lines.by_ref().take(3).collect();
    assert_eq!(head, ["diff --git a/src/a.rs b/src/a.rs", "--- a/src/a.rs", "+++ b/src/a.rs"]);
    let (mut added, mut removed) = (0, 0);
    while let Some(head) = lines.next() {
        let said = lengths(head);
        assert!(said.is_some(), "{head} heads no hunk of {patch:?}");
        let [mut old, mut new] = said.unwrap_or_default();
        while old > 0 || new > 0 || lines.peek().is_some_and(|line| line.starts_with('\\')) {
            assert!(lines.peek().is_some(), "a hunk of {patch:?} is cut short");
            let line = lines.next().unwrap_or_default();
            let is_old = line.starts_with([' ', '-']);
            let is_new = line.starts_with([' ', '+']);
            old -= i64::from(is_old);
            new -= i64::from(is_new);
            removed += u32::from(is_old && !is_new);
            added += u32::from(is_new && !is_old);
        }
        assert_eq!((old, new), (0, 0), "a hunk of {patch:?} is longer than it says");
    }
    assert_eq!((added, removed), (patch.added, patch.removed), "{patch:?}");
}

/// How many old and new lines a hunk says that it has.
fn lengths(head: &str) -> Option<[i64; 2]> {
    let (old, new) = head.strip_prefix("@@ -")?.strip_suffix(" @@")?.split_once(" +")?;
    let length = |side: &str| side.split_once(',')?.1.parse().ok();
    Some([length(old)?, length(new)?])
}

/// The places that a failing command names lie in the worktree.
pub fn check_output(bytes: &[u8]) {
    for diagnostic in diagnostics(&String::from_utf8_lossy(bytes), "/home/mona/shop") {
        let mut parts = diagnostic.path.split('/');
        assert!(parts.all(|part| !matches!(part, "" | "." | "..")), "{diagnostic:?} is outside");
        assert!(diagnostic.message.chars().count() <= 200, "{diagnostic:?}");
    }
}

/// The same lessons are proposed in whatever pieces the text comes.
pub fn lesson_text(bytes: &[u8]) {
    let (choice, text) = bytes.split_first().map_or((0, bytes), |(first, rest)| (*first, rest));
    let text = String::from_utf8_lossy(text);
    let mut reader = LessonReader::default();
    in_pieces(&text, choice, |piece| reader.read(piece));
    assert_eq!(reader.finish(), proposals(&text), "it depends on the pieces");
}

/// Gives a text in pieces of about the chosen size.
fn in_pieces(text: &str, choice: u8, mut take: impl FnMut(&str)) {
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.ceil_char_boundary(usize::from(choice % 64) + 1);
        let (piece, next) = rest.split_at(end);
        take(piece);
        rest = next;
    }
}

//! What is fed with arbitrary bytes, by the fuzzer and by the ordinary test that plays the corpora. Each panics when
//! an invariant breaks.

use forge_model::workflow;
use forge_reading::verdict::{AuditReader, audit};

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
    let mut rest = &*text;
    while !rest.is_empty() {
        let end = rest.ceil_char_boundary(usize::from(choice % 64) + 1);
        let (piece, next) = rest.split_at(end);
        reader.read(piece);
        rest = next;
    }
    let (in_pieces, end) = reader.finish();
    assert_eq!(in_pieces, whole, "it depends on the pieces");
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

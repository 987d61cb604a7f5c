//! Arbitrary bytes as lines of the program.

use std::path::PathBuf;

use forge_model::{agent::PermissionMode, execution::ExecutionRole};
use serde_json::{Value, json};

use super::{CodexDialogue, Plan};
use crate::{SessionRequest, fuzz::feed};

/// Plays bytes as what the program prints, to a run that the first byte chooses. Panics when an invariant breaks.
#[doc(hidden)]
pub fn fuzz_lines(bytes: &[u8]) {
    let (choice, lines) = bytes.split_first().map_or((0, bytes), |(first, rest)| (*first, rest));
    feed(&mut CodexDialogue::new(plan(choice)), lines, usize::from(choice), stays_closed);
}

/// The sandbox is never opened.
fn stays_closed(message: &Value) {
    let params = &message["params"];
    for mode in [&params["sandbox"], &params["sandboxPolicy"]["type"]] {
        assert!(!mode.to_string().contains("danger"), "the sandbox was opened: {message}");
    }
}

fn plan(choice: u8) -> Plan {
    let modes =
        [PermissionMode::ReadOnly, PermissionMode::Ask, PermissionMode::Edit, PermissionMode::Unattended];
    let session = match choice % 3 {
        0 => SessionRequest::New,
        1 => SessionRequest::Resume("t".to_owned()),
        _ => SessionRequest::Fork("t".to_owned()),
    };
    Plan {
        prompt: "prompt".to_owned(),
        model: None,
        effort: None,
        worktree: PathBuf::from("/w"),
        permissions: modes.into_iter().cycle().nth(usize::from(choice >> 2)).unwrap_or(PermissionMode::Edit),
        role: if choice & 0x80 == 0 { ExecutionRole::Coder } else { ExecutionRole::Reviewer },
        session,
        carry: (choice & 0x40 != 0).then(|| json!({ "total": { "inputTokens": 7 }, "limited": 2 })),
        turns: (choice & 0x20 != 0).then_some(1),
        now_ms: || 1_000_000,
    }
}

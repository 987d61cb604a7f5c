//! Arbitrary bytes as lines of the program.

use std::path::PathBuf;

use forge_model::{agent::PermissionMode, execution::ExecutionRole};
use serde_json::json;

use super::{CodexDialogue, Plan};
use crate::{Dialogue, RunCommand, RunEvent, SessionRequest, rehearsal::Rehearsal};

/// The longest run that is played, in lines.
const MOST_LINES: usize = 4096;

/// Plays bytes as what the program prints, to a run that the first byte chooses. Each question is answered, and
/// lines with an odd number are followed by a command. Panics when an invariant breaks.
#[doc(hidden)]
pub fn fuzz_lines(bytes: &[u8]) {
    let (choice, lines) = bytes.split_first().map_or((0, bytes), |(first, rest)| (*first, rest));
    let mut dialogue = CodexDialogue::new(plan(choice));
    let mut stage = Rehearsal::default();
    stage.scene(|scene| dialogue.begin(scene));
    let mut offset = 0;
    for (number, line) in lines.split(|byte| *byte == b'\n').take(MOST_LINES).enumerate() {
        stage.scene(|scene| dialogue.hear(line, offset, scene));
        offset += line.len() as u64 + 1;
        for event in stage.told() {
            if let RunEvent::Asked(ask) = event {
                let option = ask.options.get(usize::from(choice) % ask.options.len().max(1));
                let option = option.map_or_else(String::new, |option| option.id.clone());
                let note = (number % 2 == 0).then(|| "words".to_owned());
                let answer = RunCommand::Answer { ask: ask.id, option, note };
                stage.scene(|scene| dialogue.command(answer, scene));
            }
        }
        if number % 2 == 1 {
            let say = RunCommand::Say { id: number.to_string(), text: "more".to_owned() };
            stage.scene(|scene| dialogue.command(say, scene));
        }
        for message in stage.sent() {
            assert!(message.is_object(), "{message}");
            assert!(!message.to_string().contains("danger"), "the sandbox was opened: {message}");
        }
        stage.entries();
        if stage.is_over() {
            assert!(dialogue.said().result.is_some(), "over without an end");
        }
    }
    stage.scene(|scene| dialogue.interrupt(scene));
    dialogue.said();
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

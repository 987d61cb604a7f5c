//! Feeds arbitrary bytes as program output to a dialogue in a fake run, answers every question, and checks the
//! invariants that hold for any output.

use forge_model::log::EntryKind;
use serde_json::Value;

use crate::{Dialogue, NewEntry, RunCommand, RunEvent, fake_run::FakeRun, log::stays_short, question};

/// The longest input, in lines.
const MOST_LINES: usize = 4096;

/// Feeds bytes to a dialogue, line by line. `choice` selects the option that answers its questions, `check` examines
/// what the dialogue sends.
///
/// Panics when an invariant breaks: a line that is no message is in the log as it is, with its place; no entry and
/// no question is longer than it may be; nothing but objects is sent; who is over has a result.
pub(crate) fn feed(dialogue: &mut dyn Dialogue, bytes: &[u8], choice: usize, check: fn(&Value)) {
    let mut run = FakeRun::default();
    run.with_context(|cx| dialogue.begin(cx));
    let mut next = 0;
    for (number, line) in bytes.split(|byte| *byte == b'\n').take(MOST_LINES).enumerate() {
        let offset = next;
        next += line.len() as u64 + 1;
        // The driver keeps those to itself.
        if line.trim_ascii().is_empty() {
            continue;
        }
        let was_over = run.is_over();
        run.with_context(|cx| dialogue.hear(line, offset, cx));
        let entries = run.entries();
        let is_kept = |entry: &NewEntry| entry.kind == EntryKind::Raw && entry.raw_offset == Some(offset);
        assert!(
            was_over || is_message(line) || entries.iter().any(|(_, entry)| is_kept(entry)),
            "lost: {}",
            String::from_utf8_lossy(line)
        );
        look_at(entries, offset);
        for event in run.told() {
            let RunEvent::Asked(ask) = event else { continue };
            assert!(question::is_storable(&ask), "{ask:?}");
            let option = ask.options.get(choice.wrapping_add(number) % ask.options.len().max(1));
            let option = option.map_or_else(String::new, |option| option.id.clone());
            let note = (number % 2 == 0).then(|| "words".to_owned());
            let answer = RunCommand::Answer { ask: ask.id, option, note };
            run.with_context(|cx| dialogue.command(answer, cx));
        }
        if number % 2 == 1 {
            let say = RunCommand::Say { id: number.to_string(), text: "more".to_owned() };
            run.with_context(|cx| dialogue.command(say, cx));
        }
        for message in run.sent() {
            assert!(message.is_object(), "{message}");
            check(&message);
        }
    }
    let was_over = run.is_over();
    run.with_context(|cx| dialogue.interrupt(cx));
    look_at(run.entries(), next);
    let said = dialogue.take_end();
    assert!(!was_over || said.result.is_some(), "over without an end");
}

fn is_message(line: &[u8]) -> bool {
    serde_json::from_slice::<Value>(line).is_ok_and(|message| message.is_object())
}

fn look_at(entries: Vec<(u32, NewEntry)>, offset: u64) {
    for (_, entry) in entries {
        assert!(entry.raw_offset.is_none_or(|at| at <= offset), "from a line that never came: {entry:?}");
        assert!(stays_short(entry.body), "a body of {:?} is too long", entry.kind);
    }
}

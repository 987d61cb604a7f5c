//! Arbitrary bytes as what a program prints: played to a dialogue that has no program, whose every question is
//! answered.

use crate::{Dialogue, RunCommand, RunEvent, rehearsal::Rehearsal};

/// The longest run that is played, in lines.
const MOST_LINES: usize = 4096;

/// Plays bytes to a dialogue, line by line; `choice` is which option answers its questions. Panics when an invariant
/// breaks.
pub(crate) fn play(dialogue: &mut dyn Dialogue, bytes: &[u8], choice: usize) {
    let mut stage = Rehearsal::default();
    stage.scene(|scene| dialogue.begin(scene));
    let mut offset = 0;
    for (number, line) in bytes.split(|byte| *byte == b'\n').take(MOST_LINES).enumerate() {
        stage.scene(|scene| dialogue.hear(line, offset, scene));
        offset += line.len() as u64 + 1;
        for event in stage.told() {
            if let RunEvent::Asked(ask) = event {
                let option = ask.options.get(choice.wrapping_add(number) % ask.options.len().max(1));
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
    }
    stage.scene(|scene| dialogue.interrupt(scene));
    dialogue.said();
}

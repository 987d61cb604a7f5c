//! For tests: replays recorded output of a program to its dialogue.

use forge_model::log::EntryKind;
use serde_json::{Value, json};

use crate::{
    AgentError, Ask, Dialogue, DialogueContext, DialogueEnd, NewEntry, RunCommand, RunEvent,
    fake_run::FakeRun,
};

/// A dialogue, its fake run, and what came of the recorded lines.
pub(crate) struct Replay<D> {
    pub(crate) dialogue: D,
    pub(crate) fake_run: FakeRun,
    pub(crate) sent: Vec<Value>,
    pub(crate) entries: Vec<(u32, NewEntry)>,
    pub(crate) told: Vec<RunEvent>,
    stand_ins: fn(&[Value]) -> Vec<String>,
    at: u64,
}

impl<D: Dialogue> Replay<D> {
    pub(crate) fn begin(dialogue: D) -> Self {
        let mut replay = Self {
            dialogue,
            fake_run: FakeRun::default(),
            sent: Vec::new(),
            entries: Vec::new(),
            told: Vec::new(),
            stand_ins: |_| Vec::new(),
            at: 0,
        };
        replay.act(|dialogue, cx| dialogue.begin(cx));
        replay
    }

    /// With what stands in lines for `{{0}}`, `{{1}}`, and so on, from what was sent.
    pub(crate) fn with_stand_ins(self, stand_ins: fn(&[Value]) -> Vec<String>) -> Self {
        Self { stand_ins, ..self }
    }

    /// Lets it act. Returns what it tells by that.
    pub(crate) fn act(&mut self, act: impl FnOnce(&mut D, &mut DialogueContext<'_>)) -> Vec<RunEvent> {
        self.fake_run.with_context(|cx| act(&mut self.dialogue, cx));
        self.sent.extend(self.fake_run.sent());
        self.entries.extend(self.fake_run.entries());
        let told = self.fake_run.told();
        self.told.extend(told.iter().cloned());
        told
    }

    pub(crate) fn line(&mut self, line: &str) -> Vec<RunEvent> {
        let mut line = line.to_owned();
        for (at, name) in (self.stand_ins)(&self.sent).iter().enumerate() {
            line = line.replace(&format!("{{{{{at}}}}}"), name);
        }
        let offset = self.at;
        self.at += line.len() as u64 + 1;
        self.act(|dialogue, cx| dialogue.hear(line.as_bytes(), offset, cx))
    }

    pub(crate) fn hear(&mut self, message: &Value) {
        self.line(&message.to_string());
    }

    pub(crate) fn hear_all(mut self, messages: &[Value]) -> Self {
        messages.iter().for_each(|message| self.hear(message));
        self
    }

    /// Hears all lines; `choose` answers what is asked.
    pub(crate) fn lines(&mut self, lines: &str, choose: impl Fn(&Ask) -> &'static str) {
        for line in lines.lines() {
            for event in self.line(line) {
                if let RunEvent::Asked(ask) = event {
                    self.answer(&ask.id, choose(&ask), None);
                }
            }
        }
    }

    /// The same for a replay that is at its beginning.
    pub(crate) fn replay(mut self, lines: &str, choose: impl Fn(&Ask) -> &'static str) -> Self {
        self.lines(lines, choose);
        self
    }

    pub(crate) fn answer(&mut self, ask: &str, option: &str, note: Option<&str>) {
        let (ask, option, note) = (ask.to_owned(), option.to_owned(), note.map(str::to_owned));
        self.act(|dialogue, cx| dialogue.command(RunCommand::Answer { ask, option, note }, cx));
    }

    pub(crate) fn say(&mut self, id: &str, text: &str) {
        let say = RunCommand::Say { id: id.to_owned(), text: text.to_owned() };
        self.act(|dialogue, cx| dialogue.command(say, cx));
    }

    pub(crate) fn interrupt(&mut self) {
        self.act(|dialogue, cx| dialogue.interrupt(cx));
    }

    pub(crate) fn is_over(&self) -> bool {
        self.fake_run.is_over()
    }

    pub(crate) fn take_end(&mut self) -> DialogueEnd {
        self.dialogue.take_end()
    }

    pub(crate) fn result(&mut self) -> Option<Result<(), AgentError>> {
        self.take_end().result
    }

    pub(crate) fn error(&mut self) -> Option<AgentError> {
        self.result().and_then(Result::err)
    }

    pub(crate) fn last_sent(&self) -> &Value {
        self.sent.last().expect("nothing was sent")
    }

    pub(crate) fn asked(&self) -> Vec<&Ask> {
        let mut asked = Vec::new();
        for event in &self.told {
            if let RunEvent::Asked(ask) = event {
                asked.push(ask);
            }
        }
        asked
    }

    pub(crate) fn of(&self, kind: EntryKind) -> Vec<&NewEntry> {
        self.entries.iter().map(|(_, entry)| entry).filter(|entry| entry.kind == kind).collect()
    }

    pub(crate) fn notices(&self) -> Vec<&str> {
        self.of(EntryKind::Notice).iter().filter_map(|entry| entry.body["code"].as_str()).collect()
    }

    /// Entries as they are compared.
    pub(crate) fn shown(&self) -> Value {
        let show = |(turn, entry): &(u32, NewEntry)| {
            let NewEntry { kind, id, parent_id, status, body, .. } = entry;
            json!({
                "turn": turn, "kind": kind, "id": id, "parent": parent_id, "status": status, "body": body,
            })
        };
        self.entries.iter().map(show).collect()
    }
}

/// Cuts, changes or spoils a line, or leaves it as it is: four ways, by `how`.
pub(crate) fn damage(line: &mut Vec<u8>, how: u8, at: u16, garbage: &[u8]) {
    let at = usize::from(at) % line.len().max(1);
    match how {
        0 => line.truncate(at),
        1 => line.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 0x15),
        2 => drop(line.splice(at..at, garbage.iter().copied())),
        _ => {}
    }
}

//! What an agent said, put together from the entries of its log.

use forge_model::log::{EntryKind, LogEntry};
use serde_json::Value;

/// Puts together what an agent said, entry by entry, so that a long log need not be in memory.
///
/// Pieces of one message join without a separator; messages and lines of output end with a newline.
#[derive(Debug, Default)]
pub struct Speech {
    /// Turn, identity and kind of the message that was heard last.
    last: Option<(u32, String, EntryKind)>,
    /// Whether the text so far needs a newline before another message.
    is_open: bool,
}

impl Speech {
    /// Gives what an entry adds to the text to `tell`, in order; nothing for entries that are no speech.
    pub fn hear(&mut self, entry: &LogEntry, mut tell: impl FnMut(&str)) {
        if !matches!(entry.kind, EntryKind::AssistantText | EntryKind::Stdout) {
            return;
        }
        let Some(piece) = entry.body.get("text").and_then(Value::as_str) else { return };
        let goes_on = self.last.as_ref().is_some_and(|(turn, id, kind)| {
            *kind == EntryKind::AssistantText
                && entry.kind == *kind
                && !id.is_empty()
                && (*turn, id) == (entry.turn, &entry.id)
        });
        if !goes_on && self.is_open {
            tell("\n");
            self.is_open = false;
        }
        match piece.chars().next_back() {
            Some(last) => {
                tell(piece);
                self.is_open = last != '\n';
            }
            // A line of output without a word is an empty line; a message's empty piece is nothing.
            None => self.is_open |= entry.kind == EntryKind::Stdout,
        }
        if !goes_on {
            self.last = Some((entry.turn, entry.id.clone(), entry.kind));
        }
    }
}

/// The text that a log's verdict is read from: everything the agent said, in order.
#[must_use]
pub fn spoken(entries: &[LogEntry]) -> String {
    let (mut text, mut speech) = (String::new(), Speech::default());
    for entry in entries {
        speech.hear(entry, |piece| text.push_str(piece));
    }
    text
}

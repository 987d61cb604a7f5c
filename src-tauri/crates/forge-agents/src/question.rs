//! Questions to a person as they are stored and logged, the same for every adapter: short enough for a card.

use forge_model::log::{EntryKind, EntryStatus};
use serde_json::{Value, json};

use crate::{Ask, NewEntry};

/// The longest text in a question's detail, and the longest title, in bytes.
const MAX_TEXT: usize = 64 * 1024;
const MAX_TITLE: usize = 1000;

/// The question with titles of one line and texts that are short enough to be stored.
pub(crate) fn storable(ask: Ask) -> Ask {
    let Ask { id, kind, title, detail, mut options } = ask;
    for option in &mut options {
        option.label = one_line(&option.label);
    }
    Ask { id, kind, title: one_line(&title), detail: shortened(&detail), options }
}

/// The entry of a question.
pub(crate) fn asked(ask: &Ask, status: EntryStatus) -> NewEntry {
    let body = json!({
        "text": ask.title, "kind": ask.kind, "detail": ask.detail, "options": ask.options,
    });
    let mut entry = NewEntry::new(EntryKind::ApprovalRequest, ask.id.clone(), body);
    entry.status = Some(status);
    entry
}

/// The entry of what became of the question with this id.
pub(crate) fn resolved(ask: &str, body: Value, status: EntryStatus) -> NewEntry {
    let mut entry = NewEntry::new(EntryKind::ApprovalResolved, format!("{ask}:answer"), body);
    entry.parent_id = Some(ask.to_owned());
    entry.status = Some(status);
    entry
}

/// Whether a question is as short as it has to be.
pub(crate) fn is_storable(ask: &Ask) -> bool {
    let is_short = |text: &str| text.len() <= MAX_TITLE && !text.contains('\n');
    is_short(&ask.title)
        && ask.options.iter().all(|option| is_short(&option.label))
        && shortened(&ask.detail) == ask.detail
}

fn one_line(text: &str) -> String {
    cut(&text.split_whitespace().collect::<Vec<_>>().join(" "), MAX_TITLE)
}

fn shortened(value: &Value) -> Value {
    match value {
        Value::String(text) => json!(cut(text, MAX_TEXT)),
        Value::Array(items) => items.iter().map(shortened).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, field)| (name.clone(), shortened(field))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most - '\u{2026}'.len_utf8());
    format!("{}\u{2026}", text.get(..end).unwrap_or_default())
}

//! Long text kept apart from its entry.

use std::{fs, io, io::Write as _, os::unix::fs::OpenOptionsExt as _};

use serde_json::{Map, Value, json};

use super::{MAX_INLINE_TEXT, Paths};

/// How much of a long text stays in the body, to show something at once.
const HEAD_BYTES: usize = 2 * 1024;

/// The biggest rest of a body beside its one long text.
const MAX_REST: usize = MAX_INLINE_TEXT;

/// The biggest body without a long text: one text that just fits, and a rest.
const MAX_BODY: usize = MAX_INLINE_TEXT + MAX_REST;

/// A body made short, and the text taken out of it.
pub(super) struct Shortened {
    pub(super) body: Value,
    pub(super) text: String,
}

/// Takes the long text out of a body. The body of an entry whose one long field is `output` then has
/// `output_head`, `output_bytes` and `blob` in its place. A body that is long in another way goes as JSON,
/// and has `text_head`, `text_bytes`, `blob` and `json: true`. None: it is short enough.
pub(super) fn shorten(body: &mut Value, seq: u64) -> Option<Shortened> {
    let long_field = match body {
        Value::Object(fields) => longest_text(fields),
        _ => None,
    };
    if let (Some(name), Value::Object(fields)) = (long_field, &mut *body) {
        let rest: usize =
            fields.iter().filter(|(field, _)| **field != name).map(|(_, value)| size(value)).sum();
        if rest <= MAX_REST
            && let Some(Value::String(text)) = fields.get_mut(&name).map(Value::take)
        {
            let mut short = Map::new();
            for (field, value) in std::mem::take(fields) {
                if field == name {
                    describe(&mut short, &name, &text, seq);
                } else {
                    short.insert(field, value);
                }
            }
            return Some(Shortened { body: Value::Object(short), text });
        }
    }
    if size(body) <= MAX_BODY {
        return None;
    }
    let text = body.to_string();
    let mut short = Map::new();
    describe(&mut short, "text", &text, seq);
    short.insert("json".to_owned(), json!(true));
    Some(Shortened { body: Value::Object(short), text })
}

/// Whether a body may have to be made short.
pub(super) fn is_long(body: &Value) -> bool {
    size(body) > MAX_INLINE_TEXT
}

/// Whether a body is short once its long text is taken out of it, as every body has to be that is written.
pub(crate) fn stays_short(mut body: Value) -> bool {
    let written = shorten(&mut body, 0).map_or(body, |short| short.body);
    size(&written) <= MAX_BODY
}

fn longest_text(fields: &Map<String, Value>) -> Option<String> {
    fields
        .iter()
        .filter_map(|(name, value)| Some((name, value.as_str()?.len())))
        .filter(|(_, length)| *length > MAX_INLINE_TEXT)
        .max_by_key(|(_, length)| *length)
        .map(|(name, _)| name.clone())
}

fn describe(body: &mut Map<String, Value>, field: &str, text: &str, seq: u64) {
    body.insert(format!("{field}_head"), json!(head(text)));
    body.insert(format!("{field}_bytes"), json!(text.len()));
    body.insert("blob".to_owned(), json!(seq));
}

fn head(text: &str) -> &str {
    text.get(..text.floor_char_boundary(HEAD_BYTES)).unwrap_or_default()
}

/// About how many bytes a value takes, without writing it out.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| size(item) + 1).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + size(value) + 4).sum(),
    }
}

pub(super) fn write(paths: &Paths, seq: u64, text: &str) -> io::Result<()> {
    super::private::private_folder(&paths.blobs)?;
    let mut file =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(paths.blob(seq))?;
    file.write_all(text.as_bytes())
}

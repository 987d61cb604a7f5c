//! Redaction: secrets in texts become `[redacted: NAME]` before the texts are written or sent.
//!
//! A [`Redactor`] knows three kinds of secrets: values by name (variables of the environment, tokens that Forge
//! holds), well-known formats (`formats.rs`) and patterns of a project. What a value looks like in JSON, in a URL or in
//! base64 is known, too (`literals.rs`). Whole texts ([`Redactor::text`]) and streams ([`RedactedStream`]) go through
//! the same code, so that both have the same outcome wherever a stream is cut.
//!
//! Invariants: the number of line ends stays the same; a text without a secret stays the same; a placeholder is no
//! secret, so redacting twice changes nothing; JSON text stays JSON where a secret lies within one string of it.
//! Limits: a secret longer than 16 KiB without a line end is found in a stream by its beginning alone, and values that
//! are too short or too common to be secrets (`literals.rs`) stay.

mod bytes;
mod formats;
mod keys;
mod literals;
mod placeholder;
mod redactor;
mod secret;
mod span;
mod stream;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

pub use literals::is_secret_value;
pub(crate) use placeholder::placeholder;
pub use redactor::Redactor;
pub use secret::Secret;
pub use stream::RedactedStream;

use crate::workflow::Finding;
use redactor::Pattern;

/// The most patterns of a project.
const MOST_PATTERNS: usize = 100;

impl Redactor {
    /// The text without its secrets.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.suspects(text.as_bytes()) {
            return Cow::Borrowed(text);
        }
        let redacted = self.all_of(text.as_bytes());
        if redacted == text.as_bytes() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(String::from_utf8(redacted).unwrap_or_else(|error| {
            // A pattern may cut through a character.
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        }))
    }

    /// The text without its secrets, where it is the caller's own.
    #[must_use]
    pub fn string(&self, text: String) -> String {
        match self.text(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(redacted) => redacted,
        }
    }

    /// Whether a text holds a secret.
    #[must_use]
    pub fn finds(&self, text: &[u8]) -> bool {
        self.suspects(text) && !self.spans(text).is_empty()
    }

    /// Takes the secrets out of every text in a value, names of fields included. Whether there were any.
    pub fn value(&self, value: &mut Value) -> bool {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
            Value::String(text) => match self.text(text) {
                Cow::Borrowed(_) => false,
                Cow::Owned(redacted) => {
                    *text = redacted;
                    true
                }
            },
            Value::Array(items) => items.iter_mut().fold(false, |found, item| self.value(item) | found),
            Value::Object(fields) => {
                let mut found = false;
                if fields.keys().any(|name| self.finds(name.as_bytes())) {
                    let all = std::mem::take(fields).into_iter();
                    *fields = all.map(|(name, value)| (self.string(name), value)).collect();
                    found = true;
                }
                fields.values_mut().fold(found, |found, value| self.value(value) | found)
            }
        }
    }

    /// JSON without its secrets: those of its texts, and those that are known by the field that they stand in.
    #[must_use]
    pub fn json(&self, mut value: Value) -> Value {
        if !self.suspects(value.to_string().as_bytes()) {
            return value;
        }
        self.value(&mut value);
        let text = value.to_string();
        if !self.finds(text.as_bytes()) {
            return value;
        }
        let redacted = self.string(text);
        serde_json::from_str(&redacted).unwrap_or(Value::String(redacted))
    }

    /// A record without the secrets of its texts. One that would not read back without them stays as it is.
    #[must_use]
    pub fn record<T: Serialize + DeserializeOwned>(&self, record: T) -> T {
        let Ok(mut value) = serde_json::to_value(&record) else { return record };
        if !self.value(&mut value) {
            return record;
        }
        serde_json::from_value(value).unwrap_or(record)
    }

    /// A way for a program's output, which comes in pieces.
    #[must_use]
    pub fn stream(self: &Arc<Self>) -> RedactedStream {
        RedactedStream::new(Arc::clone(self))
    }

    fn all_of(&self, text: &[u8]) -> Vec<u8> {
        let mut redacted = Vec::with_capacity(text.len());
        let mut state = stream::State::default();
        state.lines(self, text, &mut redacted);
        redacted
    }
}

/// What is wrong with a project's patterns.
#[must_use]
pub fn findings_of_patterns(patterns: &[String], path: &str) -> Vec<Finding> {
    let mut findings: Vec<_> = patterns
        .iter()
        .enumerate()
        .filter_map(|(index, text)| Some((index, Pattern::new(index, text).err()?)))
        .map(|(index, why)| Finding::new(format!("{path}[{index}]"), why))
        .collect();
    if patterns.len() > MOST_PATTERNS {
        findings.push(Finding::new(path.to_owned(), format!("has more than {MOST_PATTERNS} patterns")));
    }
    findings
}

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
mod secret;
mod span;
mod stream;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, ops::Range, sync::Arc};

use memchr::memmem;
use regex::bytes::{Regex, RegexBuilder};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

pub use literals::is_secret_value;
pub use secret::Secret;
pub use stream::RedactedStream;

use crate::workflow::Finding;
use formats::Formats;
use literals::Literals;
use span::Span;

/// How a placeholder begins.
const PLACEHOLDER: &str = "[redacted: ";

/// The most patterns of a project.
const MOST_PATTERNS: usize = 100;

/// The longest pattern of a project.
const LONGEST_PATTERN: usize = 1000;

/// The most memory of one compiled pattern.
const PATTERN_BYTES: usize = 1 << 20;

/// What a pattern is named that has no named group.
const PATTERN_NAME: &str = "PATTERN";

/// Finds secrets in texts and puts placeholders in their places.
#[derive(Debug, Default)]
pub struct Redactor {
    literals: Option<Literals>,
    formats: Option<Formats>,
    patterns: Vec<Pattern>,
    /// The longest secret that is known by its value.
    longest: usize,
}

/// A pattern of a project.
#[derive(Debug)]
struct Pattern {
    regex: Regex,
    name: String,
    /// The named group that alone is a secret.
    group: Option<usize>,
}

impl Redactor {
    /// A redactor of these values, of the well-known formats and of a project's patterns. Values that are no secrets by
    /// their looks are left out, and so are those in `commons`, such as the user's name. Patterns that are none are left
    /// out, too: [`findings_of_patterns`] refuses them when settings are saved.
    #[must_use]
    pub fn new(secrets: &[Secret], commons: &[&str], patterns: &[String]) -> Self {
        let literals = Literals::new(secrets, commons);
        let longest = literals.as_ref().map_or(0, Literals::longest);
        let patterns = patterns.iter().enumerate().filter_map(|(index, text)| Pattern::new(index, text).ok());
        Self { literals, formats: Formats::new(), patterns: patterns.collect(), longest }
    }

    /// A redactor that leaves every text as it is: for what no program printed.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Whether it leaves every text as it is.
    fn is_none(&self) -> bool {
        self.literals.is_none() && self.formats.is_none() && self.patterns.is_empty()
    }

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

    /// Whether a text may hold a secret: cheap, and never wrong when it says no.
    fn suspects(&self, text: &[u8]) -> bool {
        self.literals.as_ref().is_some_and(|literals| literals.suspects(text))
            || self.formats.as_ref().is_some_and(|formats| formats.suspects(text))
            || self.patterns.iter().any(|pattern| pattern.regex.is_match(text))
    }

    /// All secrets of a text, in order, none over another.
    fn spans(&self, text: &[u8]) -> Vec<Span<'_>> {
        let mut spans = Vec::new();
        if let Some(literals) = &self.literals {
            literals.find(text, &mut spans);
        }
        if let Some(formats) = &self.formats {
            formats.find(text, &mut spans);
        }
        for pattern in &self.patterns {
            pattern.find(text, &mut spans);
        }
        if spans.is_empty() {
            return spans;
        }
        // The sort is stable: what has a name of its own goes before what is told by its format.
        spans.sort_by_key(|span| span.at.start);
        let mut merged: Vec<Span<'_>> = Vec::with_capacity(spans.len());
        for span in spans {
            match merged.last_mut() {
                Some(last) if span.at.start < last.at.end => last.at.end = last.at.end.max(span.at.end),
                _ => merged.push(span),
            }
        }
        merged
    }
}

impl Pattern {
    fn new(index: usize, text: &str) -> Result<Self, String> {
        if text.len() > LONGEST_PATTERN {
            return Err(format!("is longer than {LONGEST_PATTERN} bytes"));
        }
        let regex = RegexBuilder::new(text)
            // Texts are looked at line by line, and all at once before that.
            .multi_line(true)
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_BYTES)
            .build()
            .map_err(|error| format!("is no regular expression: {}", last_line(&error.to_string())))?;
        if regex.is_match(b"") {
            return Err("matches a text without content, so it would match everywhere".to_owned());
        }
        let named =
            regex.capture_names().enumerate().find_map(|(group, name)| Some((group, name?.to_owned())));
        let (group, name) = match named {
            Some((group, name)) => (Some(group), name),
            None => (None, format!("{PATTERN_NAME}_{}", index + 1)),
        };
        Ok(Self { regex, name, group })
    }

    fn find<'r>(&'r self, text: &[u8], spans: &mut Vec<Span<'r>>) {
        let known = spans.len();
        let name = self.name.as_str();
        match self.group {
            None => spans.extend(self.regex.find_iter(text).map(|found| Span { at: found.range(), name })),
            Some(group) => {
                let found = self.regex.captures_iter(text).filter_map(|it| it.get(group));
                spans.extend(found.map(|it| Span { at: it.range(), name }));
            }
        }
        if spans.len() > known {
            // What a pattern finds in a placeholder is a name.
            let placeholders = placeholders(text);
            let is_secret = |at: &Range<usize>| {
                !at.is_empty() && !placeholders.iter().any(|it| it.start < at.end && at.start < it.end)
            };
            let found = spans.split_off(known);
            spans.extend(found.into_iter().filter(|span| is_secret(&span.at)));
        }
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

/// What stands in the place of the secret that is called `name`.
pub(crate) fn placeholder(name: &str) -> String {
    let name: String = name.chars().map(|it| if is_of_name(it) { it } else { '_' }).collect();
    format!("{PLACEHOLDER}{name}]")
}

/// Where placeholders are in a text.
fn placeholders(text: &[u8]) -> Vec<Range<usize>> {
    let starts = memmem::find_iter(text, PLACEHOLDER.as_bytes());
    starts
        .filter_map(|start| {
            let name = text.get(start + PLACEHOLDER.len()..)?;
            let length = name.iter().position(|byte| !is_of_name(*byte as char))?;
            (name.get(length) == Some(&b']')).then(|| start..start + PLACEHOLDER.len() + length + 1)
        })
        .collect()
}

/// Whether a name of a placeholder may have this.
const fn is_of_name(it: char) -> bool {
    it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | '.')
}

/// Errors of regular expressions draw the expression first and say what is wrong last.
fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or(text).trim_start_matches("error: ")
}

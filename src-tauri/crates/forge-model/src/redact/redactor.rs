//! Finds the secrets of a text.

use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder};

use super::{formats::Formats, literals::Literals, placeholder::placeholders, secret::Secret, span::Span};

/// The longest pattern of a project.
const LONGEST_PATTERN: usize = 1000;

/// The most memory of one compiled pattern.
const PATTERN_BYTES: usize = 1 << 20;

/// What a pattern is named that has no named group.
const PATTERN_NAME: &str = "PATTERN";

/// Finds secrets in texts and puts placeholders in their places.
#[derive(Debug, Default)]
pub struct Redactor {
    pub(super) literals: Option<Literals>,
    pub(super) formats: Option<Formats>,
    pub(super) patterns: Vec<Pattern>,
    /// The longest secret that is known by its value.
    pub(super) longest: usize,
}

/// A pattern of a project.
#[derive(Debug)]
pub(super) struct Pattern {
    regex: Regex,
    name: String,
    /// The named group that alone is a secret.
    group: Option<usize>,
}

impl Redactor {
    /// A redactor of these values, of the well-known formats and of a project's patterns. Values that are no secrets by
    /// their looks are left out, and so are those in `commons`, such as the user's name. Patterns that are none are left
    /// out, too: [`super::findings_of_patterns`] refuses them when settings are saved.
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
    pub(super) fn is_none(&self) -> bool {
        self.literals.is_none() && self.formats.is_none() && self.patterns.is_empty()
    }

    /// Whether a text may hold a secret: cheap, and never wrong when it says no.
    pub(super) fn suspects(&self, text: &[u8]) -> bool {
        self.literals.as_ref().is_some_and(|literals| literals.suspects(text))
            || self.formats.as_ref().is_some_and(|formats| formats.suspects(text))
            || self.patterns.iter().any(|pattern| pattern.regex.is_match(text))
    }

    /// All secrets of a text, in order, none over another.
    pub(super) fn spans(&self, text: &[u8]) -> Vec<Span<'_>> {
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
    pub(super) fn new(index: usize, text: &str) -> Result<Self, String> {
        if text.len() > LONGEST_PATTERN {
            return Err(format!("is longer than {LONGEST_PATTERN} bytes"));
        }
        let regex = RegexBuilder::new(text)
            // Texts are looked at line by line, and all at once before that.
            .multi_line(true)
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_BYTES)
            .build()
            .map_err(|error| format!("is not a regular expression: {}", last_line(&error.to_string())))?;
        if regex.is_match(b"") {
            return Err("matches the empty text, so it would match everywhere".to_owned());
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

/// Errors of regular expressions draw the expression first and say what is wrong last.
fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or(text).trim_start_matches("error: ")
}

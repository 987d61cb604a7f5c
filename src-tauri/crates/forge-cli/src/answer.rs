//! An answer of a command, and how lines are written.

use std::io::Write as _;

use serde_json::Value;

/// An answer of a command.
pub(crate) struct Answer {
    /// For programs.
    pub(crate) json: Value,
    /// For people, without the last line break.
    pub(crate) text: String,
    /// Whether what was asked about is as it should be.
    pub(crate) good: bool,
}

impl Answer {
    pub(crate) const fn new(json: Value, text: String) -> Self {
        Self { json, text, good: true }
    }
}

/// Writes a line to standard output; false when nobody reads it.
pub(crate) fn put(text: &str) -> bool {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).is_ok()
}

/// Writes a line to standard error. There is nobody left to tell when this fails.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

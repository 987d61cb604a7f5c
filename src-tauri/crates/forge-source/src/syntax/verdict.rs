//! What is to be said about a text's form.

use serde::Serialize;

use crate::place::place;

/// The first place where a text is not well formed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{message} ({line}:{column})")]
pub struct SyntaxError {
    /// What is wrong, in the parser's words.
    pub message: String,
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
}

impl SyntaxError {
    /// An error at a byte's place in the text.
    pub(super) fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let (line, column) = place(text, offset);
        Self { message: message.into(), line, column }
    }
}

/// What is to be said about a text's form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Syntax {
    /// It is well formed.
    Sound,
    /// It is not.
    Broken(SyntaxError),
    /// It was not parsed: too large, nested too deeply, in an encoding that is not read here.
    Refused {
        /// Completes "it was not checked: ".
        reason: String,
    },
}

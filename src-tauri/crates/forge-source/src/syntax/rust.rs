//! Rust, by syn. What only macros would see stays unread, as it does for the compiler's parser.

use proc_macro2::Span;

use super::verdict::{Syntax, SyntaxError};

pub(super) fn check(text: &str) -> Syntax {
    match syn::parse_file(text) {
        Ok(_) => Syntax::Sound,
        Err(error) => Syntax::Broken(told(text, &error)),
    }
}

fn told(text: &str, error: &syn::Error) -> SyntaxError {
    let span: Span = error.span();
    let start = span.start();
    let mut message = error.to_string();
    // All that the reader of tokens says.
    if message == "cannot parse string into token stream" {
        "a bracket, a string or a comment is not closed, or a character is not allowed here"
            .clone_into(&mut message);
    }
    // The end of the text is told as the call site, which is nowhere.
    if message.contains("unexpected end of input") && start.line <= 1 && start.column == 0 {
        return SyntaxError::at(text, text.len(), message);
    }
    SyntaxError {
        message,
        line: crate::place::number(start.line.max(1)),
        column: crate::place::number(start.column + 1),
    }
}

//! Quotations in prompts.

use std::fmt::Write as _;

/// A text as a block quote.
pub(crate) fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

/// A fence that is longer than any in a text, so that the text cannot end its own quotation.
pub(crate) fn fence_for(body: &str) -> String {
    let longest = body.split(|c| c != '~').map(str::len).max().unwrap_or(0);
    "~".repeat(longest.max(3) + 1)
}

/// Writes a text in a fence below its name; nothing when it is blank.
pub(crate) fn write_named(text: &mut String, name: &str, body: &str) {
    if !body.trim().is_empty() {
        let fence = fence_for(body);
        let _ = writeln!(text, "\n{name}:\n{fence}\n{}\n{fence}\n", body.trim_end());
    }
}

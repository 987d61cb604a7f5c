//! What stands in the place of a secret.

use std::ops::Range;

use memchr::memmem;

/// How a placeholder begins.
const PLACEHOLDER: &str = "[redacted: ";

/// What stands in the place of the secret that is called `name`.
pub(crate) fn placeholder(name: &str) -> String {
    let name: String = name.chars().map(|it| if is_of_name(it) { it } else { '_' }).collect();
    format!("{PLACEHOLDER}{name}]")
}

/// Where placeholders are in a text.
pub(super) fn placeholders(text: &[u8]) -> Vec<Range<usize>> {
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

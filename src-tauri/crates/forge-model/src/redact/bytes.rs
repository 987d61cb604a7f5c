//! Kinds of bytes, and how many of a kind a text begins with.

pub(super) fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

pub(super) fn length_of(text: &[u8], of: impl Fn(u8) -> bool) -> usize {
    text.iter().position(|byte| !of(*byte)).unwrap_or(text.len())
}

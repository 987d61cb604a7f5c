//! Digits at the beginning of a text.

/// How many there are.
pub(super) fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Exactly so many digits, and what follows them.
pub(super) fn exactly(text: &str, count: usize) -> Option<&str> {
    (digits(text) == count).then(|| text.get(count..)).flatten()
}

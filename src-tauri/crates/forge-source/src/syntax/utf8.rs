//! Reads text that must be UTF-8.

use std::borrow::Cow;

use super::verdict::SyntaxError;

/// A text that must be UTF-8.
pub(super) fn strict(bytes: &[u8]) -> Result<Cow<'_, str>, SyntaxError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Cow::Borrowed(text.strip_prefix('\u{feff}').unwrap_or(text))),
        Err(error) => {
            let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            Err(SyntaxError::at(&valid, valid.len(), "not valid UTF-8"))
        }
    }
}

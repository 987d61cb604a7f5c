//! Cutting text without cutting characters.

/// At most `longest` bytes of the text, with a mark where it was cut.
pub(crate) fn shortened(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let mut end = longest.saturating_sub('…'.len_utf8());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", text[..end].trim_end())
}

/// The text, unless it is blank.
pub(crate) fn said(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_stay_whole() {
        for (text, longest, expected) in [
            ("short", 5, "short"),
            ("longer", 5, "lo…"),
            ("äöü", 5, "ä…"),
            ("ab  cdefgh", 6, "ab…"),
            ("äää", 3, "…"),
        ] {
            assert_eq!(shortened(text, longest), expected);
        }
    }
}

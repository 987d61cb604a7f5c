//! How an agent summed up its work, read from the last thing it said.

use serde_json::Value;

use crate::json::owned;

/// The longest summary that nobody marked as one, in characters.
const PARAGRAPH_CHARS: usize = 500;

/// The longest summary under a heading of its own, in characters.
const SECTION_CHARS: usize = 4000;

/// The summary in the last message of an agent: the `summary` of an answer in JSON, or the section under its last
/// heading `Summary` when it has one, else its first paragraph.
pub(crate) fn of_message(text: &str) -> Option<String> {
    let form = match serde_json::from_str::<Value>(text.trim()) {
        Ok(answer) => owned(&answer, "summary"),
        // Most agents answer in words: those are read below.
        Err(_) => None,
    };
    if let Some(summary) = form {
        return Some(cut(summary.trim(), SECTION_CHARS)).filter(|summary| !summary.is_empty());
    }
    let (text, most) = match section(text) {
        Some(section) => (section, SECTION_CHARS),
        None => (text.trim().split("\n\n").next().unwrap_or_default(), PARAGRAPH_CHARS),
    };
    let text = text.trim();
    (!text.is_empty()).then(|| cut(text, most))
}

/// What follows the last heading that says no more than that a summary comes.
fn section(text: &str) -> Option<&str> {
    let mut start = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        let heading = line.trim().trim_start_matches('#');
        if heading.len() < line.trim().len()
            && heading.trim().trim_end_matches(':').eq_ignore_ascii_case("summary")
        {
            start = Some(at);
        }
    }
    text.get(start?..).filter(|rest| !rest.trim().is_empty())
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}\u{2026}", text.get(..at).unwrap_or_default().trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_first_paragraph_or_the_section() {
        assert_eq!(of_message(" \n"), None);
        assert_eq!(of_message("Done.\nAll of it.\n\nMore.").as_deref(), Some("Done.\nAll of it."));
        assert_eq!(of_message(&"x".repeat(600)).map(|text| text.chars().count()), Some(501));
        let text = "I did it.\n\n## Summary\n- what: a\n- open: b\n";
        assert_eq!(of_message(text).as_deref(), Some("- what: a\n- open: b"));
        assert_eq!(of_message(r#"{"verdict":"pass","summary":"Fine."}"#).as_deref(), Some("Fine."));
        assert_eq!(of_message("Words.\n\n# Summary\n").as_deref(), Some("Words."));
    }
}

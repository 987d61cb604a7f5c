//! Where a secret is in a text, and where one may begin and end.

use std::ops::Range;

use aho_corasick::AhoCorasick;

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span<'r> {
    pub(super) at: Range<usize>,
    pub(super) name: &'r str,
}

/// A searcher for these, when there are any.
pub(super) fn searcher<P: AsRef<[u8]>>(words: impl IntoIterator<Item = P>) -> Option<AhoCorasick> {
    let built = AhoCorasick::builder().match_kind(aho_corasick::MatchKind::LeftmostLongest).build(words);
    built.ok().filter(|it| it.patterns_len() > 0)
}

/// Whether a secret may begin at `at`: not within a word. The last letter of an escape (`\n`) or of a terminal's color
/// (`ESC[31m`) belongs to no word.
pub(super) fn begins_word(text: &[u8], at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let Some(last) = before.last() else { return true };
    if !(last.is_ascii_alphanumeric() || matches!(last, b'_' | b'-')) {
        return true;
    }
    let Some(rest) = before.get(..before.len() - 1) else { return true };
    if matches!(last, b'n' | b'r' | b't' | b'b' | b'f') && rest.last() == Some(&b'\\') {
        return true;
    }
    let digits = rest.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    *last == b'm' && rest.get(..rest.len() - digits).is_some_and(|it| it.ends_with(b"["))
}

/// Whether a secret may end before `at`: not within a word.
pub(super) fn ends_word(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|next| !(next.is_ascii_alphanumeric() || *next == b'_'))
}

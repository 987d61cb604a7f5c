//! Text that hosts do not act upon.
//!
//! Hosts read Markdown for more than its looks: `@name` sends somebody a message, `fixes #1` closes an issue
//! once the text lands in the default branch (a squashed commit carries the body of its pull request), a line
//! that starts with `/close` is an order at GitLab, and raw HTML can hide what follows. A space without width
//! at the right place ends that and is not seen. Text in code gets it too: which text is code, hosts do not
//! agree upon.

const UNSEEN: char = '\u{200b}';

/// Words by which the three hosts close or reopen issues.
const CLOSING: &[&str] = &[
    "close",
    "closed",
    "closes",
    "closing",
    "fix",
    "fixed",
    "fixes",
    "fixing",
    "implement",
    "implemented",
    "implementing",
    "implements",
    "reopen",
    "reopened",
    "reopening",
    "reopens",
    "resolve",
    "resolved",
    "resolves",
    "resolving",
];

/// The text so that no host pings, closes, links or obeys.
pub fn defused(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut before = '\n';
    let mut starts_line = true;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let word = if is_word(before) { "" } else { leading_word(rest) };
        if CLOSING.contains(&word.to_ascii_lowercase().as_str()) && names_issue(&rest[word.len()..]) {
            out.extend([c, UNSEEN]);
            out.push_str(&word[1..]);
            (before, starts_line, rest) = ('a', false, &rest[word.len()..]);
            continue;
        }
        let after = rest[c.len_utf8()..].chars().next().unwrap_or(' ');
        if c == '/' && starts_line && after.is_ascii_alphabetic() {
            out.push(UNSEEN);
        }
        out.push(c);
        let acts = match c {
            '@' => !is_word(before) && (is_word(after) || after == '-'),
            '#' | '!' => after.is_ascii_digit(),
            '<' => after.is_ascii_alphabetic() || matches!(after, '/' | '!' | '?'),
            _ => false,
        };
        if acts {
            out.push(UNSEEN);
        }
        // Quoted and listed lines start after their marks.
        starts_line = c == '\n' || (starts_line && (c.is_whitespace() || matches!(c, '>' | '-' | '*' | '+')));
        before = c;
        rest = &rest[c.len_utf8()..];
    }
    out
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn leading_word(text: &str) -> &str {
    let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
    &text[..end]
}

/// Whether an issue follows that is not written with `#`: its address, or a key such as `GH-1`.
fn names_issue(after_word: &str) -> bool {
    let text = after_word.strip_prefix(':').unwrap_or(after_word);
    if !text.starts_with(char::is_whitespace) {
        return false;
    }
    let mut tokens = text.split_whitespace();
    let mut token = tokens.next().unwrap_or_default();
    if matches!(token.to_ascii_lowercase().as_str(), "issue" | "issues") {
        token = tokens.next().unwrap_or_default();
    }
    let token = token.trim_start_matches(|c: char| !c.is_alphanumeric());
    let is_key = token.split_once('-').is_some_and(|(key, number)| {
        key.starts_with(|c: char| c.is_ascii_alphabetic())
            && key.chars().all(is_word)
            && number.starts_with(|c: char| c.is_ascii_digit())
    });
    is_key || (token.contains("://") && token.contains(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hosts_act_upon_is_broken() {
        for (text, expected) in [
            ("ask @octo-cat", "ask @|octo-cat"),
            ("(@team/core)", "(@|team/core)"),
            ("me@example.org", "me@example.org"),
            ("git@github.com:o/r", "git@github.com:o/r"),
            ("a @ b, @", "a @ b, @"),
            ("fixes #1", "fixes #|1"),
            ("Closes: octo/app#12", "Closes: octo/app#|12"),
            ("# Heading #fff", "# Heading #fff"),
            ("see !5, not !x", "see !|5, not !x"),
            ("Fixes https://github.com/o/r/issues/1", "F|ixes https://github.com/o/r/issues/1"),
            ("Fixes issue <https://a/1>", "F|ixes issue <|https://a/1>"),
            ("resolves GH-12", "r|esolves GH-12"),
            ("RESOLVED: ABC-3.", "R|ESOLVED: ABC-3."),
            ("fixes\nhttps://a/1", "f|ixes\nhttps://a/1"),
            ("this fixes the tests", "this fixes the tests"),
            ("prefixes GH-1", "prefixes GH-1"),
            ("closes https://example.org", "closes https://example.org"),
            ("/close\n  /merge\n> /label ~a", "|/close\n  |/merge\n> |/label ~a"),
            ("- /close", "- |/close"),
            ("in /usr/bin", "in /usr/bin"),
            ("a <!-- b", "a <|!-- b"),
            ("</details><b>", "<|/details><|b>"),
            ("1 < 2 <= 3", "1 < 2 <= 3"),
            ("ünï @ö", "ünï @|ö"),
        ] {
            assert_eq!(defused(text).replace(UNSEEN, "|"), expected);
        }
    }

    #[test]
    fn nothing_seen_is_changed() {
        let text = "fixes https://a/1 @b <c> /d\n/e #1 äöü\u{1f600}";
        assert_eq!(defused(text).replace(UNSEEN, ""), text);
        assert_eq!(defused(&defused(text)), defused(text));
    }
}

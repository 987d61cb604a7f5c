//! Code fences and block quotes of Markdown, line by line.

/// Whether a line is in a block quote.
pub(crate) fn is_quoted(line: &str) -> bool {
    indent(line) < 4 && line.trim_start_matches(' ').starts_with('>')
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// A line that opens or closes a code fence: its character, how many, and whether nothing follows.
pub(crate) fn fence_mark(line: &str) -> Option<(char, usize, bool)> {
    if indent(line) > 3 {
        return None;
    }
    let rest = line.trim_start_matches(' ');
    let mark = rest.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let after = rest.trim_start_matches(mark);
    let count = rest.len() - after.len();
    // "```x```" on one line is code in a sentence, no fence.
    (count >= 3 && !(mark == '`' && after.contains('`'))).then(|| (mark, count, after.trim().is_empty()))
}

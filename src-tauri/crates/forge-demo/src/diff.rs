//! A small unified diff of one file, for the window to show what the scripted agent changed.

use std::fmt::Write as _;

/// Lines shown before and after the change.
const CONTEXT: usize = 3;

/// One hunk from the first to the last line that differs; empty when nothing does.
pub(crate) fn unified(path: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let (before, after): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same_start = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let most = before.len().min(after.len()) - same_start;
    let same_end = before.iter().rev().zip(after.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let start = same_start.saturating_sub(CONTEXT);
    let trailing = same_end.min(CONTEXT);
    let (old_end, new_end) = (before.len() - same_end, after.len() - same_end);
    let count = |end: usize| end + trailing - start;

    let mut text = format!("--- a/{path}\n+++ b/{path}\n");
    let _ = writeln!(text, "@@ -{} +{} @@", range(start, count(old_end)), range(start, count(new_end)));
    let mut put = |sign: char, lines: Option<&[&str]>| {
        for line in lines.unwrap_or_default() {
            let _ = writeln!(text, "{sign}{line}");
        }
    };
    put(' ', before.get(start..same_start));
    put('-', before.get(same_start..old_end));
    put('+', after.get(same_start..new_end));
    put(' ', before.get(old_end..old_end + trailing));
    text
}

/// Start and length as a hunk's head has them: an empty range names the line before it.
fn range(start: usize, count: usize) -> String {
    if count == 0 { format!("{start},0") } else { format!("{},{count}", start + 1) }
}

#[cfg(test)]
mod tests {
    use super::unified;

    #[test]
    fn shows_new_changed_and_deleted_files() {
        assert_eq!(unified("f", "", "a\nb\n"), "--- a/f\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n");
        assert_eq!(unified("f", "a\n", ""), "--- a/f\n+++ b/f\n@@ -1,1 +0,0 @@\n-a\n");
        assert_eq!(
            unified("f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"),
            "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
        );
        assert_eq!(unified("f", "a\na\n", "a\n"), "--- a/f\n+++ b/f\n@@ -1,2 +1,1 @@\n a\n-a\n");
        assert_eq!(unified("f", "same\n", "same\n"), "");
    }
}

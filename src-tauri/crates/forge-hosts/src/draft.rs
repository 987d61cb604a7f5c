//! Drafts of hosts that know them by a mark before the title.

/// The title without its mark, and whether it had one. `marks` are lower-case.
pub(crate) fn without_mark<'a>(title: &'a str, marks: &[&str]) -> (&'a str, bool) {
    let title = title.trim();
    for mark in marks {
        if let Some(start) = title.get(..mark.len())
            && start.eq_ignore_ascii_case(mark)
        {
            return (title[mark.len()..].trim_start(), true);
        }
    }
    (title, false)
}

/// The title with the mark, or without any.
pub(crate) fn with_mark(title: &str, draft: bool, mark: &str, marks: &[&str]) -> String {
    let (bare, _) = without_mark(title, marks);
    if draft { format!("{mark} {bare}") } else { bare.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_come_and_go() {
        const MARKS: &[&str] = &["wip:", "[wip]"];
        for (title, bare, draft) in [
            ("WIP: a", "a", true),
            ("wip:a", "a", true),
            ("[WIP] a", "a", true),
            ("WIPe it", "WIPe it", false),
            ("ä", "ä", false),
        ] {
            assert_eq!(without_mark(title, MARKS), (bare, draft), "{title}");
        }
        assert_eq!(with_mark("WIP: a", true, "WIP:", MARKS), "WIP: a");
        assert_eq!(with_mark("[WIP] a", false, "WIP:", MARKS), "a");
    }
}

//! Paths and names of branches as text, divided by `/`, as people and settings write them.

/// The longest part of a branch's name in bytes: it is a file's name, with `.lock` while git writes it.
const MAX_BRANCH_PART: usize = 250;

/// The path that its parts lead to, without `.` and `..`; none when they lead above where they begin, or nowhere.
#[must_use]
pub fn within<'p>(parts: impl Iterator<Item = &'p str>) -> Option<String> {
    let mut kept: Vec<&str> = Vec::new();
    for part in parts {
        match part {
            "" | "." => {}
            ".." => {
                kept.pop()?;
            }
            part => kept.push(part),
        }
    }
    (!kept.is_empty()).then(|| kept.join("/"))
}

/// What keeps git from taking a name for a branch's, as `git check-ref-format --branch` says it; none when it does.
pub fn branch_fault(name: &str) -> Option<&'static str> {
    let is_refused =
        |c: char| c.is_ascii_control() || matches!(c, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\');
    let parts = || name.split('/');
    if name.is_empty() {
        Some("must be a branch name, not blank")
    } else if name.contains(is_refused) {
        Some("must be a branch name: blanks, control characters and ~ ^ : ? * [ \\ are not allowed")
    } else if name.starts_with('-') || matches!(name, "@" | "HEAD") {
        Some("must be a branch name: it must not begin with `-` or be `@` or `HEAD`")
    } else if name.contains("..") || name.contains("@{") || name.ends_with('.') {
        Some("must be a branch name: it must not contain `..` or `@{`, or end with a dot")
    } else if parts().any(|part| part.is_empty() || part.starts_with('.') || part.ends_with(".lock")) {
        Some("must be a branch name: no part between `/` may be empty, begin with a dot or end with `.lock`")
    } else if parts().any(|part| part.len() > MAX_BRANCH_PART) {
        Some("must be a branch name: each part between `/` must be at most 250 bytes")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_branches_are_those_that_git_takes() {
        let long = "a".repeat(251);
        for name in ["main", "release/2.0", "a.b", "ä/ö", "x@y", "a-", "@a", "head", "a.lock2", "feature#1"]
        {
            assert_eq!(branch_fault(name), None, "{name}");
        }
        for name in [
            "", " ", "a b", " main", "a\tb", "a\n", "-a", "@", "HEAD", "a..b", "a@{1}", "a.", "/a", "a/",
            "a//b", ".a", "a/.b", "a.lock", "a.lock/b", "a~1", "a^", "a:b", "a?", "a*", "a[b", "a\\b",
            "a\u{7f}", &long,
        ] {
            assert!(branch_fault(name).is_some(), "{name:?}");
        }
    }

    #[test]
    fn a_path_stays_below_where_it_begins() {
        for (written, led) in [
            ("a/b", Some("a/b")),
            ("./a//b/", Some("a/b")),
            ("a/../b", Some("b")),
            ("a/..", None),
            ("../a", None),
            ("a/../../b", None),
            ("", None),
        ] {
            assert_eq!(within(written.split('/')).as_deref(), led, "{written}");
        }
    }
}

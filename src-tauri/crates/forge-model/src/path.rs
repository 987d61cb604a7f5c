//! Paths as text, divided by `/`, as people and settings write them.

/// The path that its parts lead to, without `.` and `..`; none when they lead above where they begin, or nowhere.
pub(crate) fn within<'p>(parts: impl Iterator<Item = &'p str>) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

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

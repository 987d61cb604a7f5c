//! Lines of what programs print.

/// The longest line that is read. A longer one stays in the raw log alone.
pub const MAX_LINE_BYTES: usize = 32 * 1024 * 1024;

/// The lines of a text, each with its line end; the last one may have none. Every byte of a program's output comes by
/// here, so the search is one that looks at many bytes at once.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = memchr::memchr_iter(b'\n', text).map(|at| at + 1);
    let last = (!text.is_empty() && !text.ends_with(b"\n")).then_some(text.len());
    let mut start = 0;
    ends.chain(last).map(move |end| {
        let line = text.get(start..end).unwrap_or_default();
        start = end;
        line
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_are_split_behind_their_ends(text in "[ab\n]{0,20}") {
            let text = text.as_bytes();
            let expected: Vec<_> = text.split_inclusive(|byte| *byte == b'\n').collect();
            prop_assert_eq!(super::lines(text).collect::<Vec<_>>(), expected);
        }
    }
}

//! Where in a text something stands, as people count.

/// Line and column of a byte's place, both from 1; the column counts characters.
///
/// An offset past the end, or inside a character, counts as the next place that exists.
pub(crate) fn place(text: &str, offset: usize) -> (u32, u32) {
    let end = (offset.min(text.len())..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let before = &text[..end];
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    (number(line), number(column))
}

/// A count as the contract carries it; what exceeds it stays at its end.
pub(crate) fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn places_count_from_one_and_by_characters() {
        let text = "ab\r\nç€d\n";
        let cases =
            [(0, (1, 1)), (1, (1, 2)), (4, (2, 1)), (5, (2, 2)), (6, (2, 2)), (9, (2, 3)), (11, (3, 1))];
        for (offset, expected) in cases {
            assert_eq!(place(text, offset), expected, "{offset}");
        }
        assert_eq!(place(text, 400), (3, 1));
        assert_eq!(place("", 0), (1, 1));
    }
}

//! Limits and amounts of dollars, as they are given on the command line.

/// A limit, or that there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit<T>(pub(crate) Option<T>);

const PER_DOLLAR: u64 = 1_000_000;

/// A number, or `none`.
pub(crate) fn limit(text: &str) -> Result<Limit<u32>, String> {
    match text {
        "none" => Ok(Limit(None)),
        number => number
            .parse()
            .map(|number| Limit(Some(number)))
            .map_err(|_| "must be a whole number, or `none` for no limit".to_owned()),
    }
}

/// An amount of dollars in micro-dollars, or `none`.
pub(crate) fn limit_in_dollars(text: &str) -> Result<Limit<u64>, String> {
    match text {
        "none" => Ok(Limit(None)),
        amount => dollars(amount).map(|amount| Limit(Some(amount))),
    }
}

/// An amount of dollars in micro-dollars.
pub(crate) fn dollars(text: &str) -> Result<u64, String> {
    let wrong = || "must be an amount of dollars, such as 12.50".to_owned();
    let text = text.strip_prefix('$').unwrap_or(text);
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.chars().all(|c| c.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(part) || part.len() > 6 {
        return Err(wrong());
    }
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let part: u64 = format!("{part:0<6}").parse().map_err(|_| wrong())?;
    whole.checked_mul(PER_DOLLAR).and_then(|whole| whole.checked_add(part)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_read_exactly_and_nothing_else_is_taken_for_them() {
        let read = |text: &str| dollars(text).ok();
        assert_eq!(read("12.50"), Some(12_500_000));
        assert_eq!(read("$3"), Some(3_000_000));
        assert_eq!(read("0.000001"), Some(1));
        for wrong in ["", ".5", "-1", "1.0000001", "a", "1,5", "99999999999999999999", "none"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn none_is_no_limit() {
        assert_eq!(limit("none"), Ok(Limit(None)));
        assert_eq!(limit("7"), Ok(Limit(Some(7))));
        assert!(limit("-1").is_err() && limit("some").is_err());
        assert_eq!(limit_in_dollars("none"), Ok(Limit(None)));
        assert_eq!(limit_in_dollars("5"), Ok(Limit(Some(5_000_000))));
    }
}

//! Words for people that depend on a number.

/// "1 check", "3 checks".
#[must_use]
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Micro-dollars for people, rounded to cents; what is less than a cent has all of its digits, so that it never reads as
/// nothing.
#[must_use]
pub fn dollars(micro: u64) -> String {
    if micro > 0 && micro < 10_000 {
        return format!("$0.{}", format!("{micro:06}").trim_end_matches('0'));
    }
    let cents = micro.saturating_add(5_000) / 10_000;
    format!("${}.{:02}", cents / 100, cents % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_above_zero_never_reads_as_zero() {
        let said = [0, 42, 4_200, 10_000, 900_000, 12_344_999].map(dollars);
        assert_eq!(said, ["$0.00", "$0.000042", "$0.0042", "$0.01", "$0.90", "$12.34"]);
    }

    #[test]
    fn cost_is_rounded_and_not_cut() {
        let said = [9_999, 14_999, 15_000, 19_900, 545_000, 999_999, 12_345_678].map(dollars);
        assert_eq!(said, ["$0.009999", "$0.01", "$0.02", "$0.02", "$0.55", "$1.00", "$12.35"]);
    }

    #[test]
    fn one_is_not_many() {
        let said: Vec<_> = (0..3).map(|count| counted(count, "check passed", "checks passed")).collect();
        assert_eq!(said, ["0 checks passed", "1 check passed", "2 checks passed"]);
    }
}

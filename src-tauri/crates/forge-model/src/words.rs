//! Words for people that depend on a number.

/// "1 check", "3 checks".
#[must_use]
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Micro-dollars for people; what is not nothing never reads as nothing.
#[must_use]
pub fn dollars(micro: u64) -> String {
    let (whole, rest) = (micro / 1_000_000, micro % 1_000_000);
    if whole > 0 || rest == 0 || rest >= 10_000 {
        format!("${whole}.{:02}", rest / 10_000)
    } else {
        format!("$0.{}", format!("{rest:06}").trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_above_zero_never_reads_as_zero() {
        let said = [0, 42, 4_200, 10_000, 900_000, 12_345_678].map(dollars);
        assert_eq!(said, ["$0.00", "$0.000042", "$0.0042", "$0.01", "$0.90", "$12.34"]);
    }

    #[test]
    fn one_is_not_many() {
        let said: Vec<_> = (0..3).map(|count| counted(count, "check passed", "checks passed")).collect();
        assert_eq!(said, ["0 checks passed", "1 check passed", "2 checks passed"]);
    }
}

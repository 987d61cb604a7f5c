//! Words for people that depend on a number.

/// "1 check", "3 checks".
#[must_use]
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        let said: Vec<_> = (0..3).map(|count| counted(count, "check passed", "checks passed")).collect();
        assert_eq!(said, ["0 checks passed", "1 check passed", "2 checks passed"]);
    }
}

//! Words for a shell.

/// A word as a POSIX shell reads it back, whatever is in it.
#[must_use]
pub fn quote(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"%+,-./:=@_".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_reads_back_what_was_quoted() {
        for (word, quoted) in [
            ("plain-1.2/x", "plain-1.2/x"),
            ("", "''"),
            ("a b", "'a b'"),
            ("$HOME `x` \"y\"", "'$HOME `x` \"y\"'"),
            ("it's", r"'it'\''s'"),
            ("~", "'~'"),
            ("a\nb", "'a\nb'"),
        ] {
            assert_eq!(quote(word), quoted);
        }
    }
}

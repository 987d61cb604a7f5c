//! Files of settings, read as git reads them.

/// The settings in a file, in its order; sections and names in lower case. `None` for what git would refuse.
pub(crate) fn parse(content: &[u8]) -> Option<Vec<(String, String)>> {
    let text = std::str::from_utf8(content).ok()?.replace("\r\n", "\n");
    let mut chars = text.trim_start_matches('\u{feff}').chars().peekable();
    let (mut section, mut said) = (String::new(), Vec::new());
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => {}
            '#' | ';' => while chars.next_if(|c| *c != '\n').is_some() {},
            '[' => {
                section.clear();
                loop {
                    match chars.next()? {
                        ']' => break,
                        '"' => loop {
                            match chars.next()? {
                                '"' => break,
                                '\\' => section.push(chars.next()?),
                                '\n' => return None,
                                other => section.push(other),
                            }
                        },
                        c if c.is_whitespace() && c != '\n' => section.push('.'),
                        c if c.is_alphanumeric() || matches!(c, '-' | '.') => {
                            section.push(c.to_ascii_lowercase());
                        }
                        _ => return None,
                    }
                }
            }
            c if c.is_ascii_alphabetic() => {
                let mut name = String::from(c.to_ascii_lowercase());
                while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '-') {
                    name.push(c.to_ascii_lowercase());
                }
                while chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
                let value = match chars.peek() {
                    Some('=') => {
                        chars.next();
                        parse_value(&mut chars)?
                    }
                    // A name without a value means yes.
                    None | Some('\n' | '#' | ';') => "true".to_owned(),
                    Some(_) => return None,
                };
                said.push((format!("{section}.{name}"), value));
            }
            _ => return None,
        }
    }
    Some(said)
}

fn parse_value(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    let (mut value, mut kept, mut quoted) = (String::new(), 0, false);
    loop {
        match chars.next() {
            None | Some('\n') => break,
            Some('#' | ';') if !quoted => {
                while chars.next_if(|c| *c != '\n').is_some() {}
                break;
            }
            Some('"') => {
                quoted = !quoted;
                kept = value.len();
            }
            Some('\\') => {
                match chars.next()? {
                    '\n' => {}
                    'n' => value.push('\n'),
                    't' => value.push('\t'),
                    'b' => value.push('\u{8}'),
                    c @ ('\\' | '"') => value.push(c),
                    _ => return None,
                }
                kept = value.len();
            }
            Some(c) if c.is_whitespace() && !quoted => {
                if !value.is_empty() {
                    value.push(c);
                }
            }
            Some(c) => {
                value.push(c);
                kept = value.len();
            }
        }
    }
    value.truncate(kept);
    (!quoted).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Option<Vec<String>> {
        Some(parse(text.as_bytes())?.into_iter().map(|(key, value)| format!("{key}={value}")).collect())
    }

    #[test]
    fn settings_are_read_as_git_reads_them() {
        let text = "# x\n[core]\n\tBare = false ; why\n[Filter \"A b\"] clean = \"a # b\" c \\\n  d\n\tset\n[old.Sub]\nx=1\n";
        let read = settings(text).unwrap();
        assert_eq!(
            read,
            ["core.bare=false", "filter.A b.clean=a # b c   d", "filter.A b.set=true", "old.sub.x=1"]
        );
        assert_eq!(settings("[a \"q\\\"\\\\\"]\nv = \\\"x\\\"\n").unwrap(), ["a.q\"\\.v=\"x\""]);
        for broken in ["[core\n", "[core]\nx = \"a\n", "[core]\nx y\n", "[core]\nx = \\q\n", "= 1"] {
            assert_eq!(settings(broken), None, "{broken:?}");
        }
    }
}

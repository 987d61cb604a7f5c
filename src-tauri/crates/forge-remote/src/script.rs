//! What the shell there is told, by its input, and what it answers.

use forge_machines::quote;
use serde_json::Value;

use crate::fault::VERSION;

/// Begins each line that is meant for here. Profiles print, too.
const MARK: &str = "forge-remote: ";

/// Finds Forge by the path of the user's login, and has it find or start the engine. A program of another version is not
/// started.
pub(crate) fn find(program: &str) -> String {
    let program = quote(program);
    let version = quote(&format!("forge {VERSION}"));
    format!(
        r#"{{
say() {{ printf '{MARK}%s %s\n' "$1" "$2"; }}
limit() {{ if command -v timeout >/dev/null 2>&1; then timeout 10 "$@"; else "$@"; fi; }}
p=$(limit "${{SHELL:-/bin/sh}}" -lc 'printf "\nforge-path:%s\n" "$PATH"' </dev/null 2>/dev/null | sed -n 's/^forge-path://p' | tail -n 1)
PATH=${{p:-$PATH}}
export PATH
f=$(command -v -- {program}) || {{ say missing; exit 3; }}
v=$("$f" --version </dev/null 2>/dev/null | head -n 1)
[ "$v" = {version} ] || {{ say version "$v"; exit 3; }}
if e=$("$f" serve --background </dev/null 2>&1); then say engine "$(printf '%s\n' "$e" | tail -n 1)"
else say refused "$(printf '%s\n' "$e" | grep -v '^hint: ' | tail -n 1)"; exit 3
fi
}}
"#
    )
}

/// Prints the token, which is in a file there.
pub(crate) fn read_token(file: &str) -> String {
    format!("{{ printf '{MARK}token %s\\n' \"$(cat {} 2>/dev/null)\"; }}\n", quote(file))
}

/// What the shell there says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ShellAnswer {
    /// There is no such program.
    Missing,
    /// It is of this version.
    Version(String),
    /// The engine does not start.
    Refused(String),
    /// The engine serves: what `forge serve` prints.
    Engine(Value),
    /// Its token; empty where it cannot be read.
    Token(String),
}

impl ShellAnswer {
    /// Reads a line; none is for others.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let (_, said) = line.trim_end().split_once(MARK)?;
        let (word, rest) = said.split_once(' ').unwrap_or((said, ""));
        let rest = rest.trim();
        Some(match word {
            "missing" => Self::Missing,
            "version" => Self::Version(rest.strip_prefix("forge ").unwrap_or(rest).to_owned()),
            "refused" => {
                let message = rest.split_once(": ").map_or(rest, |(_, message)| message);
                Self::Refused(message.trim_end_matches('.').to_owned())
            }
            "engine" => match serde_json::from_str(rest) {
                Ok(line) => Self::Engine(line),
                Err(_) => Self::Refused(format!("it said `{rest}`")),
            },
            "token" => Self::Token(rest.to_owned()),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_shell_says_is_read_among_what_profiles_print() {
        for (line, said) in [
            ("Welcome!\n", None),
            ("forge-remote: missing \n", Some(ShellAnswer::Missing)),
            ("forge-remote: version forge 0.0.9\n", Some(ShellAnswer::Version("0.0.9".to_owned()))),
            ("forge-remote: version \n", Some(ShellAnswer::Version(String::new()))),
            (
                "forge-remote: refused start_failed: Could not start: the disk is full.\n",
                Some(ShellAnswer::Refused("Could not start: the disk is full".to_owned())),
            ),
            ("forge-remote: engine {\"pid\":1}\r\n", Some(ShellAnswer::Engine(json!({ "pid": 1 })))),
            ("forge-remote: engine what\n", Some(ShellAnswer::Refused("it said `what`".to_owned()))),
            ("\u{1b}[0mforge-remote: token abc\n", Some(ShellAnswer::Token("abc".to_owned()))),
        ] {
            assert_eq!(ShellAnswer::read(line), said, "{line:?}");
        }
    }

    #[test]
    fn names_are_quoted() {
        assert!(find("/opt/my forge").contains("command -v -- '/opt/my forge'"));
        assert!(read_token("/home/it's/token").contains(r"'/home/it'\''s/token'"));
    }
}

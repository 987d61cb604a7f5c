//! Waiting for a line of a program's output, in bounded memory.

use regex::bytes::Regex;

/// The longest line that is looked at; what is longer is looked at in parts.
const LONGEST_LINE: usize = 16 * 1024;

/// Looks in output for a line that matches a pattern. Colours and other control sequences of terminals are left out.
#[derive(Debug)]
pub struct PatternWatch {
    pattern: Regex,
    line: Vec<u8>,
    escape: Escape,
}

/// Where in a control sequence of a terminal the output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    None,
    Begun,
    Sequence,
    Title,
}

impl PatternWatch {
    /// Waits for a line that matches; none when the pattern is no regular expression.
    #[must_use]
    pub fn new(pattern: &str) -> Option<Self> {
        let pattern = Regex::new(pattern).ok()?;
        Some(Self { pattern, line: Vec::new(), escape: Escape::None })
    }

    /// Takes output as it comes, also in the middle of a line. Whether a line matches now: a prompt without an end of
    /// line counts as soon as it matches.
    pub fn push(&mut self, output: &[u8]) -> bool {
        for byte in output {
            if self.is_hidden(*byte) {
                continue;
            }
            if matches!(byte, b'\n' | b'\r') || self.line.len() >= LONGEST_LINE {
                if self.pattern.is_match(&self.line) {
                    return true;
                }
                self.line.clear();
            }
            if !matches!(byte, b'\n' | b'\r') {
                self.line.push(*byte);
            }
        }
        !self.line.is_empty() && self.pattern.is_match(&self.line)
    }

    /// Whether a byte belongs to a control sequence.
    const fn is_hidden(&mut self, byte: u8) -> bool {
        let (next, is_hidden) = match (self.escape, byte) {
            (_, 0x1b) => (Escape::Begun, true),
            (Escape::Begun, b'[') => (Escape::Sequence, true),
            (Escape::Begun, b']') => (Escape::Title, true),
            (Escape::Sequence, 0x40..=0x7e) | (Escape::Title, 0x07) | (Escape::Begun, _) => {
                (Escape::None, true)
            }
            (Escape::Sequence | Escape::Title, b'\n') | (Escape::None, _) => (Escape::None, false),
            (other @ (Escape::Sequence | Escape::Title), _) => (other, true),
        };
        self.escape = next;
        is_hidden
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, output: &[&str]) -> Vec<bool> {
        let mut watch = PatternWatch::new(pattern).unwrap();
        output.iter().map(|part| watch.push(part.as_bytes())).collect()
    }

    #[test]
    fn line_is_found_wherever_the_output_is_cut() {
        assert_eq!(found("ready in", &["compiling\nre", "ady in 3 ms\n"]), [false, true]);
        assert_eq!(found("^ready$", &["not ready\n", "ready\n"]), [false, true]);
        assert_eq!(found("> $", &["mysql> "]), [true], "a prompt has no end of line");
        assert_eq!(found("a.*b", &["a\nb\n"]), [false], "two lines");
    }

    #[test]
    fn colours_and_titles_are_left_out() {
        let coloured =
            "\u{1b}]0;vite\u{7}\u{1b}[32m  \u{1b}[1mVITE\u{1b}[22m v5\u{1b}[39m  ready in 1 ms\r\n";
        assert_eq!(found("VITE v5  ready", &[coloured]), [true]);
    }

    #[test]
    fn endless_line_takes_bounded_memory() {
        let mut watch = PatternWatch::new("never").unwrap();
        for _ in 0..100 {
            assert!(!watch.push(&[b'x'; 4096]));
        }
        assert!(watch.line.len() <= LONGEST_LINE);
        assert!(PatternWatch::new("(").is_none());
    }
}

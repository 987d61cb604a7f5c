//! How deep a text could nest, by one pass over its bytes, before a parser descends into it.
//!
//! The pass knows no language: it counts what could make a parser of any of them go deeper (brackets, chains of
//! operators and words, elements of markup) and resets where all of them end. Brackets in strings count, too,
//! so the limits are far above what people and generators write.

/// Brackets within brackets.
const MAX_BRACKETS: usize = 1_000;
/// Words and operators that may each hold the next one, as in `a + b + c` or `else if`.
const MAX_CHAIN: usize = 20_000;
/// Elements of markup within elements, or type arguments within type arguments.
const MAX_ELEMENTS: usize = 3_000;

/// Words after which a line goes on.
const OPEN_WORDS: [&[u8]; 22] = [
    b"else", b"do", b"await", b"typeof", b"void", b"delete", b"new", b"not", b"in", b"of", b"return", b"and",
    b"or", b"lambda", b"async", b"yield", b"extends", b"try", b"is", b"mut", b"dyn", b"move",
];
/// Words that go on with what stood before them.
const BINDING_WORDS: [&[u8]; 9] =
    [b"else", b"catch", b"finally", b"while", b"instanceof", b"in", b"as", b"satisfies", b"extends"];

/// Why a text is not parsed, if it nests too deeply; `markup` says whether its language has elements.
pub(crate) fn refusal(text: &[u8], markup: bool) -> Option<String> {
    let mut scan =
        Scan { text, at: 0, chains: Vec::new(), chain: 0, sum: 0, elements: 0, angles: 0, last: Last::Other };
    while scan.at < text.len() {
        scan.step();
        if scan.chains.len() > MAX_BRACKETS {
            return Some(format!("its brackets nest deeper than {MAX_BRACKETS}"));
        }
        if scan.sum > MAX_CHAIN {
            return Some(format!("one expression or statement has more than {MAX_CHAIN} tokens"));
        }
        if (markup && scan.elements > MAX_ELEMENTS) || scan.angles > MAX_ELEMENTS {
            return Some(format!("its angle brackets nest deeper than {MAX_ELEMENTS}"));
        }
    }
    None
}

/// What stood last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// After it a line may end.
    Other,
    /// After it a line goes on.
    Open,
    /// An element is closed; the next one may stand beside it.
    Element,
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    /// Length of the chain in each bracket around.
    chains: Vec<usize>,
    /// Length of the chain here.
    chain: usize,
    /// Of all of them.
    sum: usize,
    elements: usize,
    /// `<` that no `>` has closed since the last statement began.
    angles: usize,
    last: Last,
}

impl Scan<'_> {
    fn step(&mut self) {
        let byte = self.text[self.at];
        match byte {
            b'(' | b'[' | b'{' => {
                self.chains.push(self.chain);
                if byte == b'{' {
                    self.angles = 0;
                }
                self.chain = 0;
                self.last = Last::Open;
            }
            b')' | b']' | b'}' => {
                self.reset();
                if let Some(chain) = self.chains.pop() {
                    self.chain = chain;
                }
                self.link();
                self.last = if byte == b')' { Last::Open } else { Last::Other };
            }
            b',' | b';' => {
                self.reset();
                if byte == b';' {
                    self.angles = 0;
                }
                self.last = Last::Open;
            }
            b'\n' => self.line_end(),
            b' ' | b'\t' | b'\r' => {}
            b'<' => self.angle(),
            b'>' if !self.at.checked_sub(1).is_some_and(|at| matches!(self.text[at], b'=' | b'-')) => {
                self.angles = self.angles.saturating_sub(1);
                self.link();
                self.last = Last::Open;
            }
            b'/' if self.peek(1) == Some(b'>') => {
                self.elements = self.elements.saturating_sub(1);
                self.angles = self.angles.saturating_sub(1);
                self.link();
                self.last = Last::Element;
                self.at += 1;
            }
            byte if is_word(byte) => return self.word(),
            byte => {
                self.link();
                self.last = if matches!(byte, b'"' | b'\'' | b'`') { Last::Other } else { Last::Open };
            }
        }
        self.at += 1;
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn link(&mut self) {
        self.chain += 1;
        self.sum += 1;
    }

    fn reset(&mut self) {
        self.sum -= self.chain;
        self.chain = 0;
    }

    fn angle(&mut self) {
        if !self.peek(1).is_some_and(|next| matches!(next, b' ' | b'=' | b'<' | b'/' | b'\n')) {
            self.angles += 1;
        }
        match self.peek(1) {
            Some(b'/') => {
                self.elements = self.elements.saturating_sub(1);
                let name =
                    self.text[self.at + 2..].iter().take(256).take_while(|byte| **byte != b'>').count();
                self.link();
                self.last = Last::Element;
                self.at += 2 + name;
                return;
            }
            // `a <b` is a comparison, `<b>` behind a bracket, an operator or a line's start may be an element.
            Some(next)
                if (next.is_ascii_alphabetic() || next == b'>')
                    && !self.at.checked_sub(1).is_some_and(|before| is_word(self.text[before])) =>
            {
                self.elements += 1;
            }
            _ => {}
        }
        self.link();
        self.last = Last::Open;
    }

    fn word(&mut self) {
        let start = self.at;
        while self.peek(0).is_some_and(is_word) {
            self.at += 1;
        }
        self.link();
        let word = &self.text[start..self.at];
        self.last = if OPEN_WORDS.contains(&word) { Last::Open } else { Last::Other };
    }

    /// A line that ends nothing open, and that the next one does not go on with, ends the chain.
    fn line_end(&mut self) {
        if self.last == Last::Open {
            return;
        }
        let rest = &self.text[self.at..];
        let blank = rest.iter().take(256).take_while(|byte| byte.is_ascii_whitespace()).count();
        let next = &rest[blank..];
        let length = next.iter().take(16).take_while(|byte| is_word(**byte)).count();
        let goes_on = match next.first() {
            None => false,
            Some(byte) if is_word(*byte) => BINDING_WORDS.contains(&&next[..length]),
            // A line of its own may begin with these, too; then its end resets.
            Some(b'<') if self.last == Last::Element => false,
            Some(byte) => !matches!(byte, b'}' | b'"' | b'\'' | b'#' | b'@' | b'/'),
        };
        if !goes_on {
            self.reset();
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::refusal;

    #[test]
    fn what_nests_too_deeply_is_refused() {
        let deep = [
            "[",
            "(",
            "{",
            "f(",
            "!",
            "- ",
            "a+",
            "a+\n",
            "a\n+",
            "if(a)",
            "if(a)\n",
            "else if (a) {} ",
            "a?a:",
            "a=>",
            "typeof ",
            "not ",
            "<a>",
            "<a>, ",
            "<a>\n",
            "a.",
            "()",
            "[0]",
            "&mut\n",
            "A<b,",
            "a`b`",
            "x: ",
        ];
        for part in deep {
            assert!(refusal(part.repeat(100_000).as_bytes(), true).is_some(), "{part:?}");
        }
    }

    #[test]
    fn what_is_only_long_is_not() {
        let long = [
            "a, ",
            "a;",
            "f(a);\n",
            "f(a)\n",
            "{ a: 1 },\n",
            "// a comment's words\n",
            "x = 1\n",
            "'aaaa',",
            "fn f() { g() }\n",
            "<a/>\n",
            "<a>b</a>\n",
            "let x: Vec<a> = b;\n",
            "if (a) { b() }\n",
            "  <li>x, y</li>\n",
            "elif a:\n  b\n",
            "[1, 2], ",
            "A<B<c>>,",
            "a < b, ",
            "for(i=0;i<n;i++){}\n",
            "a <= b, ",
            "a => b, ",
        ];
        for part in long {
            assert_eq!(refusal(part.repeat(9_000).as_bytes(), true), None, "{part:?}");
        }
    }
}

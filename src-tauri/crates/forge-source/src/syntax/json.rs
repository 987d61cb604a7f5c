//! JSON by its standard, without recursion; with comments and trailing commas where a file's tools take them.

use super::verdict::SyntaxError;
use crate::files;

/// Whether the tools that read files of this name allow comments in them.
pub(super) fn comments_allowed(path: &str) -> bool {
    let name = files::name(path).to_ascii_lowercase();
    let folder = files::name(files::parent(path));
    name.ends_with(".jsonc")
        || matches!(folder, ".vscode" | ".devcontainer")
        || name.starts_with("tsconfig")
        || name.starts_with("jsconfig")
        || matches!(
            name.as_str(),
            ".eslintrc.json"
                | ".oxlintrc.json"
                | ".swcrc.json"
                | ".jshintrc.json"
                | "deno.json"
                | "devcontainer.json"
                | "api-extractor.json"
                | "typedoc.json"
                | "turbo.json"
                | "biome.json"
                | ".babelrc.json"
                | "language-configuration.json"
        )
}

/// The first error, if the text is not one JSON value.
pub(super) fn check(text: &str, comments: bool) -> Option<SyntaxError> {
    let mut reader = Reader { text: text.as_bytes(), at: 0, comments };
    reader.document().err().map(|message| SyntaxError::at(text, reader.at, message))
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    comments: bool,
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Value,
    /// A value, or the end of the array that just began.
    FirstValue,
    Key,
    /// A key, or the end of the object that just began.
    FirstKey,
    /// A comma or an end.
    After,
}

type Step<T> = Result<T, String>;

impl Reader<'_> {
    fn document(&mut self) -> Step<()> {
        // What is open around, `[` or `{`.
        let mut open: Vec<u8> = Vec::new();
        let mut next = Next::Value;
        loop {
            self.blank()?;
            if next == Next::After && open.is_empty() {
                return if self.at == self.text.len() {
                    Ok(())
                } else {
                    Err("text after the value".to_owned())
                };
            }
            let Some(byte) = self.peek() else { return Err("the text ends within a value".to_owned()) };
            next = match (next, byte) {
                (Next::FirstValue | Next::After, b']') if open.last() == Some(&b'[') => self.close(&mut open),
                (Next::FirstKey | Next::After, b'}') if open.last() == Some(&b'{') => self.close(&mut open),
                (Next::After, b',') => {
                    self.at += 1;
                    match (open.last() == Some(&b'['), self.comments) {
                        (true, false) => Next::Value,
                        (true, true) => Next::FirstValue,
                        (false, false) => Next::Key,
                        (false, true) => Next::FirstKey,
                    }
                }
                (Next::After, _) => return Err(self.expected("a comma or the end")),
                (Next::Key | Next::FirstKey, b'"') => {
                    self.string()?;
                    self.blank()?;
                    self.take(b':')?;
                    Next::Value
                }
                (Next::Key | Next::FirstKey, _) => return Err(self.expected("a key in double quotes")),
                (Next::Value | Next::FirstValue, b'[' | b'{') => {
                    open.push(byte);
                    self.at += 1;
                    if byte == b'[' { Next::FirstValue } else { Next::FirstKey }
                }
                (Next::Value | Next::FirstValue, _) => {
                    self.scalar(byte)?;
                    Next::After
                }
            };
        }
    }

    fn close(&mut self, open: &mut Vec<u8>) -> Next {
        open.pop();
        self.at += 1;
        Next::After
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn expected(&self, what: &str) -> String {
        match self.peek() {
            None => format!("expected {what}, but the text ends"),
            Some(byte) if byte.is_ascii_graphic() => format!("expected {what}, not {:?}", char::from(byte)),
            Some(_) => format!("expected {what}"),
        }
    }

    fn take(&mut self, byte: u8) -> Step<()> {
        if self.peek() != Some(byte) {
            return Err(self.expected(&format!("{:?}", char::from(byte))));
        }
        self.at += 1;
        Ok(())
    }

    fn blank(&mut self) -> Step<()> {
        loop {
            while self.peek().is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) {
                self.at += 1;
            }
            match (self.comments, self.peek(), self.text.get(self.at + 1)) {
                (true, Some(b'/'), Some(b'/')) => {
                    while self.peek().is_some_and(|byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                (true, Some(b'/'), Some(b'*')) => {
                    let rest = &self.text[self.at + 2..];
                    let Some(end) = rest.windows(2).position(|pair| pair == b"*/") else {
                        return Err("the comment has no end".to_owned());
                    };
                    self.at += end + 4;
                }
                _ => return Ok(()),
            }
        }
    }

    fn scalar(&mut self, first: u8) -> Step<()> {
        match first {
            b'"' => self.string(),
            b'-' | b'0'..=b'9' => self.number(),
            _ => {
                for word in [&b"true"[..], b"false", b"null"] {
                    let rest = &self.text[self.at..];
                    if rest.starts_with(word) && !rest.get(word.len()).is_some_and(u8::is_ascii_alphanumeric)
                    {
                        self.at += word.len();
                        return Ok(());
                    }
                }
                Err(self.expected("a value"))
            }
        }
    }

    fn string(&mut self) -> Step<()> {
        self.take(b'"')?;
        loop {
            match self.peek() {
                None => return Err("the string has no end".to_owned()),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(0..=0x1f) => return Err("a control character in a string".to_owned()),
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Step<()> {
        match self.text.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let digits = self.text.get(self.at + 2..self.at + 6);
                if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                    return Err("an escape without four hexadecimal digits".to_owned());
                }
                self.at += 6;
            }
            _ => return Err("an unknown escape in a string".to_owned()),
        }
        Ok(())
    }

    fn digits(&mut self) -> Step<()> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.expected("a digit"));
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Step<()> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }
}

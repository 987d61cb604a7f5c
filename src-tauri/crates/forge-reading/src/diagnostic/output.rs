//! What a tool printed, and the complaints that are read from it.

use std::fmt;

/// The longest message that is kept, in characters.
pub(super) const MAX_MESSAGE: usize = 200;

/// Whose words they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    /// The Rust compiler, clippy, rustfmt, and panics of Rust tests.
    Rustc,
    /// The TypeScript compiler.
    Tsc,
    /// ESLint.
    Eslint,
    /// pytest, and tracebacks of Python.
    Pytest,
    /// The Go compiler, vet and tests.
    Go,
    /// Node, when an error that nobody caught ends a program.
    Node,
    /// Anything that says `file:line`.
    Generic,
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rustc => "rustc",
            Self::Tsc => "tsc",
            Self::Eslint => "eslint",
            Self::Pytest => "pytest",
            Self::Go => "go",
            Self::Node => "node",
            Self::Generic => "generic",
        })
    }
}

/// One complaint.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Diagnostic {
    /// Whose.
    pub tool: Tool,
    /// The file, relative to the worktree as far as the tool said it; Go's tests say only the file's name.
    pub path: String,
    /// The line, from 1; null when it is about the file.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
    /// What.
    pub message: String,
}

/// A place in a file with what follows it on its line.
pub(crate) struct Place<'t> {
    pub(crate) path: &'t str,
    pub(super) line: Option<u32>,
    pub(super) column: Option<u32>,
    pub(crate) rest: &'t str,
}

/// What a command printed, without colours.
pub(super) struct Output<'t> {
    pub(super) lines: Vec<&'t str>,
    worktree: &'t str,
}

impl<'t> Output<'t> {
    pub(super) fn new(plain: &'t str, worktree: &'t str) -> Self {
        Self { lines: plain.lines().collect(), worktree: worktree.trim_end_matches('/') }
    }

    pub(super) fn found(&self, tool: Tool, place: &Place<'_>, message: &str) -> Option<Diagnostic> {
        Some(Diagnostic {
            tool,
            path: self.inside(place.path)?,
            line: place.line,
            column: place.column,
            message: message.trim().chars().take(MAX_MESSAGE).collect(),
        })
    }

    /// A path as seen from the worktree; none when it leads elsewhere.
    fn inside(&self, path: &str) -> Option<String> {
        let path = match path.strip_prefix('/') {
            None => path,
            Some(_) => path.strip_prefix(self.worktree)?.strip_prefix('/')?,
        };
        let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let leads_out = parts.iter().any(|part| *part == ".." || part.starts_with('<'));
        (!leads_out && !parts.is_empty() && !path.ends_with('/')).then(|| parts.join("/"))
    }
}

/// `KeyError: 'price'`, `TypeError [CODE]: no`, at the start of a line.
pub(crate) fn is_exception(line: &str) -> bool {
    let name = line.split(':').next().unwrap_or_default();
    let name = match name.strip_suffix(']').and_then(|coded| coded.split_once(" [")) {
        Some((name, _)) => name,
        None => name,
    };
    let named = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
    named && (line.contains(": ") || name.ends_with("Error") || name.ends_with("Exception"))
}

/// `path:line[:column][:] rest` at the start of a text.
pub(crate) fn place(text: &str) -> Option<Place<'_>> {
    let mut from = 0;
    loop {
        let colon = from + text.get(from..)?.find(':')?;
        let (line, rest) = number(&text[colon + 1..]);
        let (Some(line), true) = (line, colon > 0) else {
            from = colon + 1;
            continue;
        };
        let (column, rest) = match rest.strip_prefix(':').map(number) {
            Some((Some(column), rest)) => (Some(column), rest),
            _ => (None, rest),
        };
        // `12:30h` is no line.
        if !(rest.is_empty() || rest.starts_with([':', ' '])) {
            return None;
        }
        let rest = rest.strip_prefix(':').unwrap_or(rest).trim_start();
        return Some(Place { path: &text[..colon], line: Some(line), column, rest });
    }
}

fn number(text: &str) -> (Option<u32>, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (text[..end].parse().ok(), &text[end..])
}

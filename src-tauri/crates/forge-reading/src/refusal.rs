//! Writes that a program was refused, read from what it printed.
//!
//! The kernel tells nobody what it refuses a confined program; the program does, in the words of its language. A line
//! counts when it ends in those words, or when they stand with an absolute path; what an agent says about permissions,
//! and what servers refuse (`Permission denied (publickey)`), does not. A refused read has the same words, and counts.
//! Logs of agents are lines of JSON, so an escaped line break ends a line, too. A line longer than [`WINDOW`] is read
//! piece by piece, each with the end of the one before it.

mod words;

/// The most of a line that is in memory, in bytes.
const WINDOW: usize = 8 * 1024;
/// How much of a long line is kept when more of it comes: the longest path, and words around it.
const KEPT: usize = 5 * 1024;
/// How much must follow the words of a refusal, in a line that goes on, before it is decided what they mean.
const AFTER: usize = 1024;
/// How many paths are kept.
const MAX_PATHS: usize = 20;

/// What a program was refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refusals {
    /// Lines that say so.
    pub count: u32,
    /// The paths that they name, each once, the first 20. Only those that are absolute or begin with `~`.
    pub paths: Vec<String>,
}

/// Reads refusals from output, which may be split anywhere.
#[derive(Debug, Default)]
pub struct RefusalReader {
    /// The line that has not ended yet, or its end.
    line: Vec<u8>,
    /// From where on nothing was decided yet.
    from: usize,
    /// Whether the line counts already.
    is_counted: bool,
    /// The paths of the lines that are one line of JSON. Logs tell the same output in several fields.
    told: Vec<String>,
    found: Refusals,
}

impl RefusalReader {
    /// One that has read nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' => {
                    self.end_line();
                    self.told.clear();
                }
                b'n' if self.line.last() == Some(&b'\\') => {
                    let escapes = self.line.iter().rev().take_while(|byte| **byte == b'\\').count();
                    self.line.truncate(self.line.len() - escapes);
                    self.end_line();
                }
                _ => {
                    self.line.push(*byte);
                    if self.line.len() == WINDOW {
                        self.read(WINDOW - AFTER);
                        self.line.drain(..WINDOW - KEPT);
                        self.from = KEPT - AFTER;
                    }
                }
            }
        }
    }

    /// What was refused, now that the output is over.
    #[must_use]
    pub fn finish(mut self) -> Refusals {
        self.end_line();
        self.found
    }

    fn end_line(&mut self) {
        self.read(usize::MAX);
        self.line.clear();
        self.from = 0;
        self.is_counted = false;
    }

    /// Looks for the words of a refusal that begin before `to`.
    fn read(&mut self, to: usize) {
        if self.is_counted {
            return;
        }
        let Some(refusal) = words::first_refusal(&self.line, self.from, to) else { return };
        self.is_counted = true;
        if let Some(path) = refusal.path {
            if self.told.contains(&path) {
                return;
            }
            if self.told.len() < MAX_PATHS {
                self.told.push(path.clone());
            }
            if self.found.paths.len() < MAX_PATHS && !self.found.paths.contains(&path) {
                self.found.paths.push(path);
            }
        }
        self.found.count = self.found.count.saturating_add(1);
    }
}

#[cfg(test)]
mod tests;

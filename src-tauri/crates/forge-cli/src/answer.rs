//! An answer of a command, and how lines are written.

use std::io::{BufRead as _, Write as _};

use serde_json::Value;

use crate::error::CliError;

/// An answer of a command.
pub(crate) struct Answer {
    /// For programs.
    pub(crate) json: Value,
    /// For people, without the last line break.
    pub(crate) text: String,
    /// Whether what was asked about is as it should be.
    pub(crate) good: bool,
}

impl Answer {
    pub(crate) const fn new(json: Value, text: String) -> Self {
        Self { json, text, good: true }
    }
}

/// Writes a line to standard output; false when nobody reads it. That it cannot be written for another reason, such as a full
/// disk, is told.
pub(crate) fn put(text: &str) -> bool {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Ok(()) => true,
        Err(error) => {
            if error.kind() != std::io::ErrorKind::BrokenPipe {
                say(&format!(
                    "io: Could not write the answer: {error}\nhint: Make sure that the output can be written."
                ));
            }
            false
        }
    }
}

/// Writes a line to standard error. There is nobody left to tell when this fails.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Asks before something is done, unless the command line says that it is wanted.
pub(crate) fn confirm(question: &str, doing: &str, is_told: bool) -> Result<(), CliError> {
    if is_told {
        return Ok(());
    }
    say(&format!("{question} [y/N]"));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(CliError::io("read the answer"))?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(CliError::Conflict {
            message: format!("Could not {doing}: not confirmed."),
            hint: "Answer `y`, or add --yes in scripts.",
        }),
    }
}

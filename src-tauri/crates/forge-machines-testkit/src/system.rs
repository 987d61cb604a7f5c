//! Programs of the system that make namespaces and keys.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// Runs a line of words. What it printed, when it did what it should.
pub(crate) fn system(line: &str) -> Result<String> {
    let mut words = line.split_whitespace();
    let program = words.next().context("nothing to run")?;
    let done = Command::new(program).args(words).output().with_context(|| program.to_owned())?;
    ensure!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr).trim());
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

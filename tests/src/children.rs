//! Programs that die with the test, even when the test is killed.

use std::{ffi::OsStr, path::Path, process::Stdio};

use anyhow::{Context as _, Result};
use tokio::process::{Child, Command};

/// A program whose end is tied to the thread that starts it. Its output goes to `log`, which stays readable
/// when the test fails.
pub fn program(name: impl AsRef<OsStr>) -> Command {
    // The kernel sends the signal when the thread that started the program ends, so a test must start its
    // programs on its own thread: a current-thread runtime, which `#[tokio::test]` is.
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(name).stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// Starts a program with its error output in a file.
///
/// # Errors
/// When the file cannot be created or the program cannot be started.
pub fn start(command: &mut Command, log: &Path) -> Result<Child> {
    let file = std::fs::File::create(log).with_context(|| format!("failed to make {}", log.display()))?;
    let name = command.as_std().get_args().nth(3).unwrap_or_default().to_os_string();
    command.stderr(file).spawn().with_context(|| format!("failed to start {}", name.display()))
}

//! The workspace's own programs, as the test build left them.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

/// The path of a program of this workspace.
///
/// # Errors
/// When it has not been built: `cargo build --workspace` builds all of them.
pub fn program(name: &str) -> Result<PathBuf> {
    let mut folder = std::env::current_exe().context("this test has no path")?;
    folder.pop();
    if folder.ends_with("deps") {
        folder.pop();
    }
    let path = folder.join(name);
    ensure!(path.is_file(), "{} is not built: run `cargo build --workspace`", path.display());
    Ok(path)
}

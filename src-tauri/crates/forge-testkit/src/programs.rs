//! The workspace's own programs, as the test build left them.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use forge_keeper::{Keeper, Place};

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

/// The keeper's program, which an engine runs beside its own.
///
/// # Errors
/// When it is not built.
pub fn keeper_program() -> Result<Place> {
    Ok(Place::Program(program("forge-keeper")?))
}

/// A keeper below `folder`, as an engine has it. What it runs ends with whoever asked for it.
///
/// # Errors
/// When its program is not built.
pub fn keeper(folder: &Path) -> Result<Keeper> {
    Ok(Keeper::new(folder.join("keeper"), keeper_program()?, 1, Duration::ZERO))
}

//! The UI's packages and its bundle: made when they are absent or older than what they are made from.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use anyhow::{Context as _, Result};

use crate::{
    program::{program, run},
    workspace::Workspace,
};

/// What the bundle is made from, within `ui/`.
const SOURCES: &[&str] =
    &["src", "index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"];

/// Installs exactly what the lock file says, unless that is what is there.
pub fn install(workspace: &Workspace) -> Result<()> {
    install_packages(&workspace.ui())
}

/// The same for any folder that has a lock file.
pub fn install_packages(folder: &Path) -> Result<()> {
    let lock = folder.join("package-lock.json");
    let lock = fs::read(&lock).with_context(|| format!("failed to read {}", lock.display()))?;
    // Inside node_modules, so that it goes when that goes.
    let stamp = folder.join("node_modules/.forge-installed-lock.json");
    if fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    npm(folder, ["ci", "--no-audit", "--no-fund"])?;
    fs::write(&stamp, lock).with_context(|| format!("failed to write {}", stamp.display()))
}

/// Makes the bundle when a source is newer than it.
pub fn build_if_stale(workspace: &Workspace) -> Result<()> {
    let ui = workspace.ui();
    let sources = SOURCES.iter().map(|name| ui.join(name)).collect();
    let stale = match modified(&ui.join("dist/index.html")) {
        Some(built) => newest(sources)? > built,
        None => true,
    };
    if stale { build(workspace) } else { Ok(()) }
}

/// Makes the bundle.
pub fn build(workspace: &Workspace) -> Result<()> {
    npm(&workspace.ui(), ["run", "build"])
}

/// Runs npm in a folder.
pub fn npm<I: AsRef<OsStr>>(folder: &Path, arguments: impl IntoIterator<Item = I>) -> Result<()> {
    run(&mut program("npm", arguments, folder))
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// When the latest of these files and folders, or of what is in them, was changed. A folder counts too:
/// that is where the removal of a file shows.
fn newest(mut pending: Vec<PathBuf>) -> Result<SystemTime> {
    let mut latest = SystemTime::UNIX_EPOCH;
    while let Some(path) = pending.pop() {
        let metadata =
            fs::metadata(&path).with_context(|| format!("failed to look at {}", path.display()))?;
        latest = latest.max(metadata.modified()?);
        if metadata.is_dir() {
            for entry in fs::read_dir(&path).with_context(|| format!("failed to list {}", path.display()))? {
                pending.push(entry?.path());
            }
        }
    }
    Ok(latest)
}

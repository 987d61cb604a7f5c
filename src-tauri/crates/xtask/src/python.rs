//! The Python programs that tests use, in an environment of their own, exactly as a lock file with hashes says.

use std::fs;

use anyhow::{Context as _, Result};

use crate::{
    program::{program, run},
    workspace::Workspace,
};

/// Installs what judges the HTTP contract, unless that is what is there.
pub fn install_api_tools(workspace: &Workspace) -> Result<()> {
    let lock = workspace.root.join("tests/api/openapi/requirements.txt");
    let wanted = fs::read(&lock).with_context(|| format!("failed to read {}", lock.display()))?;
    let folder = workspace.scratch().join("api-tools");
    // Inside the environment, so that it goes when that goes.
    let stamp = folder.join("installed-requirements.txt");
    if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let shown = folder.to_string_lossy();
    run(&mut program("python3", ["-m", "venv", "--clear", &shown], &workspace.root))?;
    let pip = folder.join("bin/pip");
    let arguments =
        ["install", "--quiet", "--disable-pip-version-check", "--require-hashes", "--requirement"];
    run(program(&pip.to_string_lossy(), arguments, &workspace.root).arg(&lock))?;
    fs::write(&stamp, wanted).with_context(|| format!("failed to write {}", stamp.display()))
}

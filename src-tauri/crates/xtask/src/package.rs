//! `cargo xtask package`: the packages of `tauri.conf.json`, with the keeper beside the window's program.

use std::{fs, path::Path};

use anyhow::{Context as _, Result, ensure};

use crate::{
    program::{answers, output, program, run as run_program},
    system::{self, Purpose},
    ui,
    workspace::Workspace,
};

/// What a package must hold: without the keeper beside the program, agents end with the window.
const HELD: [&str; 2] = ["usr/bin/forge-desktop", "usr/bin/forge-keeper"];

/// Builds the packages. The bundler builds the page and, by `cargo xtask keeper`, the keeper.
pub fn run(workspace: &Workspace) -> Result<()> {
    system::prepare(Purpose::Package)?;
    ui::install(workspace)?;
    let tauri = workspace.ui().join("node_modules/.bin/tauri");
    let bundles = workspace.released("bundle");
    run_program(&mut program(&tauri.to_string_lossy(), ["build"], &workspace.root))?;
    check(&newest(&bundles.join("deb"))?, &workspace.root)?;
    eprintln!("packages are in {}", bundles.display());
    Ok(())
}

/// The package that was made last.
fn newest(folder: &Path) -> Result<String> {
    let entries = fs::read_dir(folder).with_context(|| format!("failed to list {}", folder.display()))?;
    let mut packages = Vec::new();
    for entry in entries {
        let entry = entry?;
        let path = entry.path().to_string_lossy().into_owned();
        if path.ends_with(".deb") {
            packages.push((entry.metadata()?.modified()?, path));
        }
    }
    let newest =
        packages.into_iter().max().with_context(|| format!("{} has no package", folder.display()))?;
    Ok(newest.1)
}

/// Refuses a package that lacks a program, or whose program cannot be run.
fn check(package: &str, root: &Path) -> Result<()> {
    if !answers("dpkg-deb", &["--version"]) {
        eprintln!("dpkg-deb is missing: what {package} holds is not checked");
        return Ok(());
    }
    let list = output(&mut program("dpkg-deb", ["--contents", package], root))?;
    for held in HELD {
        ensure!(holds(&list, held), "{package} does not hold the program {held}");
    }
    Ok(())
}

/// Whether a program is in a list of a package's files.
fn holds(list: &str, program: &str) -> bool {
    let is_it = |line: &str| {
        let path = line.split_whitespace().next_back().unwrap_or_default();
        line.starts_with("-rwxr-xr-x") && path.trim_start_matches("./") == program
    };
    list.lines().any(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_must_be_in_the_list_and_be_one_that_can_be_run() {
        let line = |mode: &str, path: &str| format!("{mode} 0/0   2143872 2026-11-26 20:10 {path}\n");
        let keeper = "usr/bin/forge-keeper";
        assert!(holds(&(line("drwxr-xr-x", "usr/bin") + &line("-rwxr-xr-x", keeper)), keeper));
        assert!(holds(&line("-rwxr-xr-x", "./usr/bin/forge-keeper"), keeper));
        assert!(!holds(&line("-rw-r--r--", keeper), keeper));
        assert!(!holds(&line("-rwxr-xr-x", "usr/share/forge-keeper"), keeper));
    }
}

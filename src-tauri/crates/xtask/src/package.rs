//! `cargo xtask package`: the packages of `tauri.conf.json` and an archive of the command line alone.

use std::{
    env::consts::ARCH,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};

use crate::{
    contents::put_together,
    program::{answers, output, program, run as run_program},
    system::{self, Purpose},
    ui,
    workspace::Workspace,
};

/// The programs that a package must hold: without the keeper beside them, agents end with the window or the engine.
const PROGRAMS: [&str; 3] = ["usr/bin/forge-desktop", "usr/bin/forge", "usr/bin/forge-keeper"];

/// What else it must hold.
const FILES: [&str; 6] = [
    "usr/share/applications/Forge.desktop",
    "usr/share/metainfo/dev.forge.desktop.metainfo.xml",
    "usr/share/man/man1/forge-task-create.1.gz",
    "usr/share/bash-completion/completions/forge",
    "usr/share/zsh/vendor-completions/_forge",
    "usr/share/fish/vendor_completions.d/forge.fish",
];

/// No package may be larger. The aim is 30 MB: today window and command line hold the engine once each.
const MOST_BYTES: u64 = 64_000_000;

/// Builds the packages. The bundler builds the page and, by `cargo xtask contents`, what stands beside the window.
pub fn run(workspace: &Workspace) -> Result<()> {
    system::prepare(Purpose::Package)?;
    ui::install(workspace)?;
    let tauri = workspace.ui().join("node_modules/.bin/tauri");
    let bundles = workspace.released("bundle");
    if bundles.exists() {
        fs::remove_dir_all(&bundles).with_context(|| format!("failed to empty {}", bundles.display()))?;
    }
    run_program(&mut program(&tauri.to_string_lossy(), ["build"], &workspace.root))?;
    let deb = only(&bundles.join("deb"), ".deb")?;
    check(&deb, &workspace.root)?;
    let archive = archive(workspace, &bundles.join("tar"))?;
    for package in [deb, only(&bundles.join("rpm"), ".rpm")?, archive] {
        let size = fs::metadata(&package)?.len();
        ensure!(size <= MOST_BYTES, "{} has {size} bytes, more than {MOST_BYTES}", package.display());
        eprintln!("{:5.1} MB  {}", size as f64 / 1e6, package.display());
    }
    Ok(())
}

/// The deb package of the programs that `cargo build --workspace` left, for the test that installs one. Its size says
/// nothing.
pub fn of_debug(workspace: &Workspace) -> Result<()> {
    let bundles = workspace.built("bundle");
    if bundles.exists() {
        fs::remove_dir_all(&bundles).with_context(|| format!("failed to empty {}", bundles.display()))?;
    }
    let tauri = workspace.ui().join("node_modules/.bin/tauri");
    let contents = r#"{"build":{"beforeBundleCommand":{"script":"cargo xtask contents --debug target/package","cwd":"."}}}"#;
    let arguments = ["bundle", "--debug", "--bundles", "deb", "--config", contents];
    run_program(&mut program(&tauri.to_string_lossy(), arguments, &workspace.root))?;
    check(&only(&bundles.join("deb"), ".deb")?, &workspace.root)
}

/// The command line with its keepers, manual pages and completions, to be unpacked anywhere. The same bytes whenever it
/// is made of the same files.
fn archive(workspace: &Workspace, folder: &Path) -> Result<PathBuf> {
    let name = format!("forge-{}-linux-{ARCH}", workspace.version()?);
    put_together(workspace, &folder.join(&name))?;
    let archive = folder.join(format!("{name}.tar.gz"));
    let date = output(&mut program("git", ["log", "-1", "--format=%ct"], &workspace.root))?;
    let mtime = format!("--mtime=@{}", date.trim());
    let same = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu", &mtime];
    let made = ["--create", "--use-compress-program=gzip --best --no-name", "--file"];
    let mut tar = program("tar", same.iter().chain(&made), folder);
    run_program(tar.arg(&archive).arg(&name))?;
    fs::remove_dir_all(folder.join(&name))?;
    Ok(archive)
}

/// The one package of a kind in a folder.
fn only(folder: &Path, ending: &str) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| format!("failed to list {}", folder.display()))?;
    let mut packages = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(ending) {
            packages.push(path);
        }
    }
    ensure!(packages.len() == 1, "{} has {} packages", folder.display(), packages.len());
    Ok(packages.remove(0))
}

/// Refuses a package that lacks a file, or whose program cannot be run.
fn check(package: &Path, root: &Path) -> Result<()> {
    let package = package.to_string_lossy();
    if !answers("dpkg-deb", &["--version"]) {
        eprintln!("dpkg-deb is missing: what {package} holds is not checked");
        return Ok(());
    }
    let list = output(&mut program("dpkg-deb", ["--contents", &package], root))?;
    for held in PROGRAMS {
        ensure!(holds(&list, "-rwxr-xr-x", held), "{package} does not hold the program {held}");
    }
    for held in FILES {
        ensure!(holds(&list, "-rw-r--r--", held), "{package} does not hold {held}");
    }
    Ok(())
}

/// Whether a file with these permissions is in a list of a package's files.
fn holds(list: &str, permissions: &str, file: &str) -> bool {
    let is_it = |line: &str| {
        let path = line.split_whitespace().next_back().unwrap_or_default();
        line.starts_with(permissions) && path.trim_start_matches("./") == file
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
        let holds = |list: &str| holds(list, "-rwxr-xr-x", keeper);
        assert!(holds(&(line("drwxr-xr-x", "usr/bin") + &line("-rwxr-xr-x", keeper))));
        assert!(holds(&line("-rwxr-xr-x", "./usr/bin/forge-keeper")));
        assert!(!holds(&line("-rw-r--r--", keeper)));
        assert!(!holds(&line("-rwxr-xr-x", "usr/share/forge-keeper")));
    }
}

//! What packages carry beside the window: the command line with its manual pages and completions, the keepers, and what a
//! software centre shows. The bundler asks for it before it packs.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};

use crate::{
    changelog, keeper,
    program::{output, program, run},
    workspace::Workspace,
};

/// Name of the package of the command line, and of its program.
const COMMAND_LINE: (&str, &str) = ("forge-cli", "forge");

/// The folder that `tauri.conf.json` names.
const GATHERED: &str = "target/package";

/// What a software centre shows, without its releases.
const METAINFO: &str = "src-tauri/linux/dev.forge.desktop.metainfo.xml";

/// Builds all of it into a folder, which is emptied first. It has the names that `tauri.conf.json` gives to the bundler. Of
/// the debug build it takes what is there.
pub fn gather(workspace: &Workspace, folder: &Path, is_debug: bool) -> Result<()> {
    let folder = workspace.root.join(folder);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("failed to empty {}", folder.display()))?;
    }
    let forge = folder.join(COMMAND_LINE.1);
    fs::create_dir_all(folder.join("keepers"))?;
    if is_debug {
        keeper::put(&workspace.built(keeper::KEEPER), &folder.join(keeper::KEEPER))?;
        keeper::put(&workspace.built(COMMAND_LINE.1), &forge)?;
    } else {
        keeper::build(workspace, &folder)?;
        build_command_line(workspace)?;
        keeper::put(&workspace.released(COMMAND_LINE.1), &forge)?;
    }
    pages(&forge, &folder)?;
    completions(&forge, &folder)?;
    metainfo(workspace, &folder)
}

/// Puts the command line's part of what the bundler gathered into a folder, each file where it stands below a prefix
/// such as `/usr/local`.
pub fn put_together(workspace: &Workspace, prefix: &Path) -> Result<()> {
    let gathered = workspace.root.join(GATHERED);
    let programs = [("forge", "bin/forge"), ("forge-keeper", "bin/forge-keeper")];
    let completions = [
        ("completions/forge.bash", "share/bash-completion/completions/forge"),
        ("completions/_forge", "share/zsh/site-functions/_forge"),
        ("completions/forge.fish", "share/fish/vendor_completions.d/forge.fish"),
    ];
    for (from, to) in programs.into_iter().chain(completions) {
        keeper::put(&gathered.join(from), &prefix.join(to))?;
    }
    for (from, to) in [("keepers", "lib/forge/keepers"), ("man1", "share/man/man1")] {
        for entry in fs::read_dir(gathered.join(from))? {
            let entry = entry?;
            keeper::put(&entry.path(), &prefix.join(to).join(entry.file_name()))?;
        }
    }
    let license = "share/doc/forge/LICENSE";
    keeper::put(&workspace.root.join("src-tauri/LICENSE"), &prefix.join(license))
}

fn build_command_line(workspace: &Workspace) -> Result<()> {
    let (package, name) = COMMAND_LINE;
    // Beside the window, so that what both depend on has the same features and is built once.
    let arguments = ["build", "--release", "--package", "forge-desktop", "--package", package, "--bin", name];
    run(&mut program("cargo", arguments, &workspace.root))
}

/// The manual pages of every command, compressed as distributions have them.
fn pages(forge: &Path, folder: &Path) -> Result<()> {
    let pages = folder.join("man1");
    output(&mut program(&forge.to_string_lossy(), ["man", "--out", &pages.to_string_lossy()], folder))?;
    let mut gzip = program("gzip", ["--best", "--no-name"], folder);
    for entry in fs::read_dir(&pages)? {
        gzip.arg(entry?.path());
    }
    output(&mut gzip).map(|_| ())
}

/// The script of each shell that distributions have a folder for.
fn completions(forge: &Path, folder: &Path) -> Result<()> {
    let scripts = folder.join("completions");
    fs::create_dir_all(&scripts)?;
    for (shell, name) in [("bash", "forge.bash"), ("zsh", "_forge"), ("fish", "forge.fish")] {
        let script = output(&mut program(&forge.to_string_lossy(), ["completions", shell], folder))?;
        fs::write(scripts.join(name), script)?;
    }
    Ok(())
}

/// What a software centre shows, with the releases of the change log.
fn metainfo(workspace: &Workspace, folder: &Path) -> Result<()> {
    let template =
        fs::read_to_string(workspace.root.join(METAINFO)).context("failed to read the metainfo")?;
    let releases = changelog::read(workspace)?
        .into_iter()
        .map(|release| format!("    <release version=\"{}\" date=\"{}\"/>\n", release.version, release.date));
    let text = template.replace("    @RELEASES@\n", &releases.collect::<String>());
    fs::write(folder.join("metainfo.xml"), text)?;
    Ok(())
}

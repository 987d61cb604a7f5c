//! The keepers as packages carry them: static release builds, which also run where the C library is an older one or
//! another one.

use std::{fs, io, path::Path};

use anyhow::{Context as _, Result, ensure};

use crate::{
    program::{answers, output, program, run},
    workspace::Workspace,
};

/// Name of package and program.
pub const KEEPER: &str = "forge-keeper";

/// The kind of machine, beside the one that builds, whose keeper packages carry, too.
const OTHER_KIND: (&str, &str) = ("aarch64", "aarch64-unknown-linux-musl");

/// Builds the keeper for this kind of machine and puts it into a folder, and into its folder `keepers` the one for the
/// other kind, where the toolchain can be had.
pub fn build(workspace: &Workspace, folder: &Path) -> Result<()> {
    let version = output(&mut program("rustc", ["--version", "--verbose"], &workspace.root))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names no host")?;
    build_for(workspace, host, &[], &folder.join(KEEPER))?;
    let (kind, target) = OTHER_KIND;
    let place = folder.join("keepers").join(format!("{KEEPER}-{kind}"));
    if host.starts_with(kind) {
        return Ok(());
    }
    if !answers("rustup", &["target", "add", target]) {
        eprintln!(
            "The keeper for {kind} is left out: `rustup target add {target}` does not answer. Machines of that kind cannot be\n\
             used by the packages that are built now."
        );
        return Ok(());
    }
    // The linker and the start files of Rust itself: no toolchain of the other kind is needed.
    let linker = [format!("target.{target}.linker = \"rust-lld\"")];
    build_for(workspace, target, &linker, &place)
}

fn build_for(workspace: &Workspace, target: &str, more: &[String], place: &Path) -> Result<()> {
    // Named, so that the flags are for the program alone and not for build scripts.
    let arguments = ["build", "--release", "--target", target, "--package", KEEPER, "--bin", KEEPER];
    let flags = format!("target.{target}.rustflags = [\"-C\", \"target-feature=+crt-static\"]");
    // It is brought to machines over lines of any width: a quarter smaller is worth a slower build.
    let small = ["profile.release.lto = \"fat\"", "profile.release.codegen-units = 1"];
    let configs = [flags.as_str()].into_iter().chain(small).chain(more.iter().map(String::as_str));
    run(program("cargo", arguments, &workspace.root).args(configs.flat_map(|config| ["--config", config])))?;
    let built = workspace.released_for(target, KEEPER);
    let bytes = fs::read(&built).with_context(|| format!("failed to read {}", built.display()))?;
    ensure!(is_static(&bytes), "{} needs libraries of the system", built.display());
    put(&built, place)
}

/// Copies a program. It is not written over: it may run, and cargo links what it built to other places.
pub fn put(built: &Path, place: &Path) -> Result<()> {
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder)?;
    }
    match fs::remove_file(place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::copy(built, place),
    }
    .with_context(|| format!("failed to write {}", place.display()))?;
    Ok(())
}

/// Whether an ELF program of 64 bits names no interpreter, which would load its libraries.
fn is_static(program: &[u8]) -> bool {
    const INTERPRETER: usize = 3;
    let number = |at: usize, bytes: usize| {
        let bytes = program.get(at..at + bytes)?;
        Some(bytes.iter().rev().fold(0_usize, |number, byte| (number << 8) | usize::from(*byte)))
    };
    let headers = || Some((number(32, 8)?, number(54, 2)?, number(56, 2)?));
    let Some((start, size, count)) = headers() else { return false };
    program.starts_with(b"\x7fELF\x02\x01")
        && (0..count).all(|at| number(start + at * size, 4).is_some_and(|kind| kind != INTERPRETER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_with_an_interpreter_is_not_static() {
        let mut elf = b"\x7fELF\x02\x01".to_vec();
        elf.resize(64 + 2 * 56, 0);
        (elf[32], elf[54], elf[56]) = (64, 56, 2);
        (elf[64], elf[64 + 56]) = (1, 2);
        assert!(is_static(&elf));
        elf[64 + 56] = 3;
        assert!(!is_static(&elf));
        assert!(!is_static(b"#!/bin/sh"));
    }
}

//! `cargo xtask fuzz`: arbitrary bytes for readers of text that Forge did not write, for as long as one likes.
//!
//! The committed corpus is only read. What the fuzzer finds is kept in the scratch folder and used the next time.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context as _, Result, bail, ensure};

use crate::{
    program::{answers, program, run as run_program},
    system,
    workspace::Workspace,
};

/// The fuzz targets with their corpus, from the root.
const FOLDER: &str = "src-tauri/fuzz";
/// The longest input, in bytes: a test plays longer ones.
const MOST_BYTES: u32 = 16 * 1024;
/// An input that takes longer than this is a finding, in seconds.
const SLOW_AFTER: u32 = 20;

/// Fuzzes all targets, or the named one; the time is shared among them.
pub fn run(workspace: &Workspace, minutes: u64, only: Option<&str>) -> Result<()> {
    let all = targets(&workspace.root.join(FOLDER).join("fuzz_targets"))?;
    let chosen: Vec<&String> = all.iter().filter(|name| only.is_none_or(|only| only == *name)).collect();
    if let (Some(only), true) = (only, chosen.is_empty()) {
        let names = all.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        bail!("could not fuzz {only}: the targets are {names}");
    }
    prepare(&workspace.root)?;
    let seconds = seconds_for_each(minutes, chosen.len());
    let scratch = workspace.scratch().join("fuzz");
    let fuzz = |verb: &str| {
        let mut command = program("cargo", ["+nightly", "fuzz", verb, "--fuzz-dir", FOLDER], &workspace.root);
        command.arg("--target-dir").arg(scratch.join("target"));
        command
    };
    // First, so that what does not compile is no finding.
    run_program(&mut fuzz("build"))?;
    let mut broken = Vec::new();
    for name in chosen {
        let found = scratch.join("corpus").join(name);
        let artefacts = scratch.join("artefacts").join(name);
        for folder in [&found, &artefacts] {
            fs::create_dir_all(folder).with_context(|| format!("could not create {}", folder.display()))?;
        }
        let committed = workspace.root.join(FOLDER).join("corpus").join(name);
        let mut fuzz = fuzz("run");
        fuzz.arg(name).arg(&found).arg(&committed).arg("--");
        fuzz.args([
            format!("-max_total_time={seconds}"),
            format!("-max_len={MOST_BYTES}"),
            format!("-timeout={SLOW_AFTER}"),
            format!("-artifact_prefix={}/", artefacts.display()),
            "-print_final_stats=1".to_owned(),
        ]);
        if let Err(error) = run_program(&mut fuzz) {
            eprintln!("{error:#}");
            broken.push(name.as_str());
        }
    }
    ensure!(
        broken.is_empty(),
        "these targets broke: {}. The inputs are in {}; put them into {FOLDER}/corpus once they are mended",
        broken.join(", "),
        scratch.join("artefacts").display()
    );
    Ok(())
}

/// Every target has a file of its own.
fn targets(folder: &Path) -> Result<BTreeSet<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("could not read {}", folder.display()))?;
    let names = entries.map(|entry| {
        let path = entry?.path();
        Ok(path.file_stem().unwrap_or_default().to_string_lossy().into_owned())
    });
    names.collect()
}

/// A second at least, since 0 means without end.
fn seconds_for_each(minutes: u64, targets: usize) -> u64 {
    (minutes * 60 / u64::try_from(targets).unwrap_or(u64::MAX)).max(1)
}

/// Sees to it that a C++ compiler, nightly Rust and cargo-fuzz are there.
fn prepare(root: &Path) -> Result<()> {
    system::prepare_fuzzing()?;
    if !answers("cargo", &["+nightly", "--version"]) {
        let arguments = ["toolchain", "install", "nightly", "--profile", "minimal"];
        run_program(&mut program("rustup", arguments, root))?;
    }
    if !answers("cargo", &["fuzz", "--version"]) {
        eprintln!("cargo-fuzz is missing; it is built once (a minute).");
        run_program(&mut program("cargo", ["install", "cargo-fuzz", "--locked"], root))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_shared_and_never_without_end() {
        assert_eq!(seconds_for_each(30, 12), 150);
        assert_eq!(seconds_for_each(0, 12), 1);
    }
}

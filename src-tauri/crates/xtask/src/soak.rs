//! `cargo xtask soak`: connections with a second host, cut in every way for a long time.

use std::process::Command;

use anyhow::Result;

use crate::{
    keeper,
    program::{program, run as run_program},
    workspace::Workspace,
};

/// Name of the package and of the program in it.
const PACKAGE: &str = "forge-machines-testkit";
const PROGRAM: &str = "forge-soak";

/// Builds the program and runs it, with the keeper as packages carry it beside it.
pub fn run(workspace: &Workspace, minutes: u64, seed: Option<u64>) -> Result<()> {
    let arguments = ["build", "--release", "--package", PACKAGE, "--bin", PROGRAM];
    run_program(&mut program("cargo", arguments, &workspace.root))?;
    let soak = workspace.released(PROGRAM);
    keeper::build(workspace, soak.parent().unwrap_or(&workspace.root))?;
    let mut soak = Command::new(soak);
    soak.args(["--minutes", &minutes.to_string()]).current_dir(&workspace.root);
    if let Some(seed) = seed {
        soak.args(["--seed", &seed.to_string()]);
    }
    run_program(&mut soak)
}

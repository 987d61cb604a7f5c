//! `cargo xtask bench`: the figures, with optimisation, each beside its yardstick in the same run.

use std::process::Command;

use anyhow::Result;

use crate::{
    keeper,
    program::{program, run as run_program},
    system::{self, Purpose},
    ui,
    workspace::Workspace,
};

/// Builds the measuring program and runs it, all of it or one group of rows; the figures are also written as JSON.
pub fn run(workspace: &Workspace, rounds: u32, only: Option<&str>) -> Result<()> {
    if only.is_none_or(|only| only == "log") {
        system::prepare_yardsticks()?;
    }
    if only.is_none_or(|only| only == "costs") {
        // Measured in the window itself.
        system::prepare(Purpose::Test)?;
        ui::install(workspace)?;
        ui::build_if_stale(workspace)?;
        let window = ["build", "--release", "--package", "forge-desktop"];
        run_program(&mut program("cargo", window, &workspace.root))?;
    }
    let arguments = ["build", "--release", "--package", "forge-tests", "--bin", "forge-perf"];
    run_program(&mut program("cargo", arguments, &workspace.root))?;
    let perf = workspace.released("forge-perf");
    // Beside the program that is measured, as in a package.
    keeper::build(workspace, perf.parent().unwrap_or(&workspace.root))?;
    let mut perf = Command::new(perf);
    perf.args(["--rounds", &rounds.to_string(), "--json", "target/bench.json"]).current_dir(&workspace.root);
    if let Some(only) = only {
        perf.args(["--only", only]);
    }
    run_program(&mut perf)
}

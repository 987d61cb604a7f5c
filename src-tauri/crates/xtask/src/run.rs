//! `cargo xtask run`: from a fresh clone to the open window.

use std::{
    env,
    process::{Command, ExitCode, ExitStatus},
};

use anyhow::{Context as _, Result};

use crate::{
    program::{program, run as run_program, shown},
    system::{self, Purpose},
    ui,
    workspace::Workspace,
};

/// Prepares, builds, and opens the window; without a display, runs the demo in the terminal.
pub fn run(workspace: &Workspace) -> Result<ExitCode> {
    system::prepare(Purpose::Run)?;
    ui::install(workspace)?;
    ui::build_if_stale(workspace)?;
    // The one selection of packages everywhere: another one would build half the dependencies again.
    run_program(&mut program("cargo", ["build", "--workspace"], &workspace.root))?;

    let has_display = ["WAYLAND_DISPLAY", "DISPLAY"]
        .iter()
        .any(|name| env::var_os(name).is_some_and(|value| !value.is_empty()));
    let mut command = if has_display {
        Command::new(workspace.built("forge-desktop"))
    } else {
        eprintln!(
            "\nThere is no display (neither WAYLAND_DISPLAY nor DISPLAY is set), so the window cannot open here.\n\
             Running the demo in this terminal instead."
        );
        let mut forge = Command::new(workspace.built("forge"));
        forge.arg("demo");
        forge
    };
    eprintln!("$ {}", shown(&command));
    let status = command.status().with_context(|| format!("failed to start `{}`", shown(&command)))?;
    Ok(exit_code(status))
}

/// The program's own code, so that a script sees what it would see without us in between.
fn exit_code(status: ExitStatus) -> ExitCode {
    match status.code().map(u8::try_from) {
        Some(Ok(code)) => ExitCode::from(code),
        Some(Err(_)) | None => ExitCode::FAILURE,
    }
}

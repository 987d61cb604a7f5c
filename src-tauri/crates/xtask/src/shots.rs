//! `cargo xtask shots`: pictures of every screen of the built window, for eyes; and those that the documents
//! show, made anew.

use std::{fs, process::Command};

use anyhow::{Context as _, Result};

use crate::{
    program::{program, run as run_program},
    system::{self, Purpose},
    ui,
    workspace::Workspace,
};

/// The pictures that README and guide show, and the scenes they are made of.
const SHOWN: [(&str, &str); 4] = [
    ("board-light-1440.png", "board-light.png"),
    ("board-dark-1440.png", "board-dark.png"),
    ("task-diff-light-1440.png", "diff-light.png"),
    ("panel-blocked-dark-1440.png", "blocked-dark.png"),
];

/// Where they lie, from the root.
const PICTURES: &str = "src-tauri/docs/pictures";

/// Builds the window and takes the pictures; all scenes, or those with `scene` in their name.
pub fn run(workspace: &Workspace, scene: Option<&str>) -> Result<()> {
    system::prepare(Purpose::Test)?;
    ui::install(workspace)?;
    ui::build_if_stale(workspace)?;
    run_program(&mut program("cargo", ["build", "--workspace"], &workspace.root))?;
    let folder = workspace.root.join("target/shots");
    let mut shots = Command::new(workspace.built("forge-shots"));
    shots.arg(&folder).args(scene).current_dir(&workspace.root);
    run_program(&mut shots)?;
    let pictures = workspace.root.join(PICTURES);
    fs::create_dir_all(&pictures).with_context(|| format!("failed to make {PICTURES}"))?;
    for (from, to) in SHOWN {
        let from = folder.join(from);
        if from.is_file() {
            fs::copy(&from, pictures.join(to)).with_context(|| format!("failed to write {PICTURES}/{to}"))?;
        }
    }
    eprintln!("pictures are in {}; those of the documents in {PICTURES}", folder.display());
    Ok(())
}

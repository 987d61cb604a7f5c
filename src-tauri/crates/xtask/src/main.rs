//! The one developer tool: `cargo xtask run`, `test`, `audit`, `codegen`, `fixtures`, `tidy`, `shots`, `bench`, `soak`,
//! `fuzz`, `package`, `contents` and `release`.
//!
//! It depends on next to nothing, so that it is there seconds after a clone, before anything else can be
//! built. Deliberately absent: knowledge of the product. It installs, builds, starts programs and reads files.

mod bench;
mod changelog;
mod codegen;
mod contents;
mod dependencies;
mod fixtures;
mod fuzz;
mod keeper;
mod memory_folder;
mod package;
mod program;
mod python;
mod run;
mod shots;
mod soak;
mod suite;
mod system;
mod tidy;
mod ui;
mod workspace;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Run, test and look after Forge")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Install what is missing, build everything and open the window.
    Run,
    /// Everything that must hold before a change lands: the one thing CI runs.
    Test,
    /// Look up known vulnerabilities of all dependencies: exits with 1 when there are some, with 2 when they cannot be
    /// looked up.
    Audit,
    /// Write the UI's types from the contract.
    Codegen {
        /// Only compare, and fail when the committed types are stale.
        #[arg(long)]
        check: bool,
    },
    /// Record the answers that the page's tests read.
    Fixtures {
        /// Only compare, and fail when the committed ones are stale.
        #[arg(long)]
        check: bool,
    },
    /// Check who knows whom, file sizes and what must not be committed.
    Tidy,
    /// Open the window, visit each screen in both themes, keep the pictures.
    Shots {
        /// Only the scenes whose name has this in it.
        scene: Option<String>,
    },
    /// Measure Forge's overhead compared with the same steps by hand.
    Bench {
        /// How often each side is measured.
        #[arg(long, default_value_t = 7)]
        rounds: u32,
        /// Only one group of rows: task, worktree, churn, diff, merge, log, flood, fleet, machines, lists or costs.
        #[arg(long)]
        only: Option<String>,
    },
    /// Cut connections with a second host in every way for a long time, and check that nothing else is lost.
    Soak {
        /// For how long.
        #[arg(long, default_value_t = 30)]
        minutes: u64,
        /// Makes the same cuts as an earlier soak, which printed it.
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Give arbitrary bytes to readers of text that Forge did not write. Installs nightly Rust and cargo-fuzz.
    Fuzz {
        /// For how long, all targets together.
        #[arg(long, default_value_t = 30)]
        minutes: u64,
        /// Only this target.
        target: Option<String>,
    },
    /// Build the packages: the window, the command line and the keepers.
    Package {
        /// Only the deb package, of the programs that the debug build left: for the test that installs it.
        #[arg(long)]
        debug: bool,
    },
    /// Build what packages carry beside the window. The bundler asks for it.
    Contents {
        /// The folder that it is put into.
        folder: PathBuf,
        /// Take the programs of the debug build.
        #[arg(long)]
        debug: bool,
    },
    /// Name a version in the change log and wherever else it is said, commit and tag.
    Release {
        /// Three numbers, as in 1.2.3.
        version: String,
    },
}

fn main() -> ExitCode {
    match perform(&Arguments::parse().task) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("\nxtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(task: &Task) -> anyhow::Result<ExitCode> {
    let workspace = Workspace::find()?;
    match task {
        Task::Run => run::run(&workspace),
        Task::Test => suite::run(&workspace).map(|()| ExitCode::SUCCESS),
        Task::Audit => dependencies::audit(&workspace),
        Task::Codegen { check } => codegen::run(&workspace, *check).map(|()| ExitCode::SUCCESS),
        Task::Fixtures { check } => fixtures::run(&workspace, *check).map(|()| ExitCode::SUCCESS),
        Task::Tidy => tidy::run(&workspace).map(|()| ExitCode::SUCCESS),
        Task::Shots { scene } => shots::run(&workspace, scene.as_deref()).map(|()| ExitCode::SUCCESS),
        Task::Bench { rounds, only } => {
            bench::run(&workspace, *rounds, only.as_deref()).map(|()| ExitCode::SUCCESS)
        }
        Task::Soak { minutes, seed } => soak::run(&workspace, *minutes, *seed).map(|()| ExitCode::SUCCESS),
        Task::Fuzz { minutes, target } => {
            fuzz::run(&workspace, *minutes, target.as_deref()).map(|()| ExitCode::SUCCESS)
        }
        Task::Package { debug: false } => package::run(&workspace).map(|()| ExitCode::SUCCESS),
        Task::Package { debug: true } => package::of_debug(&workspace).map(|()| ExitCode::SUCCESS),
        Task::Contents { folder, debug } => {
            contents::gather(&workspace, folder, *debug).map(|()| ExitCode::SUCCESS)
        }
        Task::Release { version } => changelog::release(&workspace, version).map(|()| ExitCode::SUCCESS),
    }
}

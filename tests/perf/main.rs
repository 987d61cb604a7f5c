//! What Forge costs beside doing the same by hand, measured in one run on one machine.
//!
//! Absolute times differ between machines, so the promise is a ratio: each row has its yardstick, measured
//! in the same rounds, taking turns. Prints a table; `--json FILE` writes the figures too.

mod measure;
mod repository;
mod task;
mod workspace;

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context as _, Result};
use measure::Row;
use task::Worktree;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(kept) if kept => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("failed to measure: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// A folder on a real disk: the one that `FORGE_PERF_DISK` names, else where the build's output lies.
fn disk() -> Option<PathBuf> {
    let named = std::env::var_os("FORGE_PERF_DISK").map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from("target"))).filter(|folder| folder.is_dir())
}

async fn run() -> Result<bool> {
    let mut args = std::env::args_os().skip(1);
    let mut json: Option<PathBuf> = None;
    let mut rounds = 7;
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--json") => json = Some(args.next().context("--json needs a file")?.into()),
            Some("--rounds") => {
                let given = args.next().and_then(|number| number.to_str()?.parse().ok());
                rounds = given.context("--rounds needs a number")?;
            }
            _ => anyhow::bail!("usage: forge-perf [--rounds N] [--json FILE]"),
        }
    }
    // In memory where there is such a folder: a disk's own moods are not what is measured.
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory)? } else { tempfile::tempdir()? };
    let mut rows: Vec<Row> = Vec::new();
    for files in [5_000, 20_000] {
        for worktree in [Worktree::New, Worktree::FromSlot] {
            rows.push(task::measure(folder.path(), files, rounds, worktree).await?);
        }
    }
    rows.extend(workspace::measure(folder.path(), 20_000, rounds).await?);
    rows.push(workspace::churn(folder.path(), "in memory", 20_000).await?);
    if let Some(disk) = disk() {
        let folder = tempfile::tempdir_in(disk)?;
        rows.push(workspace::churn(folder.path(), "on disk", 20_000).await?);
    }
    print!("{}", measure::table(&rows));
    if let Some(path) = json {
        std::fs::write(&path, serde_json::to_vec_pretty(&rows)?)?;
        println!("written to {}", path.display());
    }
    Ok(rows.iter().all(Row::kept))
}

//! What Forge costs beside doing the same by hand, measured in one run on one machine.
//!
//! Absolute times differ between machines, so the promise is a ratio: each row has its yardstick, measured
//! in the same rounds, taking turns. Prints a table; `--json FILE` writes the figures too, `--only NAME` measures
//! one group of rows alone. `print ...` makes it one of the agents that it measures with.

mod costs;
mod diff;
mod far;
mod fleet;
mod flood;
mod lines;
mod lists;
mod log;
mod machines;
mod measure;
mod merge;
mod meter;
mod printer;
mod repository;
mod schedule;
mod stage;
mod task;
mod workspace;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, Result};
use measure::Row;
use task::Worktree;

#[tokio::main]
async fn main() -> ExitCode {
    match Box::pin(run()).await {
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

/// The groups of rows, by the names that `--only` takes.
const GROUPS: [&str; 13] = [
    "task", "worktree", "churn", "diff", "merge", "log", "flood", "fleet", "machines", "ssh", "schedule",
    "lists", "costs",
];

/// The most rounds of what takes long.
const LONG_ROUNDS: usize = 3;

async fn run() -> Result<bool> {
    let mut only: Option<String> = None;
    let mut args = std::env::args_os().skip(1);
    let mut json: Option<PathBuf> = None;
    let mut rounds = 7;
    let mut megabytes = 500;
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--json") => json = Some(args.next().context("--json needs a file")?.into()),
            Some("--rounds") => {
                let given = args.next().and_then(|number| number.to_str()?.parse().ok());
                rounds = given.context("--rounds needs a number")?;
            }
            Some("--log-megabytes") => {
                let given = args.next().and_then(|number| number.to_str()?.parse().ok());
                megabytes = given.context("--log-megabytes needs a number")?;
            }
            Some("print") => {
                return printer::print(args.filter_map(|arg| arg.into_string().ok())).map(|()| true);
            }
            Some(lists::HELD) => {
                return lists::hold(args.filter_map(|arg| arg.into_string().ok())).await.map(|()| true);
            }
            Some("--only") => {
                let given = args.next().and_then(|name| name.into_string().ok());
                let known = given.filter(|name| GROUPS.contains(&name.as_str()));
                only = Some(known.with_context(|| format!("--only needs one of {}", GROUPS.join(", ")))?);
            }
            _ => anyhow::bail!(
                "usage: forge-perf [--rounds N] [--log-megabytes N] [--json FILE] [--only NAME]"
            ),
        }
    }
    // In memory where there is such a folder: a disk's own moods are not what is measured.
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory)? } else { tempfile::tempdir()? };
    let rows = Box::pin(measure(folder.path(), rounds, megabytes, only.as_deref())).await?;
    print!("{}", measure::table(&rows));
    if let Some(path) = json {
        std::fs::write(&path, serde_json::to_vec_pretty(&rows)?)?;
        println!("written to {}", path.display());
    }
    Ok(rows.iter().all(Row::kept))
}

async fn measure(folder: &Path, rounds: usize, megabytes: u64, only: Option<&str>) -> Result<Vec<Row>> {
    let wanted = |group| only.is_none_or(|only| only == group);
    let mut rows: Vec<Row> = Vec::new();
    if wanted("task") {
        for files in [5_000, 20_000] {
            for worktree in [Worktree::New, Worktree::FromSlot] {
                rows.push(task::measure(folder, files, rounds, worktree).await?);
            }
        }
    }
    if wanted("worktree") {
        rows.extend(workspace::measure(folder, 20_000, rounds).await?);
    }
    if wanted("churn") {
        rows.push(workspace::churn(folder, "in memory", 20_000).await?);
        if let Some(disk) = disk() {
            let folder = tempfile::tempdir_in(disk)?;
            rows.push(workspace::churn(folder.path(), "on disk", 20_000).await?);
        }
    }
    if wanted("diff") {
        rows.extend(Box::pin(diff::measure(folder, rounds)).await?);
    }
    if wanted("merge") {
        rows.push(merge::measure(folder, rounds).await?);
    }
    if wanted("log") {
        rows.extend(log::measure(folder, rounds.min(LONG_ROUNDS), megabytes).await?);
    }
    if wanted("flood") {
        rows.extend(flood::measure(folder, rounds.min(LONG_ROUNDS)).await?);
    }
    if wanted("fleet") {
        rows.extend(fleet::measure(folder, rounds.min(LONG_ROUNDS)).await?);
    }
    if wanted("machines") {
        rows.extend(Box::pin(machines::measure(folder, rounds)).await?);
    }
    // Of machines, those that are reached by ssh.
    if wanted("machines") || wanted("ssh") {
        rows.extend(Box::pin(far::measure(folder, rounds)).await?);
    }
    if wanted("schedule") {
        rows.extend(Box::pin(schedule::measure(folder, rounds)).await?);
    }
    if wanted("lists") {
        rows.extend(lists::measure(folder, rounds)?);
    }
    if wanted("costs") {
        rows.extend(Box::pin(costs::measure(folder, rounds)).await?);
    }
    Ok(rows)
}

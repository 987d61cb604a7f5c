//! A worktree made ready, anew and from a slot, against `git worktree add`; and the twentieth against the first.

use std::{path::Path, time::Instant};

use anyhow::{Result, ensure};
use forge_git::{Keep, NewWorktree, Repo};

use crate::{
    measure::{Row, timed},
    repository::{generate, git, open},
};

/// Rounds of adding and removing.
const ROUNDS: usize = 20;
/// Rounds at each end that are compared: a single one says little.
const ENDS: usize = 3;

/// The rows for a worktree made anew and for one from a slot.
pub async fn measure(folder: &Path, files: u32, rounds: usize) -> Result<[Row; 2]> {
    let path = folder.join(format!("trees-{files}"));
    let repo = repository(&path, files).await?;
    let base = git(&path, &["rev-parse", "main"])?;
    let (mut fresh, mut slots, mut plain) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        let ours = worktree(folder, &format!("ours/{round}"), &base);
        let ((), by_forge) = timed(repo.create_worktree(&ours)).await?;
        let theirs = folder.join(format!("tree-theirs-{round}"));
        let branch = format!("theirs/{round}");
        let begun = Instant::now();
        git(&path, &["worktree", "add", "--quiet", "-b", &branch, &theirs.to_string_lossy(), &base])?;
        let by_git = begun.elapsed().as_secs_f64() * 1000.0;
        let by_slot = slot(&repo, folder, &ours, &base).await?;
        if round > 0 {
            fresh.push(by_forge);
            slots.push(by_slot);
            plain.push(by_git);
        }
        git(&path, &["worktree", "remove", "--force", &theirs.to_string_lossy()])?;
    }
    let yardstick = "`git worktree add`";
    Ok([
        Row::new(format!("worktree ready, {files} files"), yardstick, 0.8, fresh, plain.clone()),
        Row::new(format!("worktree ready from a slot, {files} files"), yardstick, 0.35, slots, plain),
    ])
}

/// Has a task end in the worktree, pools it, and takes the slot for the next one; how long the taking took.
async fn slot(repo: &Repo, folder: &Path, ended: &NewWorktree, base: &str) -> Result<f64> {
    let pool = folder.join("pool");
    repo.worktree_at(&ended.path).trust_checkout_times().await?;
    std::fs::write(ended.path.join("TASK.txt"), "done\n")?;
    repo.worktree_at(&ended.path).commit_all("task", None).await?;
    std::fs::create_dir(ended.path.join("build"))?;
    std::fs::write(ended.path.join("build/left"), "left\n")?;
    let mut withdrawn = repo.withdraw_worktree(&ended.path).await?;
    ensure!(repo.pool_worktree(&mut withdrawn, &pool, 1).await?, "the worktree was not pooled");
    drop(withdrawn);
    let next = worktree(folder, &format!("next/{}", ended.branch), base);
    let (taken, time) = timed(repo.take_slot(&pool, &next, Keep::Tracked)).await?;
    ensure!(taken && !next.path.join("build").exists(), "the slot was not taken");
    repo.remove_worktree(repo.withdraw_worktree(&next.path).await?).await?.delete().await?;
    repo.drop_slots(&pool, 0).await?;
    Ok(time)
}

/// The row for worktrees that are added and removed again and again on one disk.
pub async fn churn(folder: &Path, disk: &str, files: u32) -> Result<Row> {
    let path = folder.join("churn");
    let repo = repository(&path, files).await?;
    // As the folder of a project's worktrees is.
    let trees = folder.join("trees");
    forge_git::spread(&trees);
    let mut times = Vec::new();
    for round in 0..=ROUNDS {
        let tree = worktree(&trees, &format!("churn/{round}"), "main");
        let ((), time) = timed(repo.create_worktree(&tree)).await?;
        repo.remove_worktree(repo.withdraw_worktree(&tree.path).await?).await?.delete().await?;
        // The first round warms up.
        if round > 0 {
            times.push(time);
        }
    }
    let (first, last) = (times[..ENDS].to_vec(), times[ROUNDS - ENDS..].to_vec());
    Ok(Row::new(
        format!("worktree ready after {ROUNDS} were added and removed, {files} files, {disk}"),
        "the first ones",
        // As fast as the first, and what a machine with other work to do varies by.
        1.2,
        last,
        first,
    ))
}

async fn repository(path: &Path, files: u32) -> Result<Repo> {
    generate(path, files)?;
    open(path).await
}

fn worktree(folder: &Path, branch: &str, base: &str) -> NewWorktree {
    let path = folder.join(format!("tree-{}", branch.replace('/', "-")));
    NewWorktree { path, branch: branch.to_owned(), base: base.to_owned() }
}

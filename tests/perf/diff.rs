//! The diff of a worktree with 2,000 changed files: its list, one file of it, and the list again.
//!
//! Measured at `Repo::diff_files` and `Repo::diff_file` of forge-git, which answer `task_diff` and
//! `task_diff_file` once the engine has looked up which worktree and commit a task stands for.

use std::{path::Path, time::Duration};

use anyhow::{Result, ensure};
use forge_git::{DiffPage, DiffScope, NewWorktree};

use crate::{
    measure::{Row, timed, timed_by_hand},
    repository::{edited, generate, git, open, path},
};

/// Files in the repository.
const FILES: u32 = 20_000;
/// Every so many files one is changed.
const EACH: u32 = 10;
/// Longer than a file system may take two changes for one.
const SETTLED: Duration = Duration::from_millis(300);

/// The rows of a diff.
pub async fn measure(folder: &Path, rounds: usize) -> Result<[Row; 3]> {
    let root = folder.join("diff");
    generate(&root, FILES)?;
    let repo = open(&root).await?;
    let base = git(&root, &["rev-parse", "main"])?;
    let tree = folder.join("diff-tree");
    let new = NewWorktree { path: tree.clone(), branch: "diff".to_owned(), base: base.clone() };
    repo.create_worktree(&new).await?;
    for file in (0..FILES).step_by(EACH as usize) {
        std::fs::write(tree.join(path(file)), edited(file, "before"))?;
    }
    // As an agent's own git leaves it.
    git(&tree, &["status", "--short"])?;
    let scope = DiffScope::Worktree { worktree: repo.worktree_at(&tree), base: base.clone() };
    let (mut lists, mut opened, mut again) = (Vec::new(), Vec::new(), Vec::new());
    let (mut numstats, mut diffs) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let file = u32::try_from(round)? * EACH;
        std::fs::write(tree.join(path(file)), edited(file, &format!("round {round}")))?;
        tokio::time::sleep(SETTLED).await;
        let (first, list) = timed(repo.diff_files(&scope)).await?;
        // Somebody reads it; what it depends on is worked out meanwhile and does not slow the yardstick down.
        tokio::time::sleep(SETTLED).await;
        let numstat = timed_by_hand(|| git(&tree, &["diff", "--numstat", &base]))?;
        let (_, one) = timed(Box::pin(repo.diff_file(&scope, &path(file), DiffPage::default()))).await?;
        let diff = timed_by_hand(|| git(&tree, &["diff", &base, "--", &path(file)]))?;
        let (second, unchanged) = timed(repo.diff_files(&scope)).await?;
        ensure!(first.files.len() == (FILES / EACH) as usize && first == second, "the lists differ");
        // The first round warms both sides up.
        if round > 0 {
            lists.push(list);
            opened.push(one);
            again.push(unchanged);
            numstats.push(numstat);
            diffs.push(diff);
        }
    }
    let of = |what: &str| format!("diff of {} changed files: {what}", FILES / EACH);
    let numstat = "`git diff --numstat`";
    Ok([
        Row::new(of("list"), numstat, 1.2, lists, numstats.clone()),
        Row::new(of("open one file"), "`git diff -- file`", 1.0, opened, diffs),
        Row::new(of("list again unchanged"), numstat, 0.2, again, numstats),
    ])
}

//! A clean merge into a branch that nobody has checked out.
//!
//! Measured at what the engine's merge step asks of forge-git: `compute_merge`, `land`, and `is_ancestor`, which
//! verifies it. Each round merges a branch of its own, so that no object is there already.

use std::path::Path;

use anyhow::{Result, ensure};
use forge_git::{Landing, MergeComputation, MergeRequest, MergeStrategy, Repo};

use crate::{
    measure::{Row, timed, timed_by_hand},
    repository::{branch, generate, git, open},
};

/// Files in the repository.
const FILES: u32 = 20_000;
/// Every so many files one is changed, on each side another one.
const EACH: u32 = 100;

/// The row of a merge.
pub async fn measure(folder: &Path, rounds: usize) -> Result<Row> {
    let (ours, theirs) = (folder.join("merge-ours"), folder.join("merge-theirs"));
    for repo in [&ours, &theirs] {
        generate(repo, FILES)?;
        branch(repo, "target", (0..FILES).step_by(EACH as usize))?;
        for round in 0..=rounds {
            branch(repo, &format!("work/{round}"), (EACH / 2..FILES).step_by(EACH as usize))?;
        }
    }
    git(&theirs, &["checkout", "--quiet", "target"])?;
    let repo = open(&ours).await?;
    let before = git(&ours, &["rev-parse", "target"])?;
    let (mut forge, mut other) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let work = format!("work/{round}");
        let (commit, by_forge) = timed(merge(&repo, &work)).await?;
        let by_git = timed_by_hand(|| git(&theirs, &["merge", "--quiet", "--no-edit", &work]))?;
        let trees = [
            git(&ours, &["rev-parse", &format!("{commit}^{{tree}}")])?,
            git(&theirs, &["rev-parse", "HEAD^{tree}"])?,
        ];
        ensure!(trees[0] == trees[1], "the merges differ");
        // The first round warms both sides up.
        if round > 0 {
            forge.push(by_forge);
            other.push(by_git);
        }
        repo.update_ref("refs/heads/target", &before, &commit, "again").await?;
        git(&theirs, &["reset", "--quiet", "--hard", "HEAD^"])?;
        git(&theirs, &["status", "--short"])?;
    }
    Ok(Row::new(
        format!("merge, clean, {FILES} files, {} changed on each side, target not checked out", FILES / EACH),
        "`git merge` in a checkout",
        0.3,
        forge,
        other,
    ))
}

/// What the merge step does, apart from its own records.
async fn merge(repo: &Repo, work: &str) -> Result<String> {
    let source = repo.resolve(&format!("refs/heads/{work}")).await?.unwrap_or_default();
    let request = MergeRequest {
        target_branch: "target".to_owned(),
        source,
        strategy: MergeStrategy::Merge,
        message: "merge".to_owned(),
        author: None,
    };
    let MergeComputation::Ready { commit, target_before, .. } = repo.compute_merge(&request).await? else {
        anyhow::bail!("{work} does not merge");
    };
    let landing = repo.land("target", &commit, &target_before, "forge: merge").await?;
    ensure!(landing == Landing::Landed, "not landed: {landing:?}");
    ensure!(repo.is_ancestor(&commit, "refs/heads/target").await?, "the target does not hold the merge");
    Ok(commit)
}

//! Commits that came after the reviewed one: they are not merged, and the person is told where they are.

use forge_git::Repo;
use forge_model::review::{Review, ReviewStatus};

use crate::{
    World,
    core::{
        context::{backup_prefix, task_branch},
        world::step::Stepping,
    },
    error::Result,
};

/// How much of a commit's name is shown.
const SHORT: usize = 10;

/// The commit of a task's latest review that passed, without what Forge's own rebase made of it.
pub(crate) async fn judged_commit(world: &World, s: &Stepping) -> Result<Option<String>> {
    let all = world.store().read().await?.reviews().list(&s.task.id).await?;
    let judged = |review: &Review| review.status == ReviewStatus::Passed && review.state != s.task.status;
    Ok(all.into_iter().rev().find(judged).and_then(|review| review.reviewed_commit))
}

/// Where commits are that were made on the task's branch after its work was judged, and how they come back;
/// none when `merged` has all of them. Read from git alone, so that a kill forgets nothing.
pub(crate) async fn left_behind(
    world: &World,
    s: &Stepping,
    repo: &Repo,
    merged: &str,
) -> Result<Option<String>> {
    let Some(judged) = judged_commit(world, s).await? else { return Ok(None) };
    if repo.resolve(&judged).await?.is_none() {
        return Ok(None);
    }
    let branch = format!("refs/heads/{}", task_branch(&s.task));
    let kept = repo.backups(&backup_prefix(&s.task)).await?;
    let tip = repo.resolve(&branch).await?.map(|tip| (branch, tip));
    let mut told = Vec::new();
    let mut seen: Vec<String> = vec![judged.clone()];
    for (name, commit) in tip.into_iter().chain(kept.into_iter().map(|it| (it.ref_name, it.commit))) {
        if seen.contains(&commit)
            || !repo.is_ancestor(&judged, &commit).await?
            || repo.is_ancestor(&commit, merged).await?
        {
            continue;
        }
        let (count, short) = (repo.commits_beyond(&judged, &commit).await?, judged.get(..SHORT));
        let commits = if count == 1 { "1 commit".to_owned() } else { format!("{count} commits") };
        let range = format!("{}..{name}", short.unwrap_or(&judged));
        told.push(format!("{commits} at {name} (`git cherry-pick {range}` brings them back)"));
        seen.push(commit);
    }
    let what = "left out because they came after the review";
    Ok((!told.is_empty()).then(|| format!("{what}: {}", told.join("; "))))
}

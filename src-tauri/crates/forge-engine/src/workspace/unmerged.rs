//! Counting the commits of a task that its target lacks.

use forge_model::event::EventType;
use forge_model::ids::TaskId;
use forge_model::merge::{Merge, MergeStatus};
use forge_model::review::{Review, ReviewStatus};
use forge_store::table::tasks::TaskRow;
use serde_json::json;

use crate::{
    EngineError, World,
    core::{
        self,
        context::{ProjectContext, task_branch},
        lineage::{is_entry, is_ordered},
        repository::present_repo,
    },
    error::Result,
};

/// How many commits of a task's branch its target lacks; what was merged from it counts as merged, whatever became
/// of the commits. The stored count where git cannot be asked.
async fn unmerged_commits(world: &World, context: &ProjectContext, task: &TaskRow) -> Result<u32> {
    if is_ordered(task) || is_entry(task) {
        return Ok(0);
    }
    let (merged, reviewed) = {
        let mut conn = world.store().read().await?;
        (conn.merges().list(&task.id).await?, conn.reviews().list(&task.id).await?)
    };
    let Some(repo) = present_repo(world, context).await? else { return Ok(task.unmerged_commits) };
    let Some(tip) = repo.resolve(&format!("refs/heads/{}", task_branch(task))).await? else {
        return Ok(0);
    };
    let mut others = vec![format!("refs/heads/{}", context.target_branch(task))];
    let is_over = |merge: &&Merge| matches!(merge.status, MergeStatus::Landed | MergeStatus::Nothing);
    let over: Vec<&Merge> = merged.iter().filter(is_over).collect();
    // What passed before a merge is what it merged, also when that was rebased.
    let last = over.iter().map(|merge| merge.created_at).max();
    let landed = |review: &Review| {
        let passed = review.finished_at.filter(|_| review.status == ReviewStatus::Passed);
        passed.zip(last).is_some_and(|(passed, last)| passed <= last)
    };
    let sources = over.iter().map(|merge| merge.source_commit.clone()).filter(|it| !it.is_empty());
    others.extend(sources);
    others.extend(reviewed.into_iter().filter(landed).filter_map(|review| review.reviewed_commit));
    Ok(repo.commits_outside(&tip, &others).await?)
}

/// Counts anew how many commits of a task are not merged. Called whenever Forge changed the branch, its target or
/// the task's state; a failure leaves the count as it was, with a line in the log.
pub(crate) async fn count_unmerged(world: &World, id: &TaskId) {
    let counted = async {
        let (task, context) = core::load::load(world, &mut *world.store().read().await?, id, None).await?;
        let commits = unmerged_commits(world, &context, &task).await?;
        if commits == task.unmerged_commits {
            return Ok(());
        }
        let mut tx = world.store().write().await?;
        tx.tasks_mut().set_unmerged(id, commits).await?;
        let facts = json!({ "unmerged_commits": commits });
        world.emit(&mut tx, EventType::TaskUpdated, &task, id.as_str(), &facts).await?;
        tx.commit().await?;
        Ok::<_, EngineError>(())
    };
    if let Err(error) = counted.await {
        tracing::warn!(task = %id, %error, "failed to count the commits that are not merged");
    }
}

/// Counts the commits of every task that has a worktree or still has some, in the background: people may have made or
/// merged commits while no engine ran.
pub(crate) fn count_all_unmerged(world: &World) {
    let world = world.clone();
    core::guarded::in_background(&world.clone(), async move {
        let listed = async { world.store().read().await?.tasks().with_commits().await };
        match listed.await {
            Ok(all) => {
                for id in all {
                    if world.inner.shutdown.is_cancelled() {
                        return;
                    }
                    count_unmerged(&world, &id).await;
                }
            }
            Err(error) => tracing::warn!(%error, "failed to list the tasks with commits"),
        }
    });
}

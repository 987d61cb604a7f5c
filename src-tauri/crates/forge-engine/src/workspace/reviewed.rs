//! The reviewed commits of closed tasks: kept for a while, then their refs are deleted.

use forge_git::{Backup, Repo};
use forge_model::ids::TaskId;
use forge_model::retention::{Bounds, Counts};
use forge_model::time::Timestamp;
use forge_store::table::tasks::TaskRow;

use crate::{
    World,
    core::{
        self,
        context::{ProjectContext, backup_prefix},
        repository::present_repo,
    },
    error::Result,
};

/// The reviewed commits of tasks that this engine knows to be closed since before `until`, and how many are kept in all.
pub(crate) async fn old_reviewed(
    world: &World,
    repo: &Repo,
    bounds: Bounds,
    counts: &mut Counts,
) -> Result<Vec<Backup>> {
    let all = repo.backups(REVIEWED).await?;
    let mut old = Vec::new();
    for kept in all {
        let owner = kept.ref_name.strip_prefix(REVIEWED).and_then(|rest| rest.split('/').nth(1));
        let owner = owner.map(|owner| TaskId(owner.to_owned()));
        let closed = match owner {
            Some(owner) => closed_since(world, &owner).await?,
            None => None,
        };
        match closed {
            None => counts.add_young(1),
            Some(at) if counts.add(bounds, at) => old.push(kept),
            Some(_) => {}
        }
    }
    Ok(old)
}

/// Since when a task is closed; none when it is open or gone.
async fn closed_since(world: &World, id: &TaskId) -> Result<Option<Timestamp>> {
    let mut conn = world.store().read().await?;
    let Some(task) = conn.tasks().get(id).await? else { return Ok(None) };
    let context = core::contexts::context_of(world, &mut conn, &task).await?;
    let is_closed = context.workflow.state(&task.status).is_some_and(|state| state.is_terminal());
    Ok(is_closed.then_some(task.status_since))
}

/// Forgets reviewed commits.
pub(crate) async fn forget_reviewed(repo: &Repo, old: Vec<Backup>) -> Result<()> {
    for kept in old {
        repo.delete_ref(&kept.ref_name, &kept.commit).await?;
        tracing::info!(name = %kept.ref_name, commit = %kept.commit, "forgot a reviewed commit");
    }
    Ok(())
}

/// Keeps the reviewed commits of a task that is deleted as backups, which go by their age.
pub(crate) async fn turn_reviewed_into_backups(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<()> {
    let Some(repo) = present_repo(world, context).await? else { return Ok(()) };
    for kept in repo.backups(&reviewed_prefix(&task.id)).await? {
        repo.next_number(&backup_prefix(task), &kept.commit).await?;
        repo.delete_ref(&kept.ref_name, &kept.commit).await?;
    }
    Ok(())
}

/// Where reviewed commits are kept.
pub(crate) const REVIEWED: &str = "refs/forge/reviewed";

/// Where the details of an annotation name the commit that a missing branch can be restored from.
pub(crate) const RESTORABLE: &str = "reviewed_commit";

/// Where the reviewed commits of a task are kept.
pub(crate) fn reviewed_prefix(task: &TaskId) -> String {
    format!("{REVIEWED}/{task}")
}

/// The newest commit of a task that is still there: of its reviews, else of its runs.
pub(crate) async fn known_commit(world: &World, repo: &Repo, task: &TaskRow) -> Result<Option<String>> {
    let (all, worked) = {
        let mut conn = world.store().read().await?;
        (conn.reviews().list(&task.id).await?, conn.executions().list(&task.id).await?)
    };
    let reviewed = all.into_iter().rev().filter_map(|review| review.reviewed_commit);
    let committed = worked.into_iter().rev().filter_map(|row| row.execution.after_commit);
    for commit in reviewed.chain(committed) {
        if repo.resolve(&commit).await?.is_some() {
            return Ok(Some(commit));
        }
    }
    Ok(None)
}

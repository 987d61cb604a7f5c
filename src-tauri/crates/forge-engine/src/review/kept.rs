//! Reviewed commits of closed tasks: kept for a while, then forgotten.

use forge_git::{Backup, Repo};
use forge_model::ids::TaskId;
use forge_model::retention::{Bounds, Counts};
use forge_model::time::Timestamp;
use forge_store::table::tasks;
use forge_store::table::tasks::TaskRow;

use crate::{
    Engine,
    core::{
        self,
        context::{ProjectContext, backup_prefix},
    },
    error::Result,
    review::{REVIEWED, present_repo, reviewed_prefix},
};

/// The reviewed commits of tasks that this engine knows to be closed since before `until`, and how many are kept in all.
pub(crate) async fn old_reviewed(
    engine: &Engine,
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
            Some(owner) => closed_since(engine, &owner).await?,
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
async fn closed_since(engine: &Engine, id: &TaskId) -> Result<Option<Timestamp>> {
    let mut conn = engine.store().read().await?;
    let Some(task) = tasks::get(&mut conn, id).await? else { return Ok(None) };
    let context = core::context::context_of(engine, &mut conn, &task).await?;
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
    engine: &Engine,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<()> {
    let Some(repo) = present_repo(engine, context).await? else { return Ok(()) };
    for kept in repo.backups(&reviewed_prefix(&task.id)).await? {
        repo.next_number(&backup_prefix(task), &kept.commit).await?;
        repo.delete_ref(&kept.ref_name, &kept.commit).await?;
    }
    Ok(())
}

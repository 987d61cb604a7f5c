//! What services contribute: they start when a review waits for a person, end before their worktree goes, and are
//! gone on with at start.

use forge_model::service::Service;
use forge_model::workspace::Workspace;

use super::{ends, follow::begin, policy::stopped, review, running::services, unfollowed::unfollowed};
use crate::{
    World,
    core::{self, world::features::Moments},
    error::Result,
};

pub(crate) fn contribute(moments: &mut Moments) {
    moments.on_review_waits.push(|world, tx, task| Box::pin(review::waits(world, tx, task)));
    moments.on_worktree_goes.push(|world, workspace| Box::pin(make_way(world, workspace)));
    moments.resume.push(|world| Box::pin(resume(world)));
}

/// Ends the services in a worktree that is about to go.
async fn make_way(world: &World, workspace: &Workspace) -> Result<()> {
    // A writing transaction, so that a start is either seen here or sees that the worktree goes.
    let ended = core::disk::with_patience(world, || async {
        let mut tx = world.store().write().await?;
        let running = tx.services().active().await?;
        let own = running.into_iter().map(|row| row.service).filter(|it| it.task_id == workspace.task_id);
        let own: Vec<Service> = own.collect();
        for service in &own {
            ends::end(world, &mut tx, service, &stopped("Stopped since its worktree was removed")).await?;
        }
        tx.commit().await?;
        Ok(own)
    })
    .await?;
    ends::end_processes(world, &ended).await?;
    for running in services(world).of_task(&workspace.task_id) {
        ends::end_followed(&running).await?;
    }
    Ok(())
}

/// Goes on with the services that the keeper has, and with those that it never got. A keeper that does not answer keeps
/// no engine from its start: what it has is looked for again when somebody starts a service.
async fn resume(world: &World) -> Result<()> {
    match unfollowed(world).await {
        Ok(rows) => rows.into_iter().for_each(|(row, found)| begin(world, row, found)),
        Err(error) => tracing::warn!(%error, "does not know which services went on"),
    }
    review::begin_recorded(world);
    Ok(())
}

//! What services contribute: they start when a review waits for a person, end before their worktree goes, and are
//! gone on with at start.

use std::any::Any;

use forge_model::service::Service;
use forge_model::workspace::Workspace;

use super::{
    ends,
    follow::begin,
    policy::stopped,
    review,
    running::{Found, services},
};
use crate::{
    EngineError, World,
    core::{self, world::features::Moments},
    error::Result,
};

pub(crate) fn contribute(moments: &mut Moments) {
    moments.on_review_waits.push(|world, tx, task| Box::pin(review::waits(world, tx, task)));
    moments.on_worktree_goes.push(|world, workspace| Box::pin(make_way(world, workspace)));
    moments.resume.push(|world| Box::pin(resume(world)));
}

/// Ends the services in a worktree that is about to go; none starts there while what is returned lives.
async fn make_way(world: &World, workspace: &Workspace) -> Result<Box<dyn Any + Send>> {
    let going = services(world).goes(&workspace.id);
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
    for service in &ended {
        ends::end_process(world, service).await?;
    }
    for running in services(world).of_task(&workspace.task_id) {
        running.stop.cancel();
        running.over.cancelled().await;
    }
    Ok(Box::new(going))
}

/// Goes on with the services that the keeper has, and with those that it never got.
async fn resume(world: &World) -> Result<()> {
    let rows = world.store().read().await?.services().active().await?;
    if !rows.is_empty() {
        let kept = world.keeper().runs().await.map_err(EngineError::io("ask which services went on"))?;
        for row in rows {
            let found = match (kept.iter().any(|kept| kept.id == row.service.log_id), row.spawned) {
                (true, _) => Found::Kept,
                (false, true) => Found::Lost,
                (false, false) => Found::New,
            };
            begin(world, row, found);
        }
    }
    review::begin_recorded(world);
    Ok(())
}

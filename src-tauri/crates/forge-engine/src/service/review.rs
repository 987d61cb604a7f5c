//! Services that start when a review waits for a person.

use forge_model::actor::{Actor, Cause};
use forge_model::service::{ServiceDefinition, ServiceStart};
use forge_model::workflow::State;
use forge_model::workspace::Workspace;
use forge_store::Tx;
use forge_store::table::tasks::TaskRow;

use super::{
    command::{new_row, record},
    ends,
    follow::begin,
    policy::{failed, stopped},
    running::{Found, services},
};
use crate::{
    EngineError, Work, World,
    core::{self, lineage::is_entry},
    error::Result,
};

const REVIEW: Actor = Actor::System { cause: Cause::Review };

/// A review waits for a person: writes the starts that the project wants then, and in place of an earlier review's.
/// None for plans, which have no work to try, nor for entries of a race, of which only the winner is tried.
pub(super) async fn waits(world: &World, tx: &mut Tx, task: &TaskRow) -> Result<()> {
    if world.inner.config.work != Work::All || is_entry(task) {
        return Ok(());
    }
    let context = core::contexts::context_of(world, tx, task).await?;
    let plans = context.workflow.state(&task.status).is_some_and(State::plans);
    let wanted = |(_, one): &(usize, &ServiceDefinition)| one.start == ServiceStart::OnReview;
    let wanted: Vec<_> = context.settings.services.iter().enumerate().filter(wanted).collect();
    let Some(workspace) = tx.workspaces().last(&task.id).await?.filter(|_| !plans && !wanted.is_empty())
    else {
        return Ok(());
    };
    for (place, definition) in wanted {
        end_earlier(world, tx, task, definition).await?;
        match record(world, tx, &REVIEW, task, &workspace, (place, definition)).await {
            Err(EngineError::Conflict { message, .. }) => {
                refuse(world, tx, task, &workspace, definition, &message).await?;
            }
            done => drop(done?),
        }
    }
    services(world).recorded.notify_one();
    Ok(())
}

/// What an earlier review started shows earlier work.
async fn end_earlier(
    world: &World,
    tx: &mut Tx,
    task: &TaskRow,
    definition: &ServiceDefinition,
) -> Result<()> {
    for row in tx.services().active().await? {
        if row.service.task_id == task.id && row.service.name == definition.name {
            ends::end(world, tx, &row.service, &stopped("Started again for the next review")).await?;
        }
    }
    Ok(())
}

/// Writes a start down that was refused, and why.
async fn refuse(
    world: &World,
    tx: &mut Tx,
    task: &TaskRow,
    workspace: &Workspace,
    definition: &ServiceDefinition,
    why: &str,
) -> Result<()> {
    let row = new_row(world, &REVIEW, task, definition, workspace.port_base);
    tx.services_mut().insert(&row).await?;
    ends::end(world, tx, &row.service, &failed(format!("Not started: {why}"))).await?;
    Ok(())
}

/// Begins with what reviews wrote down, once their transactions are committed, and ends what they ended.
pub(super) fn begin_recorded(world: &World) {
    core::guarded::keep_going(world, async |world: World| {
        let services = services(&world);
        loop {
            tokio::select! {
                () = world.inner.shutdown.cancelled() => return,
                () = services.recorded.notified() => {}
            }
            if let Err(error) = begin_all(&world).await {
                tracing::warn!(%error, "failed to start the services of a review");
            }
        }
    });
}

async fn begin_all(world: &World) -> Result<()> {
    core::disk::with_patience(world, || async {
        // A writing transaction, although it only reads: it waits for the one that asked, and nothing starts meanwhile.
        let mut tx = world.store().write().await?;
        let rows = tx.services().active().await?;
        services(world).stop_others(&rows);
        drop(tx);
        for row in rows.into_iter().filter(|row| !row.spawned) {
            begin(world, row, Found::New);
        }
        Ok(())
    })
    .await
}

//! Writing the end of a service, and ending its process.

use forge_model::event::EventType;
use forge_model::service::Service;
use forge_store::Tx;
use forge_store::table::services::ServiceEnd;
use serde_json::json;

use super::running::{Running, services};
use crate::{
    ConflictCode, EngineError, World,
    core::{self, going::ENDS_WITHIN},
    error::Result,
};

/// Tells of a service's state.
pub(super) async fn emit(
    world: &World,
    tx: &mut Tx,
    service: &Service,
    end: Option<&ServiceEnd>,
) -> Result<()> {
    let state = end.map_or(service.state, |end| end.state);
    let reason = end.map(|end| end.reason.as_str());
    let facts = json!({ "name": service.name, "state": state, "reason": reason });
    let (project, task) = (Some(&service.project_id), Some(&service.task_id));
    tx.emit(EventType::ServiceChanged, world.now(), project, task, service.id.as_str(), &facts).await?;
    Ok(())
}

/// Writes an end in a transaction. Whether the service had none.
pub(super) async fn end(world: &World, tx: &mut Tx, service: &Service, end: &ServiceEnd) -> Result<bool> {
    let is_first = tx.services_mut().end(&service.id, end, world.now()).await?;
    if is_first {
        emit(world, tx, service, Some(end)).await?;
    }
    Ok(is_first)
}

/// Writes an end, and waits for a disk that refuses it.
pub(super) async fn write_end(world: &World, service: &Service, how: &ServiceEnd) -> Result<()> {
    core::disk::with_patience(world, || async {
        let mut tx = world.store().write().await?;
        end(world, &mut tx, service, how).await?;
        Ok(tx.commit().await?)
    })
    .await?;
    world.point("service.ended");
    Ok(())
}

/// Ends the processes of services whose ends are written, all of them at once, and waits until nothing of them runs.
///
/// # Errors
/// The first of those that could not be ended, once all others are.
pub(super) async fn end_processes(world: &World, ended: &[Service]) -> Result<()> {
    let all = futures::future::join_all(ended.iter().map(|service| end_process(world, service))).await;
    all.into_iter().collect()
}

/// Ends the process of a service whose end is written, and waits until nothing of it runs.
pub(super) async fn end_process(world: &World, service: &Service) -> Result<()> {
    if let Some(running) = services(world).get(&service.id) {
        return end_followed(&running).await;
    }
    // Nobody follows it in this process, which does only what it is told of.
    world.keeper().forget(&service.log_id).await.map_err(EngineError::io("end a service"))
}

/// Ends a service that is followed, and waits until nothing of it runs.
///
/// # Errors
/// When it goes on running.
pub(super) async fn end_followed(running: &Running) -> Result<()> {
    running.stop.cancel();
    match tokio::time::timeout(ENDS_WITHIN, running.over.cancelled()).await {
        Ok(()) => Ok(()),
        Err(_elapsed) => {
            let message =
                "a service of the task does not end: the program that runs services does not answer";
            Err(EngineError::conflict(ConflictCode::InUse, message))
        }
    }
}

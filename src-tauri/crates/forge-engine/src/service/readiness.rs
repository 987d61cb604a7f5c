//! Waiting until a service is ready, for as long as it may take, and until it was idle for too long.

use std::time::Duration;

use forge_model::service::{ServiceReady, ServiceState};
use forge_model::time::Timestamp;
use forge_model::words::counted;
use forge_store::table::services::{ServiceEnd, ServiceRow};
use tokio::sync::watch;

use super::{
    ends,
    policy::{failed, stopped, taken_by},
    probe,
    running::Running,
};
use crate::{
    World,
    core::{self, sleep::sleep_until},
    error::{Result, whole},
};

/// Between two looks. No event tells when a program listens.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Watches a service that runs: notes when it is ready, and returns when it is to end: since it was not ready in time,
/// or was idle for as long as it may be.
pub(super) async fn watch(
    world: &World,
    row: &ServiceRow,
    running: &Running,
    matched: watch::Receiver<bool>,
) -> ServiceEnd {
    if row.service.state == ServiceState::Starting {
        let seconds = row.definition.ready_seconds();
        // From when it is followed: it may have been started long ago by an engine that was killed.
        let from = row.service.started_at.max(running.used());
        let deadline = from.plus_ms(i64::from(seconds) * 1000);
        let mut missing = "nothing listened".to_owned();
        let ready = tokio::select! {
            biased;
            ready = until_ready(row, matched, &mut missing) => Some(ready),
            in_time = sleep_until(world, deadline) => {
                if !in_time {
                    // The engine stops: somebody else says what becomes of the service.
                    std::future::pending::<()>().await;
                }
                None
            }
        };
        match ready {
            Some(Ok(())) => {}
            Some(Err(end)) => return end,
            None => {
                return failed(format!(
                    "Not ready within {}: {missing}",
                    counted(u64::from(seconds), "second", "seconds")
                ));
            }
        }
        running.use_at(world.now());
        if let Err(error) = write_ready(world, row).await {
            return failed(whole(&error));
        }
    }
    until_idle(world, row, running).await
}

/// Returns when it is ready, or can never be.
async fn until_ready(
    row: &ServiceRow,
    mut matched: watch::Receiver<bool>,
    missing: &mut String,
) -> Result<(), ServiceEnd> {
    let Some(ready) = &row.definition.ready else { return Ok(()) };
    if let Some(pattern) = &ready.pattern {
        *missing = format!("no line of its output matched `{pattern}`");
        // The sender lives as long as the service is followed.
        let _ = matched.wait_for(|matched| *matched).await;
        return Ok(());
    }
    let port = u16::try_from(row.service.port).unwrap_or_default();
    loop {
        match answers(ready, port).await {
            Ok(()) => break,
            Err(why) => *missing = why,
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    // Another program may have taken the port meanwhile.
    let found = tokio::task::spawn_blocking(move || forge_exec::listeners(port)).await.unwrap_or_default();
    match taken_by(row.service.port, &found, Some(&row.service.log_id)) {
        Some(other) => Err(failed(other)),
        None => Ok(()),
    }
}

async fn answers(ready: &ServiceReady, port: u16) -> Result<(), String> {
    let Some(path) = &ready.http else {
        let connected = probe::connect(port).await;
        return connected.map(drop).map_err(|_| format!("nothing listened on port {port}"));
    };
    match probe::status(port, path).await {
        Ok(200..=399) => Ok(()),
        Ok(status) => Err(format!("`{path}` responded with status {status}")),
        Err(error) => Err(format!("`{path}` did not respond on port {port} ({error})")),
    }
}

async fn write_ready(world: &World, row: &ServiceRow) -> Result<()> {
    core::disk::with_patience(world, || async {
        let mut tx = world.store().write().await?;
        if tx.services_mut().set_ready(&row.service.id, world.now()).await? {
            let mut ready = row.service.clone();
            ready.state = ServiceState::Ready;
            ends::emit(world, &mut tx, &ready, None).await?;
        }
        Ok(tx.commit().await?)
    })
    .await?;
    world.point("service.ready");
    Ok(())
}

/// Returns when nobody used it for as long as it may be idle.
async fn until_idle(world: &World, row: &ServiceRow, running: &Running) -> ServiceEnd {
    let minutes = row.definition.idle_minutes();
    let due = |used: Timestamp| used.plus_ms(i64::from(minutes) * 60_000);
    loop {
        let at = due(running.used());
        if !sleep_until(world, at).await {
            std::future::pending::<()>().await;
        }
        note_connections(world, running).await;
        if due(running.used()) <= world.now() {
            let idle = counted(u64::from(minutes), "minute", "minutes");
            return stopped(format!("Stopped after {idle} without use"));
        }
    }
}

/// Somebody who is connected uses it.
pub(super) async fn note_connections(world: &World, running: &Running) {
    let port = u16::try_from(running.port).unwrap_or_default();
    let connected = tokio::task::spawn_blocking(move || forge_exec::is_connected(port)).await;
    if connected.unwrap_or(true) {
        running.use_at(world.now());
    }
}

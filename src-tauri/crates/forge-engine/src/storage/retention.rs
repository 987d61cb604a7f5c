//! Retention: deletes logs of closed tasks, events and backups of worktrees when they are old. Ages count by
//! observed time (`core/observed_time.rs`); deleting more than half of anything waits for a person.

use std::{path::Path, time::Duration};

use forge_model::retention::Bounds;
use forge_model::storage::{Retention, RetentionAnswer, RetentionQuestion};
use forge_model::time::Timestamp;

use crate::{
    EngineError, World,
    core::{
        self,
        deletion::{may_delete, question_of, storage_changed},
    },
    error::Result,
    workspace,
};

/// The setting of Forge as a whole.
const SETTING: &str = "retention";
/// How often what is old is looked for.
const LOOK_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// The names of what may be deleted.
const LOGS: &str = "logs";
const EVENTS: &str = "events";
/// The logs of a task are compressed when it has been closed for so many days.
const COMPRESSED_AFTER_DAYS: u32 = 1;
/// How many events are kept at most, however young.
const EVENTS_KEPT: u32 = 100_000;
/// The longest time that anything can be kept.
const MOST_DAYS: u32 = 730;

#[derive(Default)]
struct Sweeps {
    /// Told when what is old is to be looked for before its time.
    wanted: tokio::sync::Notify,
    /// Whose turn it is to look for it.
    turn: tokio::sync::Mutex<()>,
}

/// How long old data is kept.
pub(crate) async fn retention(world: &World) -> Result<Retention> {
    let set = world.store().read().await?.app_settings().get(SETTING).await?;
    Ok(set.and_then(|set| serde_json::from_value(set).ok()).unwrap_or_default())
}

/// Sets how long old data is kept.
pub(crate) async fn set_retention(world: &World, wanted: &Retention) -> Result<()> {
    for (field, days) in
        [("retention.logs_days", wanted.logs_days), ("retention.events_days", wanted.events_days)]
    {
        if days > MOST_DAYS {
            return Err(EngineError::invalid(field, format!("must be at most {MOST_DAYS}")));
        }
    }
    let value =
        serde_json::to_value(wanted).map_err(|error| EngineError::io("write the setting")(error.into()))?;
    core::app_settings::set_app_setting(world, SETTING, &value).await?;
    storage_changed(world);
    world.part::<Sweeps>().wanted.notify_one();
    Ok(())
}

/// The deletions that wait for a person, or that a person decided on.
pub(crate) async fn retention_questions(world: &World) -> Result<Vec<RetentionQuestion>> {
    Ok(world.store().read().await?.retention().list().await?)
}

/// Says whether what is old is to be deleted, though it is more than half.
pub(crate) async fn answer_retention(world: &World, kind: &str, answer: RetentionAnswer) -> Result<()> {
    let mut tx = world.store().write().await?;
    if !tx.retention_mut().answer(kind, answer, world.now()).await? {
        return Err(EngineError::not_found("question", kind));
    }
    tx.commit().await?;
    storage_changed(world);
    world.part::<Sweeps>().wanted.notify_one();
    Ok(())
}

/// Deletes what is old, as far as it may, and compresses logs.
pub(crate) async fn sweep(world: &World) -> Result<()> {
    let sweeps = world.part::<Sweeps>();
    let _turn = sweeps.turn.lock().await;
    let swept = [
        sweep_logs(world).await,
        compress_old_logs(world).await,
        sweep_events(world).await,
        workspace::backups::prune_backups(world).await,
    ];
    swept.into_iter().collect()
}

/// How many events are kept.
pub(crate) async fn count_events(world: &World) -> Result<u32> {
    let bounds = Bounds::new(None, Timestamp(0));
    Ok(world.store().read().await?.events().count(bounds).await?.total)
}

/// The size of all logs; none when the engine stops meanwhile.
pub(crate) async fn logs_bytes(world: &World) -> Option<u64> {
    let folder: &Path = world.data_dir();
    workspace::disk::space_of(world, vec![folder.join("logs")]).await
}

/// Looks for what is old, now and then, and when a person says so.
pub(crate) fn keep_retention(world: &World) {
    core::guarded::keep_going(world, async |world: World| {
        let sweeps = world.part::<Sweeps>();
        loop {
            if let Err(error) = sweep(&world).await {
                tracing::warn!(%error, "failed to look for what is old; tomorrow again");
            }
            let goes_on = tokio::select! {
                goes_on = core::sleep::pause(&world, LOOK_EVERY) => goes_on,
                () = sweeps.wanted.notified() => true,
            };
            if !goes_on {
                return;
            }
        }
    });
}

async fn sweep_logs(world: &World) -> Result<()> {
    let days = retention(world).await?.logs_days;
    let Some(until) = core::observed_time::older_than(world, days).await?.filter(|_| days > 0) else {
        return Ok(());
    };
    let asked = question_of(world, LOGS, until).await?;
    let Some((old, counts)) = super::old_logs::old_logs(world, asked.bounds).await? else { return Ok(()) };
    if !may_delete(world, &asked, counts).await? {
        return Ok(());
    }
    super::old_logs::remove_logs(world, old).await;
    storage_changed(world);
    Ok(())
}

async fn compress_old_logs(world: &World) -> Result<()> {
    let Some(until) = core::observed_time::older_than(world, COMPRESSED_AFTER_DAYS).await? else {
        return Ok(());
    };
    if let Some((old, _)) = super::old_logs::old_logs(world, Bounds::new(None, until)).await? {
        super::old_logs::compress_logs(world, old).await;
        storage_changed(world);
    }
    Ok(())
}

async fn sweep_events(world: &World) -> Result<()> {
    let days = retention(world).await?.events_days;
    let old = core::observed_time::older_than(world, days).await?.filter(|_| days > 0);
    let beyond = world.store().read().await?.events().beyond(EVENTS_KEPT).await?;
    let Some(until) = old.max(beyond) else { return Ok(()) };
    let asked = question_of(world, EVENTS, until).await?;
    let counts = world.store().read().await?.events().count(asked.bounds).await?;
    if !may_delete(world, &asked, counts).await? {
        return Ok(());
    }
    let mut tx = world.store().write().await?;
    let removed = tx.events_mut().remove(asked.bounds).await?;
    tx.commit().await?;
    tracing::info!(removed, "removed old events");
    Ok(())
}

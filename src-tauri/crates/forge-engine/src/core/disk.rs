//! The health of the database and its disk: whether writes succeed, what waits while they do not, and how work
//! continues.
//!
//! A write that the disk refuses leaves nothing behind: its transaction is rolled back, and a command answers with
//! the reason. What nobody could repeat (the end of a run, the outcome of a step) waits in memory and is written
//! once the disk accepts writes again; a step that did not get so far is started again, as after a kill. A probe
//! with back-off finds out when that is.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use forge_model::ids::TaskId;
use forge_model::storage::{StorageTrouble, is_low};
use forge_store::StoreError;
use nix::sys::statvfs::statvfs;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, Work, World,
    core::{self, guarded::guarded, sync::locked},
    error::{Result, StorageFailure},
};

/// The first pause before a refused write is tried again, and the longest.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How long an answer of a probe holds.
const PROBE_HOLDS: Duration = Duration::from_millis(500);
/// How long a probe may wait for its turn to write.
const PROBE_PATIENCE: Duration = Duration::from_secs(5);
/// Free space below which files of the data folder are as good as refused.
const NOTHING_LEFT: u64 = 1024 * 1024;
/// How often free space is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// How long a start waits for the check of the content. A longer one goes on beside the work.
const CHECK_PATIENCE: Duration = Duration::from_millis(250);

/// The space of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpace {
    /// Bytes that Forge may use.
    pub free: u64,
    /// All bytes.
    pub total: u64,
}

/// How the database and its disk are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorageHealth {
    /// Why writes fail; none while they succeed.
    pub failure: Option<StorageFailure>,
    /// Whether free space is low.
    pub low: bool,
}

#[derive(Debug)]
pub(crate) struct Storage {
    health: watch::Sender<StorageHealth>,
    /// Whether somebody looks for the end of the trouble.
    watched: Mutex<bool>,
    /// When the last probe ended.
    probed: tokio::sync::Mutex<Option<Instant>>,
}

impl Default for Storage {
    fn default() -> Self {
        Self {
            health: watch::Sender::new(StorageHealth::default()),
            watched: Mutex::default(),
            probed: tokio::sync::Mutex::default(),
        }
    }
}

impl Storage {
    /// Has everybody who follows look again.
    pub(crate) fn touch(&self) {
        self.health.send_modify(|_| {});
    }
}

/// How the database and its disk are, as last seen.
#[must_use]
pub(crate) fn storage_health(world: &World) -> StorageHealth {
    world.part::<Storage>().health.borrow().clone()
}

/// Follows how the database and its disk are.
#[must_use]
pub(crate) fn follow_storage(world: &World) -> watch::Receiver<StorageHealth> {
    world.part::<Storage>().health.subscribe()
}

/// The space of the disk of the data folder; none where the system does not say.
#[must_use]
pub(crate) fn disk_space(world: &World) -> Option<DiskSpace> {
    let found = statvfs(&world.inner.config.data_dir).ok()?;
    let size = found.fragment_size();
    let bytes = |blocks: u64| blocks.saturating_mul(size);
    Some(DiskSpace { free: bytes(found.blocks_available()), total: bytes(found.blocks()) })
}

/// Writes a probe, unless one was written a moment ago, and says how the database is.
pub(crate) async fn probe_storage(world: &World) -> StorageHealth {
    let storage = world.part::<Storage>();
    let mut probed = storage.probed.lock().await;
    if probed.is_none_or(|at| at.elapsed() >= PROBE_HOLDS) {
        let outcome = tokio::time::timeout(PROBE_PATIENCE, world.store().probe(world.now().0)).await;
        *probed = Some(Instant::now());
        match outcome {
            Ok(Ok(())) => storage_works(world),
            Ok(Err(error)) => storage_fails(world, &error),
            // A long transaction is not a disk that refuses.
            Err(_) => tracing::warn!("a probe of the database waited too long for its turn"),
        }
    }
    drop(probed);
    storage_health(world)
}

/// Refuses while the database takes no writes, after a look whether it does by now.
pub(crate) async fn ensure_writable(world: &World) -> Result<()> {
    if storage_health(world).failure.is_none() {
        return Ok(());
    }
    match probe_storage(world).await.failure {
        Some(failure) => Err(EngineError::Storage(failure)),
        None => Ok(()),
    }
}

/// Somebody's write was refused: finds out whether all are, and waits for the end of it.
pub(crate) fn suspect_storage(world: &World) {
    if std::mem::replace(&mut *locked(&world.part::<Storage>().watched), true) {
        return;
    }
    let world = world.clone();
    world.clone().inner.tracker.spawn(async move {
        let wait = async {
            let mut pause = FIRST_PAUSE;
            while probe_storage(&world).await.failure.is_some_and(|failure| failure.trouble.passes()) {
                tokio::select! {
                    () = world.inner.shutdown.cancelled() => break,
                    () = tokio::time::sleep(pause.max(PROBE_HOLDS)) => {}
                }
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        };
        // The next refused write asks again, also after a panic.
        drop(guarded(wait).await);
        *locked(&world.part::<Storage>().watched) = false;
    });
}

fn storage_works(world: &World) {
    let mut was_failing = false;
    let low = disk_space(world).is_some_and(|space| is_low(space.free, space.total));
    world.part::<Storage>().health.send_if_modified(|health| {
        was_failing = health.failure.take().is_some();
        std::mem::replace(&mut health.low, low) != low || was_failing
    });
    if was_failing {
        tracing::info!("the database takes writes again");
        resume_work(world);
    }
}

fn storage_fails(world: &World, error: &StoreError) {
    let Some(trouble) = error.trouble() else {
        tracing::error!(%error, "failed to probe the database");
        return;
    };
    let out_of_space = disk_space(world).is_some_and(|space| space.free < NOTHING_LEFT);
    let trouble = if trouble == StorageTrouble::Io && out_of_space { StorageTrouble::Full } else { trouble };
    let detail = error.to_string();
    world.part::<Storage>().health.send_if_modified(|health| {
        if health.failure.as_ref().is_some_and(|known| known.trouble == trouble) {
            return false;
        }
        tracing::error!(%trouble, %detail, "the database takes no writes; {}", trouble.remedy());
        health.failure = Some(StorageFailure { trouble, detail: detail.clone(), since: world.now() });
        true
    });
}

/// Has everything looked at that may have been given up.
pub(crate) fn resume_work(world: &World) {
    if world.inner.config.work == Work::Nothing {
        return;
    }
    let world = world.clone();
    super::guarded::in_background(&world.clone(), async move {
        let open = async { world.store().read().await?.steps().tasks_with_open().await };
        match open.await {
            Ok(open) => open.iter().for_each(|task| super::workers::kick(&world, task)),
            Err(error) => tracing::error!(%error, "failed to look for pending work"),
        }
        core::scheduler::wake_waiting(&world);
    });
}

/// Whether an error passes with the trouble of the disk, so that what failed is worth another try then.
pub(crate) async fn passes_with_storage(world: &World, error: &EngineError) -> bool {
    match error {
        EngineError::Store(error) => error.trouble().is_some_and(StorageTrouble::passes),
        EngineError::Storage(failure) => failure.trouble.passes(),
        // Where the disk of the data folder is in order, another one is the trouble: a person must see that.
        other => {
            other.storage_trouble().is_some()
                && (probe_storage(world).await.failure.is_some_and(|failure| failure.trouble.passes())
                    || disk_space(world).is_some_and(|space| space.free < NOTHING_LEFT))
        }
    }
}

/// Tries until it succeeds, fails for a reason of its own, or the engine stops; waits for the disk in between.
pub(crate) async fn with_patience<T, F, Fut>(world: &World, attempt: F) -> Result<T>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T>>,
{
    with_patience_until(world, &world.inner.shutdown, attempt).await
}

/// The same until `cancel` fires.
pub(crate) async fn with_patience_until<T, F, Fut>(
    world: &World,
    cancel: &CancellationToken,
    mut attempt: F,
) -> Result<T>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T>>,
{
    let mut pause = FIRST_PAUSE;
    loop {
        match attempt().await {
            Err(error) if passes_with_storage(world, &error).await => {
                tracing::debug!(%error, "waiting for the disk");
                if !wait_for_storage(world, &mut pause, cancel).await {
                    return Err(error);
                }
            }
            done => return done,
        }
    }
}

/// Waits a moment, then until the database takes writes; false when `cancel` fires first.
pub(crate) async fn wait_for_storage(
    world: &World,
    pause: &mut Duration,
    cancel: &CancellationToken,
) -> bool {
    let mut health = world.part::<Storage>().health.subscribe();
    suspect_storage(world);
    let again = async {
        tokio::time::sleep(*pause).await;
        // The sender lives as long as the engine does.
        let _ = health.wait_for(|health| health.failure.is_none()).await;
    };
    tokio::select! {
        () = cancel.cancelled() => return false,
        () = world.inner.shutdown.cancelled() => return false,
        () = again => {}
    }
    *pause = (*pause * 2).min(LONGEST_PAUSE);
    true
}

/// Follows free space from now on.
pub(crate) fn watch_space(world: &World) {
    core::guarded::keep_going(world, async |world: World| {
        loop {
            let low = disk_space(&world).is_some_and(|space| is_low(space.free, space.total));
            let changed = world
                .part::<Storage>()
                .health
                .send_if_modified(|health| std::mem::replace(&mut health.low, low) != low);
            if changed && low {
                tracing::warn!("little space is left on the disk of the data folder");
            }
            if !core::sleep::pause(&world, LOOK_EVERY).await {
                return;
            }
        }
    });
}

/// Checks the content of the database. A short check is waited for; a long one goes on beside the work, which ends
/// at the first damage that it finds. Gives what it found in time.
pub(crate) async fn check_content(world: &World) -> Option<String> {
    let tracker = &world.inner.tracker;
    let world = world.clone();
    let check = tracker.spawn(async move {
        let begun = Instant::now();
        let checked = tokio::select! {
            () = world.inner.shutdown.cancelled() => return None,
            checked = world.store().check() => checked,
        };
        tracing::info!(ms = begun.elapsed().as_millis(), "checked the content of the database");
        match checked {
            Ok(None) => None,
            Ok(Some(detail)) => {
                storage_fails(&world, &StoreError::Damaged { detail: detail.clone() });
                Some(detail)
            }
            Err(error) => {
                tracing::error!(%error, "failed to check the content of the database");
                None
            }
        }
    });
    tokio::time::timeout(CHECK_PATIENCE, check).await.ok()?.ok()?
}

/// Says that work of a task goes on once the disk takes writes.
pub(crate) fn say_waits_for_disk(task: &TaskId, error: &EngineError) {
    tracing::warn!(%task, %error, "a task waits for the disk");
}

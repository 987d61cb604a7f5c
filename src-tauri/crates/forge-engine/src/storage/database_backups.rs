//! Copies of the database: one a day while the engine works, and more when a person asks.

use std::sync::Mutex;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use forge_model::storage::{Backup, BackupReason};
use forge_model::time::Timestamp;
use forge_store::{backups, backups::BackupError};

use crate::{
    EngineError, Work, World,
    core::{self, sync::locked},
    error::Result,
};

/// How often the age of the newest copy is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(60 * 60);
/// How old the newest copy may be.
const ONE_DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// How old the newest copy is when something must be wrong.
const BEHIND_MS: i64 = 2 * ONE_DAY_MS;
/// Space that a copy leaves free besides its own size.
const SPARE_BYTES: u64 = 256 * 1024 * 1024;

/// Why the last daily copy of the database could not be made.
#[derive(Default)]
struct CopyFailure(Mutex<Option<String>>);

/// The copies of the database, newest first.
pub(crate) async fn database_backups(world: &World) -> Result<Vec<Backup>> {
    Ok(backups::list(world.data_dir())?)
}

/// Whether the daily copies are behind: by observed time the newest one is older than 2 days, or there is none for
/// so long.
pub(crate) async fn backups_are_behind(world: &World) -> Result<bool> {
    let newest = database_backups(world).await?.into_iter().next();
    let made = newest.map_or(Timestamp(0), |backup| backup.created_at);
    Ok(core::observed_time::observed_age(world, made).await?.is_some_and(|age| age >= BEHIND_MS))
}

/// Why the last daily copy could not be made; none when it was, or none was due.
#[must_use]
pub(crate) fn backup_failure(world: &World) -> Option<String> {
    locked(&world.part::<CopyFailure>().0).clone()
}

/// Copies the database now, while work goes on.
pub(crate) async fn back_up_database(world: &World) -> Result<Backup> {
    Ok(world.store().back_up(BackupReason::Manual).await?)
}

/// Has the next start restore a copy of the database. A database in use is not replaced: agents work on what it
/// says.
pub(crate) async fn restore_database(world: &World, name: &str) -> Result<Backup> {
    Ok(backups::restore_at_next_start(world.data_dir(), name).await?)
}

/// The copy that the next start restores, if one is to be.
#[must_use]
pub(crate) fn pending_restore(world: &World) -> Option<String> {
    backups::pending(world.data_dir())
}

/// Why the last start did not restore the copy that was chosen, and the file that says so; none when it did, or
/// another one was chosen since.
#[must_use]
pub(crate) fn failed_restore(world: &World) -> Option<(String, PathBuf)> {
    let reason = backups::not_restored(world.data_dir())?;
    Some((reason, backups::not_restored_file(world.data_dir())))
}

/// The size of the database with its log.
#[must_use]
pub(crate) fn database_bytes(world: &World) -> u64 {
    let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |data| data.len());
    let path = world.store().path();
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    bytes(path) + bytes(Path::new(&log))
}

/// Copies the database once a day from now on.
pub(crate) fn keep_database_copied(world: &World) {
    if world.inner.config.work != Work::All {
        return;
    }
    core::guarded::keep_going(world, async |world: World| {
        loop {
            let failed = copy_if_due(&world).await.err().map(|error| error.to_string());
            if let Some(error) = &failed {
                tracing::warn!(%error, "failed to make the daily copy of the database; trying again in an hour");
            }
            *locked(&world.part::<CopyFailure>().0) = failed;
            if !core::sleep::pause(&world, LOOK_EVERY).await {
                return;
            }
        }
    });
}

async fn copy_if_due(world: &World) -> Result<()> {
    let newest = database_backups(world).await?.into_iter().next();
    // A copy from the future was made by a clock that was wrong: it says nothing.
    let age = newest.map(|backup| world.now().since(backup.created_at)).filter(|age| *age >= 0);
    if age.is_some_and(|age| age < ONE_DAY_MS) {
        return Ok(());
    }
    let needed = database_bytes(world).saturating_add(SPARE_BYTES);
    if core::disk::disk_space(world).is_some_and(|space| space.free < needed) {
        let reason = format!("a copy needs {} MiB of free space", needed.div_ceil(1024 * 1024));
        return Err(EngineError::io("copy the database")(std::io::Error::new(
            std::io::ErrorKind::StorageFull,
            reason,
        )));
    }
    tokio::select! {
        () = world.inner.shutdown.cancelled() => {}
        copied = world.store().back_up(BackupReason::Daily) => drop(copied?),
    }
    Ok(())
}

impl From<BackupError> for EngineError {
    fn from(error: BackupError) -> Self {
        match error {
            BackupError::Unknown(name) => Self::not_found("backup", name),
            BackupError::Store(error) => Self::Store(error),
            BackupError::Io { what, path, source } => Self::io(format!("{what} {}", path.display()))(source),
            other @ (BackupError::Damaged { .. } | BackupError::Foreign(_)) => {
                Self::conflict(crate::ConflictCode::BackupUnusable, other.to_string())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    };

    use futures::future::BoxFuture;
    use tokio::sync::Notify;

    use super::*;
    use crate::{Clock, EngineConfig, SystemClock};

    const HOUR_MS: i64 = ONE_DAY_MS / 24;

    /// The system's clock, so much later.
    #[derive(Default)]
    struct Later {
        ms: AtomicI64,
        jumped: Notify,
    }

    impl Clock for Later {
        fn now(&self) -> Timestamp {
            SystemClock.now().plus_ms(self.ms.load(Ordering::Acquire))
        }

        fn jumped(&self) -> BoxFuture<'_, ()> {
            Box::pin(self.jumped.notified())
        }
    }

    impl Later {
        /// Jumps, and gives those who wait the time to see it.
        async fn jump(&self, ms: i64) {
            self.ms.fetch_add(ms, Ordering::AcqRel);
            self.jumped.notify_one();
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }

    async fn until_copies(world: &World, count: usize) {
        for _ in 0..400 {
            if database_backups(world).await.unwrap().len() == count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("not {count} copies: {:#?}", database_backups(world).await.unwrap());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn database_is_copied_when_the_newest_copy_is_a_day_old() {
        let (dir, clock) = (tempfile::tempdir().unwrap(), Arc::new(Later::default()));
        let mut config = EngineConfig::new(dir.path().to_owned(), std::env::vars_os());
        config.clock = Arc::clone(&clock) as Arc<dyn Clock>;
        let world = crate::start::open(config).await.unwrap();
        until_copies(&world, 1).await;
        assert!(!backups_are_behind(&world).await.unwrap());
        clock.jump(23 * HOUR_MS).await;
        assert_eq!(database_backups(&world).await.unwrap().len(), 1, "copied before its time");
        clock.jump(2 * HOUR_MS).await;
        until_copies(&world, 2).await;
        // Files have the system's time: to this clock the copies are as old as they were, and older each day.
        for _ in 0..2 {
            clock.jump(ONE_DAY_MS).await;
        }
        assert!(backups_are_behind(&world).await.unwrap());
        crate::start::stop(&world, crate::start::Runs::End).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn daily_copy_that_fails_is_told_until_one_succeeds() {
        let (dir, clock) = (tempfile::tempdir().unwrap(), Arc::new(Later::default()));
        let backups = dir.path().join("backups");
        std::fs::write(&backups, "no folder").unwrap();
        let mut config = EngineConfig::new(dir.path().to_owned(), std::env::vars_os());
        config.clock = Arc::clone(&clock) as Arc<dyn Clock>;
        let world = crate::start::open(config).await.unwrap();
        for _ in 0..400 {
            if backup_failure(&world).is_some() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let failure = backup_failure(&world).expect("nothing is told");
        assert!(failure.contains("backups"), "{failure}");
        std::fs::remove_file(&backups).unwrap();
        clock.jump(HOUR_MS).await;
        until_copies(&world, 1).await;
        clock.jump(HOUR_MS).await;
        assert_eq!(backup_failure(&world), None);
        crate::start::stop(&world, crate::start::Runs::End).await;
    }
}

//! The database and its disk: their state, copies of the database, and how long old data is kept.

use forge_engine::{DiskSpace, StorageFailure};
use forge_model::actor::Actor;
use forge_model::storage::{Backup, Retention, RetentionAnswer, RetentionQuestion, StorageTrouble};
use forge_model::time::Timestamp;

use super::{Empty, Page, answer, input};
use crate::{Api, ApiError};

answer! {
    /// Why the database refuses writes.
    pub struct StorageProblem {
        /// Kind of the problem.
        pub trouble: StorageTrouble,
        /// Message of the database or the system.
        pub detail: String,
        /// Remedy.
        pub remedy: String,
        /// Start of the problem.
        pub since: Timestamp,
    }

    /// The state of the database and its disk.
    pub struct StorageStatus {
        /// Whether the last write succeeded.
        pub writable: bool,
        /// Why writes fail; null while they succeed.
        pub problem: Option<StorageProblem>,
        /// Free bytes on the disk of the data folder; null if unknown.
        #[specta(type = Option<f64>)]
        pub free_bytes: Option<u64>,
        /// Size of that disk in bytes.
        #[specta(type = Option<f64>)]
        pub total_bytes: Option<u64>,
        /// Whether little space is left: less than 1 GiB or 2 % of the disk.
        pub low: bool,
        /// The copy that the next start restores.
        pub restore_pending: Option<String>,
        /// Why the last start could not restore the chosen copy; null if it did, or if another copy was chosen since.
        pub restore_failed: Option<String>,
        /// How long old data is kept.
        pub retention: Retention,
        /// Deletions of more than half of something, which wait for confirmation.
        pub questions: Vec<RetentionQuestion>,
    }

    /// Disk usage of Forge's own data, measured on request.
    pub struct StorageUsage {
        /// The size of the database with its write-ahead log.
        #[specta(type = f64)]
        pub database_bytes: u64,
        /// The size of all copies of the database.
        #[specta(type = f64)]
        pub backups_bytes: u64,
        /// The size of all logs; null while the engine stops.
        #[specta(type = Option<f64>)]
        pub logs_bytes: Option<u64>,
        /// How many events are kept.
        pub events: u32,
    }

    /// A copy that the next start restores.
    pub struct BackupRestore {
        /// The copy.
        pub backup: Backup,
        /// Always true: a database in use is not replaced.
        pub restart_required: bool,
    }
}

input! {
    /// Changes to storage.
    pub struct UpdateStorage {
        /// How long old data is kept; absent fields take their defaults.
        #[serde(default)]
        pub retention: Option<Retention>,
    }

    /// The answer to a deletion that waits for confirmation.
    pub struct AnswerQuestion {
        /// The question's `kind`.
        pub kind: String,
        /// Whether to delete.
        pub answer: RetentionAnswer,
    }

    /// A copy of the database.
    pub struct BackupPath {
        /// Its name.
        pub name: String,
    }
}

impl From<StorageFailure> for StorageProblem {
    fn from(failure: StorageFailure) -> Self {
        Self {
            remedy: failure.trouble.remedy().to_owned(),
            trouble: failure.trouble,
            detail: failure.detail,
            since: failure.since,
        }
    }
}

pub(crate) async fn get(api: Api, _: Actor, _: Empty) -> Result<StorageStatus, ApiError> {
    let found = api.engine().storage_status().await?;
    Ok(StorageStatus {
        writable: found.health.failure.is_none(),
        problem: found.health.failure.map(StorageProblem::from),
        free_bytes: found.space.map(|space: DiskSpace| space.free),
        total_bytes: found.space.map(|space| space.total),
        low: found.health.low,
        restore_pending: found.pending_restore,
        restore_failed: found.failed_restore.map(|(reason, _)| reason),
        retention: found.retention,
        questions: found.questions,
    })
}

pub(crate) async fn usage(api: Api, _: Actor, _: Empty) -> Result<StorageUsage, ApiError> {
    let found = api.engine().storage_usage().await?;
    Ok(StorageUsage {
        database_bytes: found.database_bytes,
        backups_bytes: found.backups_bytes,
        logs_bytes: found.logs_bytes,
        events: found.events,
    })
}

pub(crate) async fn update(api: Api, actor: Actor, change: UpdateStorage) -> Result<StorageStatus, ApiError> {
    if let Some(retention) = &change.retention {
        api.engine().set_retention(retention).await?;
    }
    get(api, actor, Empty {}).await
}

pub(crate) async fn answer(api: Api, actor: Actor, given: AnswerQuestion) -> Result<StorageStatus, ApiError> {
    api.engine().answer_retention(&given.kind, given.answer).await?;
    get(api, actor, Empty {}).await
}

pub(crate) async fn backups(api: Api, _: Actor, _: Empty) -> Result<Page<Backup>, ApiError> {
    Ok(Page::whole(api.engine().database_backups().await?))
}

pub(crate) async fn back_up(api: Api, _: Actor, _: Empty) -> Result<Backup, ApiError> {
    Ok(api.engine().back_up_database().await?)
}

pub(crate) async fn restore(api: Api, _: Actor, input: BackupPath) -> Result<BackupRestore, ApiError> {
    let backup = api.engine().restore_database(&input.name).await?;
    Ok(BackupRestore { backup, restart_required: true })
}

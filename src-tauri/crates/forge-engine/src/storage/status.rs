//! What is known about the storage of Forge as a whole: the disk, the database, and its copies. Nothing here writes.

use std::path::PathBuf;

use forge_model::storage::{Retention, RetentionQuestion};

use super::{database_backups, retention};
use crate::{
    World,
    core::{
        self,
        disk::{DiskSpace, StorageHealth},
    },
    error::Result,
};

/// The state of the storage.
#[derive(Debug, Clone)]
pub struct StorageStatus {
    /// The file of the database.
    pub database: PathBuf,
    /// How the database and its disk are, as last seen.
    pub health: StorageHealth,
    /// The space of the disk of the data folder; none where the system does not say.
    pub space: Option<DiskSpace>,
    /// The copy that the next start restores, if one is to be.
    pub pending_restore: Option<String>,
    /// Why the last start did not restore the copy that was chosen, and the file that says so; none when it did, or
    /// another one was chosen since.
    pub failed_restore: Option<(String, PathBuf)>,
    /// How long old data is kept.
    pub retention: Retention,
    /// The deletions that wait for a person, or that a person decided on.
    pub questions: Vec<RetentionQuestion>,
}

/// How much space the storage takes.
#[derive(Debug, Clone, Copy)]
pub struct StorageUsage {
    /// The size of the database with its log.
    pub database_bytes: u64,
    /// The size of all copies of the database.
    pub backups_bytes: u64,
    /// The size of all logs; none when the engine stops meanwhile.
    pub logs_bytes: Option<u64>,
    /// How many events are kept.
    pub events: u32,
}

/// How the daily copies of the database are.
#[derive(Debug, Clone)]
pub struct BackupStanding {
    /// Whether they are behind: by observed time the newest one is older than 2 days, or there is none for so long.
    pub behind: bool,
    /// Why the last one could not be made; none when it was, or none was due.
    pub failure: Option<String>,
}

/// The state of the storage.
pub(crate) async fn storage_status(world: &World) -> Result<StorageStatus> {
    Ok(StorageStatus {
        database: world.store().path().to_owned(),
        health: core::disk::storage_health(world),
        space: core::disk::disk_space(world),
        pending_restore: database_backups::pending_restore(world),
        failed_restore: database_backups::failed_restore(world),
        retention: retention::retention(world).await?,
        questions: retention::retention_questions(world).await?,
    })
}

/// How much space the storage takes.
pub(crate) async fn storage_usage(world: &World) -> Result<StorageUsage> {
    let backups = database_backups::database_backups(world).await?;
    Ok(StorageUsage {
        database_bytes: database_backups::database_bytes(world),
        backups_bytes: backups.iter().map(|backup| backup.bytes).sum(),
        logs_bytes: retention::logs_bytes(world).await,
        events: retention::count_events(world).await?,
    })
}

/// How the daily copies of the database are.
pub(crate) async fn backup_standing(world: &World) -> Result<BackupStanding> {
    Ok(BackupStanding {
        failure: database_backups::backup_failure(world),
        behind: database_backups::backups_are_behind(world).await?,
    })
}

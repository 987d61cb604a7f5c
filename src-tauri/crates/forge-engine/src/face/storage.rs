//! Public methods of [`Engine`] for the database and its disk, copies of the database, and retention.

use forge_model::storage::Backup;
use forge_model::storage::Retention;
use forge_model::storage::RetentionAnswer;
use tokio::sync::watch;

use crate::{
    Engine,
    core::{
        self,
        disk::{DiskSpace, StorageHealth},
    },
    error::Result,
    storage::{
        self,
        status::{BackupStanding, StorageStatus, StorageUsage},
    },
};

impl Engine {
    /// The state of the storage: disk, database, pending restore, retention.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn storage_status(&self) -> Result<StorageStatus> {
        storage::status::storage_status(&self.world).await
    }

    /// How much space the storage takes.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn storage_usage(&self) -> Result<StorageUsage> {
        storage::status::storage_usage(&self.world).await
    }

    /// How the daily copies of the database are.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn backup_standing(&self) -> Result<BackupStanding> {
        storage::status::backup_standing(&self.world).await
    }

    /// Writes a probe, unless one was written a moment ago, and says how the database is and how much space its disk
    /// has.
    pub async fn probe_storage(&self) -> (StorageHealth, Option<DiskSpace>) {
        (core::disk::probe_storage(&self.world).await, core::disk::disk_space(&self.world))
    }

    /// Follows how the database and its disk are.
    #[must_use]
    pub fn follow_storage(&self) -> watch::Receiver<StorageHealth> {
        core::disk::follow_storage(&self.world)
    }

    /// Refuses while the database takes no writes, after a look whether it does by now.
    ///
    /// # Errors
    /// The reason for which writes fail.
    pub async fn ensure_writable(&self) -> Result<()> {
        core::disk::ensure_writable(&self.world).await
    }

    /// Somebody's write was refused: finds out whether all are, and waits for the end of it.
    pub fn suspect_storage(&self) {
        core::disk::suspect_storage(&self.world);
    }

    /// The copies of the database, newest first.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub async fn database_backups(&self) -> Result<Vec<Backup>> {
        storage::database_backups::database_backups(&self.world).await
    }

    /// Copies the database now, while work goes on.
    ///
    /// # Errors
    /// When the copy cannot be made.
    pub async fn back_up_database(&self) -> Result<Backup> {
        storage::database_backups::back_up_database(&self.world).await
    }

    /// Has the next start restore a copy of the database. A database in use is not replaced: agents work on what it
    /// says.
    ///
    /// # Errors
    /// When there is no such copy, or it cannot be used.
    pub async fn restore_database(&self, name: &str) -> Result<Backup> {
        storage::database_backups::restore_database(&self.world, name).await
    }

    /// Sets how long old data is kept.
    ///
    /// # Errors
    /// `Invalid` for more days than can be counted; when it cannot be written.
    pub async fn set_retention(&self, wanted: &Retention) -> Result<()> {
        storage::retention::set_retention(&self.world, wanted).await
    }

    /// Says whether what is old is to be deleted, though it is more than half.
    ///
    /// # Errors
    /// `NotFound` when nobody asked.
    pub async fn answer_retention(&self, kind: &str, answer: RetentionAnswer) -> Result<()> {
        storage::retention::answer_retention(&self.world, kind, answer).await
    }

    /// Deletes what is old, as far as it may, and compresses logs.
    ///
    /// # Errors
    /// When something cannot be looked at; the rest was.
    pub async fn sweep(&self) -> Result<()> {
        storage::retention::sweep(&self.world).await
    }
}

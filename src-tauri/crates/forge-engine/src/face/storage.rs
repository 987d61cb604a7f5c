//! Public methods of [`Engine`] for copies of the database and retention.

use forge_model::storage::Backup;
use forge_model::storage::Retention;
use forge_model::storage::RetentionAnswer;
use forge_model::storage::RetentionQuestion;
use std::path::PathBuf;

use crate::{Engine, error::Result, storage};

impl Engine {
    /// The copies of the database, newest first.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub async fn database_backups(&self) -> Result<Vec<Backup>> {
        storage::database_backups::database_backups(self).await
    }

    /// Whether the daily copies are behind: by observed time the newest one is older than 2 days, or there is none for
    /// so long.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn backups_are_behind(&self) -> Result<bool> {
        storage::database_backups::backups_are_behind(self).await
    }

    /// Why the last daily copy could not be made; none when it was, or none was due.
    #[must_use]
    pub fn backup_failure(&self) -> Option<String> {
        storage::database_backups::backup_failure(self)
    }

    /// Copies the database now, while work goes on.
    ///
    /// # Errors
    /// When the copy cannot be made.
    pub async fn back_up_database(&self) -> Result<Backup> {
        storage::database_backups::back_up_database(self).await
    }

    /// Has the next start restore a copy of the database. A database in use is not replaced: agents work on what it
    /// says.
    ///
    /// # Errors
    /// When there is no such copy, or it cannot be used.
    pub async fn restore_database(&self, name: &str) -> Result<Backup> {
        storage::database_backups::restore_database(self, name).await
    }

    /// The copy that the next start restores, if one is to be.
    #[must_use]
    pub fn pending_restore(&self) -> Option<String> {
        storage::database_backups::pending_restore(self)
    }

    /// Why the last start did not restore the copy that was chosen, and the file that says so; none when it did, or
    /// another one was chosen since.
    #[must_use]
    pub fn failed_restore(&self) -> Option<(String, PathBuf)> {
        storage::database_backups::failed_restore(self)
    }

    /// The size of the database with its log.
    #[must_use]
    pub fn database_bytes(&self) -> u64 {
        storage::database_backups::database_bytes(self)
    }

    /// How long old data is kept.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn retention(&self) -> Result<Retention> {
        storage::retention::retention(self).await
    }

    /// Sets how long old data is kept.
    ///
    /// # Errors
    /// `Invalid` for more days than can be counted; when it cannot be written.
    pub async fn set_retention(&self, wanted: &Retention) -> Result<()> {
        storage::retention::set_retention(self, wanted).await
    }

    /// The deletions that wait for a person, or that a person decided on.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn retention_questions(&self) -> Result<Vec<RetentionQuestion>> {
        storage::retention::retention_questions(self).await
    }

    /// Says whether what is old is to be deleted, though it is more than half.
    ///
    /// # Errors
    /// `NotFound` when nobody asked.
    pub async fn answer_retention(&self, kind: &str, answer: RetentionAnswer) -> Result<()> {
        storage::retention::answer_retention(self, kind, answer).await
    }

    /// Deletes what is old, as far as it may, and compresses logs.
    ///
    /// # Errors
    /// When something cannot be looked at; the rest was.
    pub async fn sweep(&self) -> Result<()> {
        storage::retention::sweep(self).await
    }

    /// How many events are kept.
    ///
    /// # Errors
    /// When they cannot be counted.
    pub async fn count_events(&self) -> Result<u32> {
        storage::retention::count_events(self).await
    }

    /// The size of all logs; none when the engine stops meanwhile.
    pub async fn logs_bytes(&self) -> Option<u64> {
        storage::retention::logs_bytes(self).await
    }
}

//! Public methods of [`Engine`] for settings of Forge as a whole, the health of its storage, and observed time.

use forge_model::time::Timestamp;
use serde_json::Value;
use tokio::sync::watch;

use crate::{
    Engine,
    core::{
        self,
        disk::{DiskSpace, StorageHealth},
    },
    error::Result,
};

impl Engine {
    /// A setting of Forge as a whole; none when nobody made it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn app_setting(&self, key: &str) -> Result<Option<Value>> {
        core::app_settings::app_setting(self, key).await
    }

    /// Makes a setting of Forge as a whole.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_app_setting(&self, key: &str, value: &Value) -> Result<()> {
        core::app_settings::set_app_setting(self, key, value).await
    }

    /// How the database and its disk are, as last seen.
    #[must_use]
    pub fn storage_health(&self) -> StorageHealth {
        core::disk::storage_health(self)
    }

    /// Follows how the database and its disk are.
    #[must_use]
    pub fn follow_storage(&self) -> watch::Receiver<StorageHealth> {
        core::disk::follow_storage(self)
    }

    /// The space of the disk of the data folder; none where the system does not say.
    #[must_use]
    pub fn disk_space(&self) -> Option<DiskSpace> {
        core::disk::disk_space(self)
    }

    /// Writes a probe, unless one was written a moment ago, and says how the database is.
    pub async fn probe_storage(&self) -> StorageHealth {
        core::disk::probe_storage(self).await
    }

    /// Refuses while the database takes no writes, after a look whether it does by now.
    ///
    /// # Errors
    /// The reason for which writes fail.
    pub async fn ensure_writable(&self) -> Result<()> {
        core::disk::ensure_writable(self).await
    }

    /// Somebody's write was refused: finds out whether all are, and waits for the end of it.
    pub fn suspect_storage(&self) {
        core::disk::suspect_storage(self);
    }

    /// How much observed time has surely passed, in milliseconds, since the wall clock showed this time; none before
    /// anything was observed.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn observed_age(&self, made: Timestamp) -> Result<Option<i64>> {
        core::observed_time::observed_age(self, made).await
    }
}

//! What can be asked of a data folder without an engine: who has it, and its copies of the database.
//!
//! Invariant: what changes a folder holds its lock meanwhile.

use std::path::Path;

use forge_model::storage::{Backup, BackupReason};
use forge_store::{
    OpenError,
    backups::{self, BackupError},
};

use crate::{
    error::StartError,
    instance::{EngineAddress, Instance},
};

/// Who has a data folder open, if somebody does.
#[must_use]
pub fn holder(data_dir: &Path) -> Option<EngineAddress> {
    Instance::holder(data_dir)
}

/// Copies the database of a folder that no engine has.
///
/// # Errors
/// When an engine has it, or the copy cannot be made.
pub async fn back_up(data_dir: &Path) -> Result<Backup, StartError> {
    let _held = Instance::take(data_dir)?;
    Ok(backups::create(data_dir, BackupReason::Manual).await.map_err(OpenError::from)?)
}

/// Restores a copy of the database of a folder that no engine has. The former files are set aside.
///
/// # Errors
/// When an engine has it, there is no such copy, or it cannot be used.
pub async fn restore(data_dir: &Path, name: &str) -> Result<Backup, StartError> {
    let _held = Instance::take(data_dir)?;
    let restore = async {
        let backup = backups::restore_at_next_start(data_dir, name).await?;
        let restored = backups::finish_restore(data_dir).await?;
        // None when the copy went between the two: what was chosen is not there.
        restored.ok_or(BackupError::Unknown(backup.name))
    };
    Ok(restore.await.map_err(OpenError::from)?)
}

/// The copies of the database of a folder, newest first.
///
/// # Errors
/// When they cannot be listed.
pub fn backups(data_dir: &Path) -> Result<Vec<Backup>, StartError> {
    Ok(backups::list(data_dir).map_err(OpenError::from)?)
}

/// The newest copy of the database of a folder that is whole.
///
/// # Errors
/// When they cannot be listed.
pub async fn newest_good_backup(data_dir: &Path) -> Result<Option<Backup>, StartError> {
    Ok(backups::newest_good(data_dir).await.map_err(OpenError::from)?)
}

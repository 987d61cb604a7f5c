//! The copies of a data folder: which there are, in their order, and whether one can be used.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use forge_model::storage::Backup;
use forge_model::time::Timestamp;

use super::files::{BackupError, failed};
use crate::{check::quick_check, connection};

/// The folder of the copies, below the data folder.
const FOLDER: &str = "backups";

/// The folder of the copies of a data folder.
#[must_use]
pub fn folder_of(data_dir: &Path) -> PathBuf {
    data_dir.join(FOLDER)
}

/// The copies of a data folder, newest first.
///
/// # Errors
/// When the folder cannot be read.
pub fn list(data_dir: &Path) -> Result<Vec<Backup>, BackupError> {
    let mut all = numbers(&folder_of(data_dir))?;
    all.reverse();
    all.iter().map(|(_, path)| described(path)).collect()
}

/// The newest copy that is whole; none when there is none.
///
/// # Errors
/// When the folder cannot be read.
pub async fn newest_good(data_dir: &Path) -> Result<Option<Backup>, BackupError> {
    for backup in list(data_dir)? {
        match check(Path::new(&backup.path)).await {
            Ok(()) => return Ok(Some(backup)),
            Err(error) => tracing::warn!(%error, "skipped a backup that cannot be used"),
        }
    }
    Ok(None)
}

/// A copy that can be restored.
pub(super) async fn usable(data_dir: &Path, name: &str) -> Result<Backup, BackupError> {
    let backup = find(data_dir, name)?;
    check(Path::new(&backup.path)).await?;
    Ok(backup)
}

/// Refuses a copy that is damaged or holds no data of Forge.
pub(super) async fn check(path: &Path) -> Result<(), BackupError> {
    if let Some(detail) = quick_check(path, false).await? {
        return Err(BackupError::Damaged { path: path.to_owned(), detail });
    }
    if connection::tables_of_copy(path).await? { Ok(()) } else { Err(BackupError::Foreign(path.to_owned())) }
}

fn find(data_dir: &Path, name: &str) -> Result<Backup, BackupError> {
    let found = list(data_dir)?.into_iter().find(|backup| backup.name == name);
    found.ok_or_else(|| BackupError::Unknown(name.to_owned()))
}

/// The copies in their order, oldest first. Their own numbers count and not the clock, which may have been wrong.
pub(super) fn numbers(folder: &Path) -> Result<Vec<(u64, PathBuf)>, BackupError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("read", folder)(error)),
    };
    let mut all = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed("read", folder))?.path();
        if path.extension() == Some(OsStr::new("db")) {
            let modified = fs::metadata(&path).and_then(|data| data.modified()).unwrap_or(UNIX_EPOCH);
            all.push((number_of(&path), modified, path));
        }
    }
    all.sort();
    Ok(all.into_iter().map(|(number, _, path)| (number, path)).collect())
}

/// Copies of earlier versions of Forge have no number: they come before all that have.
fn number_of(path: &Path) -> u64 {
    let stem = path.file_stem().map(OsStr::to_string_lossy).unwrap_or_default();
    stem.split_once('-').and_then(|(number, _)| number.parse().ok()).unwrap_or(0)
}

pub(super) fn described(path: &Path) -> Result<Backup, BackupError> {
    let data = fs::metadata(path).map_err(failed("read", path))?;
    let made = data.modified().unwrap_or(UNIX_EPOCH).duration_since(UNIX_EPOCH).unwrap_or_default();
    let name = path.file_stem().map(OsStr::to_string_lossy).unwrap_or_default();
    let reason = name.split_once('-').and_then(|(_, reason)| reason.parse().ok());
    Ok(Backup {
        reason: reason.filter(|_| number_of(path) > 0),
        name: name.into_owned(),
        created_at: Timestamp(i64::try_from(made.as_millis()).unwrap_or(0)),
        bytes: data.len(),
        path: path.to_string_lossy().into_owned(),
    })
}

//! Restoring a copy: chosen while an engine works, done by the next start before it opens the database.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use forge_model::storage::Backup;

use super::copies::usable;
use super::files::{BackupError, failed, remove_if_there, sync_folder};
use crate::connection::DATABASE;

/// Names the copy that is being restored, or is to be by the next start.
const PENDING: &str = "restore-pending";
/// Says why the copy that a start was to restore was not restored.
const NOT_RESTORED: &str = "restore-failed";
/// Where the files go that a restored copy takes the place of.
const SET_ASIDE: &str = "set-aside";

/// Has the next start restore a copy, after a look whether it can.
///
/// # Errors
/// When there is no such copy, it is damaged, or the wish cannot be written down.
pub async fn restore_at_next_start(data_dir: &Path, name: &str) -> Result<Backup, BackupError> {
    let backup = usable(data_dir, name).await?;
    let pending = data_dir.join(PENDING);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&pending);
    let written = match &mut file {
        Ok(file) => io::Write::write_all(file, backup.name.as_bytes()).and_then(|()| file.sync_all()),
        Err(error) => Err(io::Error::from(error.kind())),
    };
    written.map_err(failed("write", &pending))?;
    remove_if_there(&data_dir.join(NOT_RESTORED))?;
    sync_folder(data_dir)?;
    Ok(backup)
}

/// The copy that the next start restores, if one is to be.
#[must_use]
pub fn pending(data_dir: &Path) -> Option<String> {
    fs::read_to_string(data_dir.join(PENDING)).ok().map(|name| name.trim().to_owned())
}

/// Why the copy that a start was to restore was not restored: the copy was gone or damaged by then. Kept until another
/// restore is chosen.
#[must_use]
pub fn not_restored(data_dir: &Path) -> Option<String> {
    fs::read_to_string(not_restored_file(data_dir)).ok()
}

/// The file that holds what [`not_restored`] says.
#[must_use]
pub fn not_restored_file(data_dir: &Path) -> PathBuf {
    data_dir.join(NOT_RESTORED)
}

/// Restores the copy that is to be restored, if any. Nobody else may have the folder. A copy that is gone or damaged by
/// now is not restored: the present database stays, and [`not_restored`] says why.
///
/// # Errors
/// When it cannot be restored; the database is as it was then, or the next call finishes.
pub async fn finish_restore(data_dir: &Path) -> Result<Option<Backup>, BackupError> {
    let Some(name) = pending(data_dir) else { return Ok(None) };
    let backup = match usable(data_dir, &name).await {
        Ok(backup) => backup,
        Err(error @ (BackupError::Unknown(_) | BackupError::Damaged { .. } | BackupError::Foreign(_))) => {
            drop_wish(data_dir, &error)?;
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    // Copied first, so that a full disk is met while the database still is where it was.
    let ready = data_dir.join(format!("{PENDING}.db"));
    copy_file(Path::new(&backup.path), &ready)?;
    set_aside(data_dir)?;
    let database = data_dir.join(DATABASE);
    fs::rename(&ready, &database).map_err(failed("restore", &database))?;
    sync_folder(data_dir)?;
    let wish = data_dir.join(PENDING);
    fs::remove_file(&wish).map_err(failed("remove", &wish))?;
    tracing::info!(backup = %backup.name, "restored the database");
    Ok(Some(backup))
}

/// Gives up a restore that can never be done, since every start would fail by it, and says so in a file.
fn drop_wish(data_dir: &Path, reason: &BackupError) -> Result<(), BackupError> {
    tracing::warn!(%reason, "did not restore the chosen backup; the present database stays");
    let (wish, said) = (data_dir.join(PENDING), not_restored_file(data_dir));
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&said);
    let mut file = file.map_err(failed("write", &said))?;
    let written = io::Write::write_all(&mut file, reason.to_string().as_bytes());
    written.and_then(|()| file.sync_all()).map_err(failed("write", &said))?;
    fs::remove_file(&wish).map_err(failed("remove", &wish))?;
    remove_if_there(&data_dir.join(format!("{PENDING}.db")))?;
    sync_folder(data_dir)
}

fn copy_file(from: &Path, to: &Path) -> Result<(), BackupError> {
    let mut source = File::open(from).map_err(failed("read", from))?;
    let target = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(to);
    let mut target = target.map_err(failed("make", to))?;
    io::copy(&mut source, &mut target).and_then(|_| target.sync_all()).map_err(failed("write", to))
}

/// Moves the database with its log to a folder of its own.
fn set_aside(data_dir: &Path) -> Result<(), BackupError> {
    let parts = ["", "-wal", "-shm"].map(|end| format!("{DATABASE}{end}"));
    if parts.iter().all(|part| !data_dir.join(part).exists()) {
        return Ok(());
    }
    let all = data_dir.join(SET_ASIDE);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&all).map_err(failed("make", &all))?;
    let mut number = 1;
    let place = loop {
        let place = all.join(number.to_string());
        match fs::DirBuilder::new().mode(0o700).create(&place) {
            Ok(()) => break place,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(failed("make", &place)(error)),
        }
    };
    // The log first: a database without its log is whole up to an earlier moment, a log alone is nothing.
    for part in parts.iter().rev() {
        let from = data_dir.join(part);
        match fs::rename(&from, place.join(part)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("move aside", &from)(error));
            }
            _ => {}
        }
    }
    tracing::info!(folder = %place.display(), "set the former database aside");
    Ok(())
}

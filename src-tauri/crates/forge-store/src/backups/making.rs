//! Making copies, one after the other, and removing those beyond the number that is kept.

use std::{
    ffi::OsStr,
    fs::{self, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use forge_model::storage::{Backup, BackupReason};
use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection};
use tokio::sync::Mutex;

use super::copies::{check, described, folder_of, numbers};
use super::files::{BackupError, failed, remove_if_there, sync_folder};
use super::restoring::pending;
use crate::{
    Store,
    connection::{self, DATABASE},
};

/// How many copies are kept.
pub const KEPT: usize = 7;
/// What a copy is called while it is made.
const UNFINISHED: &str = ".unfinished";
/// Copies of one process are made one after the other: each takes as much space and disk as the database.
static TURN: Mutex<()> = Mutex::const_new(());
/// Tells the copies of one process apart while they are made.
static MADE: AtomicU64 = AtomicU64::new(0);

impl Store {
    /// Copies the database while others read and write it.
    ///
    /// # Errors
    /// When the copy cannot be made, or is damaged because the database is.
    pub async fn back_up(&self, reason: BackupReason) -> Result<Backup, BackupError> {
        let folder = self.path.parent().unwrap_or(&self.path);
        create(folder, reason).await
    }
}

/// Copies the database of a data folder, whether an engine has it open or not.
///
/// # Errors
/// When there is none, the copy cannot be made, or the database is damaged.
pub async fn create(data_dir: &Path, reason: BackupReason) -> Result<Backup, BackupError> {
    let _turn = TURN.lock().await;
    let (source, folder) = (data_dir.join(DATABASE), folder_of(data_dir));
    fs::metadata(&source).map_err(failed("read", &source))?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed("make", &folder))?;
    let unfinished = Unfinished(folder.join(format!(
        "{UNFINISHED}-{}-{}",
        std::process::id(),
        MADE.fetch_add(1, Ordering::Relaxed)
    )));
    copy(&source, &unfinished.0).await?;
    let path = take_number(&unfinished.0, &folder, reason)?;
    drop(unfinished);
    sync_folder(&folder)?;
    tracing::info!(backup = %path.display(), "copied the database");
    prune(data_dir)?;
    described(&path)
}

/// A copy while it is made. It goes when its making ends, however it ends: what is left of one that failed or was
/// given up would only take space, and a finished one has its name by then.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Err(error) = remove_if_there(&self.0) {
            tracing::warn!(%error, "failed to remove an unfinished backup; the next start tries again");
        }
    }
}

/// Gives a copy the next number. Of two that are made at once, each takes a number of its own.
fn take_number(made: &Path, folder: &Path, reason: BackupReason) -> Result<PathBuf, BackupError> {
    loop {
        let number = numbers(folder)?.last().map_or(1, |(number, _)| number + 1);
        let path = folder.join(format!("{number:06}-{reason}.db"));
        match fs::hard_link(made, &path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed("make", &path)(error)),
        }
    }
}

/// Removes what copies left that were cut short by the end of their process. Nobody else may have the folder.
pub(crate) fn sweep_unfinished(data_dir: &Path) {
    let Ok(entries) = fs::read_dir(folder_of(data_dir)) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
        if !name.starts_with(UNFINISHED) {
            continue;
        }
        match remove_if_there(&path) {
            Ok(()) => tracing::info!(path = %path.display(), "removed a backup that was cut short"),
            Err(error) => tracing::warn!(%error, "failed to remove a backup that was cut short"),
        }
    }
}

async fn copy(source: &Path, target: &Path) -> Result<(), BackupError> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(target);
    let file = file.map_err(failed("make", target))?;
    let mut connection = SqliteConnection::connect_with(&connection::options(source).read_only(true)).await?;
    let quoted = target.to_string_lossy().replace('\'', "''");
    sqlx::query(AssertSqlSafe(format!("VACUUM INTO '{quoted}'"))).execute(&mut connection).await?;
    connection.close().await?;
    file.sync_all().map_err(failed("write", target))?;
    check(target).await
}

/// Removes all but the newest copies; the one that the next start restores stays.
fn prune(data_dir: &Path) -> Result<(), BackupError> {
    let all = numbers(&folder_of(data_dir))?;
    let pending = pending(data_dir);
    for (_, old) in all.iter().rev().skip(KEPT) {
        if old.file_stem().map(OsStr::to_string_lossy).as_deref() == pending.as_deref() {
            continue;
        }
        fs::remove_file(old).map_err(failed("remove", old))?;
        tracing::info!(backup = %old.display(), "removed an old copy of the database");
    }
    Ok(())
}

//! Copies of the database: made while the engine works, kept in number, restored while none has the folder.
//!
//! A copy is made beside its place, checked, and renamed, so that every file with a copy's name is whole. Restoring
//! writes down first what is to be restored, moves the present files aside and never deletes them; cut short at any
//! moment, it is finished by the next start.

use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::UNIX_EPOCH,
};

use forge_model::storage::{Backup, BackupReason, StorageTrouble};
use forge_model::time::Timestamp;
use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection};
use tokio::sync::Mutex;

use crate::{
    Store, StoreError,
    check::quick_check,
    connection::{self, DATABASE},
    trouble,
};

/// How many copies are kept.
pub const KEPT: usize = 7;
/// The folder of the copies, below the data folder.
const FOLDER: &str = "backups";
/// What a copy is called while it is made.
const UNFINISHED: &str = ".unfinished";
/// Copies of one process are made one after the other: each takes as much space and disk as the database.
static TURN: Mutex<()> = Mutex::const_new(());
/// Tells the copies of one process apart while they are made.
static MADE: AtomicU64 = AtomicU64::new(0);
/// Names the copy that is being restored, or is to be by the next start.
const PENDING: &str = "restore-pending";
/// Says why the copy that a start was to restore was not restored.
const NOT_RESTORED: &str = "restore-failed";
/// Where the files go that a restored copy takes the place of.
const SET_ASIDE: &str = "set-aside";

/// Why a copy cannot be made or restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// There is no copy of this name.
    #[error("Could not find the backup `{0}`: no file of this name is among the backups.")]
    Unknown(String),
    /// The database itself, or the copy, is damaged.
    #[error("Could not use {}: the file is damaged ({detail}).", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What the check found.
        detail: String,
    },
    /// The copy holds no data of Forge.
    #[error("Could not use {}: it has no tables of Forge.", .0.display())]
    Foreign(PathBuf),
    /// SQLite refused.
    #[error("Could not copy the database: {0}.")]
    Store(#[from] StoreError),
    /// The system refused.
    #[error("Could not {what} {}: {source}.", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl BackupError {
    /// What is wrong with the disk or the database, if that is the reason.
    #[must_use]
    pub fn trouble(&self) -> Option<StorageTrouble> {
        match self {
            Self::Store(error) => error.trouble(),
            Self::Io { source, .. } => trouble::of_io(source),
            Self::Damaged { .. } => Some(StorageTrouble::Damaged),
            Self::Unknown(_) | Self::Foreign(_) => None,
        }
    }
}

impl From<sqlx::Error> for BackupError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BackupError {
    let path = path.to_owned();
    move |source| BackupError::Io { what, path, source }
}

/// The folder of the copies of a data folder.
#[must_use]
pub fn folder_of(data_dir: &Path) -> PathBuf {
    data_dir.join(FOLDER)
}

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
    fs::metadata(&source).map_err(io("read", &source))?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(io("make", &folder))?;
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
            Err(error) => return Err(io("make", &path)(error)),
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
    let file = file.map_err(io("make", target))?;
    let mut connection = SqliteConnection::connect_with(&connection::options(source).read_only(true)).await?;
    let quoted = target.to_string_lossy().replace('\'', "''");
    sqlx::query(AssertSqlSafe(format!("VACUUM INTO '{quoted}'"))).execute(&mut connection).await?;
    connection.close().await?;
    file.sync_all().map_err(io("write", target))?;
    check(target).await
}

/// Refuses a copy that is damaged or holds no data of Forge.
async fn check(path: &Path) -> Result<(), BackupError> {
    if let Some(detail) = quick_check(path, false).await? {
        return Err(BackupError::Damaged { path: path.to_owned(), detail });
    }
    if connection::tables_of_copy(path).await? { Ok(()) } else { Err(BackupError::Foreign(path.to_owned())) }
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
    written.map_err(io("write", &pending))?;
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
    fs::rename(&ready, &database).map_err(io("restore", &database))?;
    sync_folder(data_dir)?;
    let wish = data_dir.join(PENDING);
    fs::remove_file(&wish).map_err(io("remove", &wish))?;
    tracing::info!(backup = %backup.name, "restored the database");
    Ok(Some(backup))
}

/// A copy that can be restored.
async fn usable(data_dir: &Path, name: &str) -> Result<Backup, BackupError> {
    let backup = find(data_dir, name)?;
    check(Path::new(&backup.path)).await?;
    Ok(backup)
}

/// Gives up a restore that can never be done, since every start would fail by it, and says so in a file.
fn drop_wish(data_dir: &Path, reason: &BackupError) -> Result<(), BackupError> {
    tracing::warn!(%reason, "did not restore the chosen backup; the present database stays");
    let (wish, said) = (data_dir.join(PENDING), not_restored_file(data_dir));
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&said);
    let mut file = file.map_err(io("write", &said))?;
    let written = io::Write::write_all(&mut file, reason.to_string().as_bytes());
    written.and_then(|()| file.sync_all()).map_err(io("write", &said))?;
    fs::remove_file(&wish).map_err(io("remove", &wish))?;
    remove_if_there(&data_dir.join(format!("{PENDING}.db")))?;
    sync_folder(data_dir)
}

fn remove_if_there(path: &Path) -> Result<(), BackupError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io("remove", path)(error)),
        _ => Ok(()),
    }
}

fn copy_file(from: &Path, to: &Path) -> Result<(), BackupError> {
    let mut source = File::open(from).map_err(io("read", from))?;
    let target = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(to);
    let mut target = target.map_err(io("make", to))?;
    io::copy(&mut source, &mut target).and_then(|_| target.sync_all()).map_err(io("write", to))
}

/// Moves the database with its log to a folder of its own.
fn set_aside(data_dir: &Path) -> Result<(), BackupError> {
    let parts = ["", "-wal", "-shm"].map(|end| format!("{DATABASE}{end}"));
    if parts.iter().all(|part| !data_dir.join(part).exists()) {
        return Ok(());
    }
    let all = data_dir.join(SET_ASIDE);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&all).map_err(io("make", &all))?;
    let mut number = 1;
    let place = loop {
        let place = all.join(number.to_string());
        match fs::DirBuilder::new().mode(0o700).create(&place) {
            Ok(()) => break place,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(io("make", &place)(error)),
        }
    };
    // The log first: a database without its log is whole up to an earlier moment, a log alone is nothing.
    for part in parts.iter().rev() {
        let from = data_dir.join(part);
        match fs::rename(&from, place.join(part)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io("move aside", &from)(error));
            }
            _ => {}
        }
    }
    tracing::info!(folder = %place.display(), "set the former database aside");
    Ok(())
}

fn find(data_dir: &Path, name: &str) -> Result<Backup, BackupError> {
    let found = list(data_dir)?.into_iter().find(|backup| backup.name == name);
    found.ok_or_else(|| BackupError::Unknown(name.to_owned()))
}

/// The copies in their order, oldest first. Their own numbers count and not the clock, which may have been wrong.
fn numbers(folder: &Path) -> Result<Vec<(u64, PathBuf)>, BackupError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io("read", folder)(error)),
    };
    let mut all = Vec::new();
    for entry in entries {
        let path = entry.map_err(io("read", folder))?.path();
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

/// Removes all but the newest copies; the one that the next start restores stays.
fn prune(data_dir: &Path) -> Result<(), BackupError> {
    let all = numbers(&folder_of(data_dir))?;
    let pending = pending(data_dir);
    for (_, old) in all.iter().rev().skip(KEPT) {
        if old.file_stem().map(OsStr::to_string_lossy).as_deref() == pending.as_deref() {
            continue;
        }
        fs::remove_file(old).map_err(io("remove", old))?;
        tracing::info!(backup = %old.display(), "removed an old copy of the database");
    }
    Ok(())
}

fn described(path: &Path) -> Result<Backup, BackupError> {
    let data = fs::metadata(path).map_err(io("read", path))?;
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

fn sync_folder(folder: &Path) -> Result<(), BackupError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(io("write", folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn value(store: &Store) -> i64 {
        sqlx::query_scalar("SELECT written_at FROM storage_probe")
            .fetch_one(store.read().await.unwrap().sqlite())
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn copy_is_made_while_a_writer_works_and_holds_what_was_committed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        store.probe(1).await.unwrap();
        let mut open = store.write().await.unwrap();
        sqlx::query("UPDATE storage_probe SET written_at = 2").execute(open.sqlite()).await.unwrap();
        let backup = store.back_up(BackupReason::Daily).await.unwrap();
        open.commit().await.unwrap();
        assert_eq!(backup.reason, Some(BackupReason::Daily));
        store.probe(3).await.unwrap();
        store.close().await;
        restore_at_next_start(folder.path(), &backup.name).await.unwrap();
        finish_restore(folder.path()).await.unwrap().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        assert_eq!(value(&store).await, 1);
        assert!(folder.path().join("set-aside/1/forge.db").exists(), "the former database is kept");
        assert_eq!(pending(folder.path()), None);
    }

    #[tokio::test]
    async fn copies_beyond_the_limit_go_oldest_number_first_whatever_the_clock_says() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        for _ in 0..KEPT {
            store.back_up(BackupReason::Daily).await.unwrap();
        }
        // The clock was far ahead when the oldest was made.
        let oldest = folder.path().join("backups/000001-daily.db");
        let ahead = std::time::SystemTime::now() + std::time::Duration::from_secs(1_000_000);
        File::options().write(true).open(&oldest).unwrap().set_modified(ahead).unwrap();
        store.back_up(BackupReason::Manual).await.unwrap();
        let names: Vec<_> = list(folder.path()).unwrap().into_iter().map(|backup| backup.name).collect();
        assert_eq!(names.len(), KEPT);
        assert_eq!(names[0], "000008-manual");
        assert!(!names.contains(&"000001-daily".to_owned()), "{names:?}");
    }

    #[tokio::test]
    async fn restore_refuses_a_damaged_copy_and_a_name_that_leads_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        store.back_up(BackupReason::Manual).await.unwrap();
        fs::write(folder.path().join("backups/000002-daily.db"), vec![b'x'; 8192]).unwrap();
        let damaged = restore_at_next_start(folder.path(), "000002-daily").await.unwrap_err();
        assert!(matches!(damaged, BackupError::Damaged { .. }), "{damaged}");
        let outside = restore_at_next_start(folder.path(), "../forge").await.unwrap_err();
        assert!(matches!(outside, BackupError::Unknown(_)), "{outside}");
        let good = newest_good(folder.path()).await.unwrap().unwrap();
        assert_eq!(good.name, "000001-manual", "the damaged one is skipped");
    }

    #[tokio::test]
    async fn prune_keeps_the_copy_that_the_next_start_restores() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        for _ in 0..KEPT {
            store.back_up(BackupReason::Daily).await.unwrap();
        }
        restore_at_next_start(folder.path(), "000001-daily").await.unwrap();
        for _ in 0..2 {
            store.back_up(BackupReason::Daily).await.unwrap();
        }
        store.close().await;
        let names: Vec<_> = list(folder.path()).unwrap().into_iter().map(|backup| backup.name).collect();
        assert_eq!(names.len(), KEPT + 1);
        assert_eq!(names[KEPT], "000001-daily", "{names:?}");
        assert_eq!(finish_restore(folder.path()).await.unwrap().unwrap().name, "000001-daily");
    }

    #[tokio::test]
    async fn chosen_copy_that_is_gone_or_damaged_leaves_the_present_database_and_is_told() {
        for damages in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(folder.path()).await.unwrap();
            store.probe(1).await.unwrap();
            let backup = store.back_up(BackupReason::Manual).await.unwrap();
            store.probe(2).await.unwrap();
            restore_at_next_start(folder.path(), &backup.name).await.unwrap();
            store.close().await;
            if damages {
                fs::write(&backup.path, vec![b'x'; 8192]).unwrap();
            } else {
                fs::remove_file(&backup.path).unwrap();
            }
            for _ in 0..2 {
                let store = Store::open(folder.path()).await.unwrap();
                assert_eq!(value(&store).await, 2, "the present database was replaced");
                store.close().await;
                assert_eq!(pending(folder.path()), None);
                let said = not_restored(folder.path()).expect("nothing is told");
                assert!(said.contains("000001-manual"), "{said}");
            }
            let store = Store::open(folder.path()).await.unwrap();
            let other = store.back_up(BackupReason::Manual).await.unwrap();
            restore_at_next_start(folder.path(), &other.name).await.unwrap();
            assert_eq!(not_restored(folder.path()), None, "another restore was chosen");
        }
    }

    #[tokio::test]
    async fn copies_that_are_made_at_once_are_whole_and_leave_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let copies = (0..4).map(|_| store.back_up(BackupReason::Manual));
        for made in futures::future::join_all(copies).await {
            check(Path::new(&made.unwrap().path)).await.unwrap();
        }
        let files = fs::read_dir(folder.path().join("backups")).unwrap().count();
        assert_eq!(files, 4, "something is left beside the copies");
    }

    #[tokio::test]
    async fn unfinished_copy_of_a_killed_process_goes_at_the_next_start() {
        let folder = tempfile::tempdir().unwrap();
        Store::open(folder.path()).await.unwrap().close().await;
        fs::create_dir_all(folder.path().join("backups")).unwrap();
        let left = folder.path().join("backups/.unfinished-4711-0");
        fs::write(&left, b"half").unwrap();
        Store::open(folder.path()).await.unwrap();
        assert!(!left.exists());
    }

    #[tokio::test]
    async fn copy_whose_caller_is_gone_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let backups = folder.path().join("backups");
        let copy = store.back_up(BackupReason::Manual);
        // Dropped while it is made: its caller has gone.
        assert!(futures::FutureExt::now_or_never(copy).is_none());
        let left: Vec<_> = fs::read_dir(&backups).unwrap().flatten().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "{left:?}");
    }

    #[tokio::test]
    async fn copies_are_readable_by_their_owner_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let backup = store.back_up(BackupReason::Manual).await.unwrap();
        let mode = fs::metadata(&backup.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

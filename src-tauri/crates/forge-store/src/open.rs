//! Opening a database: the check for a newer schema, the backup before a migration.

use std::path::{Path, PathBuf};
use std::sync::{Arc, atomic::Ordering};
use std::time::Duration;

use sqlx::sqlite::{SqlitePool, SqlitePoolOptions};
use sqlx::{Connection as _, Row};
use tokio::sync::watch;

use forge_model::storage::{BackupReason, StorageTrouble};

use crate::connection::{DATABASE, options};
use crate::{
    ReadConnection, Seam, Store, WriteObserver,
    backups::{self, BackupError},
    migrations::{self, MIGRATIONS, MigrationError},
    trouble,
};

const READERS: u32 = 4;
/// Memory for pages of each reading connection, in KiB. What does not fit is in the system's own cache of files.
const READER_CACHE_KIB: u32 = 1024;
/// How long a reading connection is kept that nobody needs; one always stays.
const READER_IDLE: Duration = Duration::from_secs(60);

/// Why a database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It was written by a newer Forge.
    #[error("could not open {}: its schema has version {found}, and this Forge supports up to {known}; use the newer Forge that wrote it", path.display())]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest schema known here.
        known: i64,
    },
    /// Its content is damaged.
    #[error("could not open {}: the file is damaged ({detail}); restore one of the backups in {}", path.display(), backups.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        detail: String,
        /// Where the backups are.
        backups: PathBuf,
    },
    /// It holds nothing, or is not there, while other files show that it held data.
    #[error("could not open {}: the database is empty or missing, but its worktrees, logs or backups exist; restore one of the backups in {}", path.display(), backups.display())]
    Emptied {
        /// The file.
        path: PathBuf,
        /// Where the backups are.
        backups: PathBuf,
    },
    /// The copy before a migration, or the restored one, cannot be made.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// SQLite refused.
    #[error("could not open {}: {source}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// Why.
        source: sqlx::Error,
    },
    /// A migration failed. The database is as it was, and so is the backup made before.
    #[error("could not migrate {}: {source}", path.display())]
    Migrate {
        /// The file.
        path: PathBuf,
        /// Why.
        source: MigrationError,
    },
    /// The folder cannot be used.
    #[error("could not use {}: {source}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl OpenError {
    /// What is wrong with the disk or the database, if that is the reason.
    #[must_use]
    pub fn trouble(&self) -> Option<StorageTrouble> {
        match self {
            Self::Damaged { .. } => Some(StorageTrouble::Damaged),
            Self::Backup(error) => error.trouble(),
            Self::Database { source, .. } => trouble::of_sqlx(source),
            Self::Migrate { source, .. } => source.sqlx().and_then(trouble::of_sqlx),
            Self::Io { source, .. } => trouble::of_io(source),
            Self::TooNew { .. } | Self::Emptied { .. } => None,
        }
    }

    /// That the content of a database is damaged.
    #[must_use]
    pub fn damaged(path: PathBuf, folder: &Path, detail: String) -> Self {
        Self::Damaged { path, detail, backups: backups::folder_of(folder) }
    }
}

impl Store {
    /// Opens the database in `folder` (made when absent), migrating it when it is older. A copy that is to be restored
    /// takes its place first.
    ///
    /// # Errors
    /// When the schema is newer than known, the file is damaged, it is empty where it held data, or a migration fails.
    pub async fn open(folder: &Path) -> Result<Self, OpenError> {
        Self::open_observed(folder, None).await
    }

    /// The same, with somebody who is told of every statement that writes.
    ///
    /// # Errors
    /// Those of [`Store::open`].
    pub async fn open_observed(
        folder: &Path,
        observer: Option<Arc<dyn WriteObserver>>,
    ) -> Result<Self, OpenError> {
        let seam = Seam { observer, refuses: Arc::default() };
        let path = folder.join(DATABASE);
        std::fs::create_dir_all(folder)
            .map_err(|source| OpenError::Io { path: folder.to_owned(), source })?;
        let database = |source| classify(&path, folder, source);
        backups::sweep_unfinished(folder);
        backups::finish_restore(folder).await?;
        refuse_if_lost(&path, folder)?;
        let existed = path.exists();
        if !existed {
            // SQLite gives the files beside it the modes of this one.
            make_private(&path).map_err(|source| OpenError::Io { path: path.clone(), source })?;
        }
        let writer = refusing(only_at_rest(SqlitePoolOptions::new()), &seam)
            .max_connections(1)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_with(options(&path).create_if_missing(true))
            .await
            .map_err(database)?;
        let older = existed && before_migrating(&writer, &path, folder).await?;
        migrations::run(&MIGRATIONS, &path, older)
            .await
            .map_err(|source| OpenError::Migrate { path: path.clone(), source })?;
        let reader = only_at_rest(SqlitePoolOptions::new())
            .max_connections(READERS)
            .min_connections(1)
            .idle_timeout(READER_IDLE)
            .connect_with(options(&path).read_only(true).pragma("cache_size", format!("-{READER_CACHE_KIB}")))
            .await
            .map_err(database)?;
        let begun = reader.begin().await.map_err(database)?;
        let last =
            ReadConnection::new(begun).events().last_seq().await.map_err(|error| OpenError::Damaged {
                path: path.clone(),
                detail: error.to_string(),
                backups: folder.join("backups"),
            })?;
        Ok(Self {
            path,
            writer,
            reader,
            announced: watch::Sender::new(last),
            damage: Arc::default(),
            seam,
            redactor: Arc::default(),
        })
    }
}

fn make_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map(drop)
}

/// Tells a damaged file, which wants a backup restored, from everything else.
fn classify(path: &Path, folder: &Path, source: sqlx::Error) -> OpenError {
    if trouble::of_sqlx(&source) == Some(StorageTrouble::Damaged) {
        let backups = folder.join("backups");
        return OpenError::Damaged { path: path.to_owned(), detail: source.to_string(), backups };
    }
    OpenError::Database { path: path.to_owned(), source }
}

/// Refuses a newer schema; copies an older one aside before it is changed. Whether it is older.
async fn before_migrating(pool: &SqlitePool, path: &Path, folder: &Path) -> Result<bool, OpenError> {
    let database = |source| classify(path, folder, source);
    let known = MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0);
    let has_table = sqlx::query("SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations'")
        .fetch_optional(pool)
        .await
        .map_err(database)?
        .is_some();
    if !has_table {
        let tables: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema WHERE type = 'table'")
            .fetch_one(pool)
            .await
            .map_err(database)?;
        if tables == 0 {
            refuse_if_past(path, folder)?;
        }
        return Ok(false);
    }
    let found: i64 = sqlx::query("SELECT coalesce(max(version), 0) FROM _sqlx_migrations")
        .fetch_one(pool)
        .await
        .map_err(database)?
        .get(0);
    if found > known {
        return Err(OpenError::TooNew { path: path.to_owned(), found, known });
    }
    if found < known {
        backups::create(folder, BackupReason::Migration).await.map_err(|error| match error {
            BackupError::Damaged { detail, .. } => OpenError::damaged(path.to_owned(), folder, detail),
            other => other.into(),
        })?;
    }
    Ok(found < known)
}

/// Whether a data folder shows that its database once held data: worktrees, logs or copies of it.
fn has_past(folder: &Path) -> bool {
    let holds = |path: &Path| std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    let holds_deep = |path: &Path| {
        std::fs::read_dir(path).is_ok_and(|entries| entries.flatten().any(|entry| holds(&entry.path())))
    };
    ["logs", "workspaces"].iter().any(|name| holds_deep(&folder.join(name)))
        || backups::list(folder).is_ok_and(|copies| !copies.is_empty())
}

/// Refuses to begin anew where data was before.
fn refuse_if_lost(path: &Path, folder: &Path) -> Result<(), OpenError> {
    // A log that is left beside such a file holds only the newest changes, and SQLite would discard it.
    let bytes = std::fs::metadata(path).map_or(0, |data| data.len());
    if bytes == 0 { refuse_if_past(path, folder) } else { Ok(()) }
}

fn refuse_if_past(path: &Path, folder: &Path) -> Result<(), OpenError> {
    if has_past(folder) {
        let backups = backups::folder_of(folder);
        return Err(OpenError::Emptied { path: path.to_owned(), backups });
    }
    Ok(())
}

/// Lets connections refuse a statement where the seam says so: SQLite gives up as it does when the disk fails, and ends
/// the transaction by itself when it has to.
fn refusing(options: SqlitePoolOptions, seam: &Seam) -> SqlitePoolOptions {
    if seam.observer.is_none() {
        return options;
    }
    let refuses = Arc::clone(&seam.refuses);
    options.after_connect(move |connection, _| {
        let refuses = Arc::clone(&refuses);
        Box::pin(async move {
            let goes_on = move || !refuses.swap(false, Ordering::AcqRel);
            connection.lock_handle().await?.set_progress_handler(1, goes_on);
            Ok(())
        })
    })
}

/// Throws a connection away whose transaction is in doubt: SQLite may have ended it by itself when a write failed,
/// and whoever gets the connection next could not begin one.
fn only_at_rest(options: SqlitePoolOptions) -> SqlitePoolOptions {
    options.after_release(|connection, _| {
        Box::pin(async move {
            // What was queued when the transaction was dropped has been done when this is answered.
            connection.ping().await?;
            let at_rest = !connection.is_in_transaction();
            if !at_rest {
                tracing::warn!("threw a database connection away whose transaction was in doubt");
            }
            Ok(at_rest)
        })
    })
}

#[cfg(test)]
mod tests {
    use sqlx::SqliteConnection;
    use sqlx::sqlite::SqliteConnectOptions;

    use super::*;
    use crate::StoreError;

    #[tokio::test]
    async fn opens_twice_and_keeps_its_schema() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        store.close().await;
        let store = Store::open(folder.path()).await.unwrap();
        let strict: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict = 0
             AND name NOT LIKE 'sqlite_%' AND name <> '_sqlx_migrations'",
        )
        .fetch_one(store.read().await.unwrap().sqlite())
        .await
        .unwrap();
        assert_eq!(strict, 0, "every table is STRICT");
        assert!(!folder.path().join("backups").exists(), "nothing to migrate, nothing to back up");
    }

    #[tokio::test]
    async fn a_newer_schema_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        sqlx::query("INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (29990101000000, 'x', 1, x'', 0)")
            .execute(&store.writer)
            .await
            .unwrap();
        store.close().await;
        let error = Store::open(folder.path()).await.unwrap_err();
        assert!(matches!(error, OpenError::TooNew { found: 29_990_101_000_000, .. }), "{error}");
    }

    #[tokio::test]
    async fn an_older_schema_is_backed_up_before_it_is_changed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        sqlx::query("DELETE FROM _sqlx_migrations").execute(&store.writer).await.unwrap();
        before_migrating(&store.writer, store.path(), folder.path()).await.unwrap();
        let backups: Vec<_> = std::fs::read_dir(folder.path().join("backups")).unwrap().collect();
        assert_eq!(backups.len(), 1);
        let name = backups[0].as_ref().unwrap().file_name();
        assert_eq!(name.to_string_lossy(), "000001-migration.db");
        let copy = SqlitePool::connect_with(
            SqliteConnectOptions::new().filename(backups[0].as_ref().unwrap().path()),
        )
        .await
        .unwrap();
        let tables: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema WHERE name = 'tasks'")
            .fetch_one(&copy)
            .await
            .unwrap();
        assert_eq!(tables, 1);
    }

    #[tokio::test]
    async fn a_damaged_file_says_where_the_backups_are() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("forge.db"), vec![b'x'; 8192]).unwrap();
        let error = Store::open(folder.path()).await.unwrap_err();
        assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains("backups"));
    }

    #[tokio::test]
    async fn emptied_database_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        Store::open(folder.path()).await.unwrap().close().await;
        std::fs::create_dir_all(folder.path().join("logs/project/task")).unwrap();
        for name in ["forge.db", "forge.db-wal", "forge.db-shm"] {
            let _ = std::fs::remove_file(folder.path().join(name));
        }
        let error = Store::open(folder.path()).await.unwrap_err();
        assert!(matches!(error, OpenError::Emptied { .. }), "{error}");
        assert!(!folder.path().join("forge.db").exists(), "a new one was begun");
        std::fs::write(folder.path().join("forge.db"), b"").unwrap();
        let error = Store::open(folder.path()).await.unwrap_err();
        assert!(matches!(error, OpenError::Emptied { .. }), "{error}");
        assert_eq!(std::fs::metadata(folder.path().join("forge.db")).unwrap().len(), 0);
    }

    #[tokio::test]
    async fn missing_database_is_refused_whatever_log_was_left() {
        let folder = tempfile::tempdir().unwrap();
        let (path, log) = (folder.path().join("forge.db"), folder.path().join("forge.db-wal"));
        let store = Store::open(folder.path()).await.unwrap();
        store.probe(1).await.unwrap();
        std::fs::create_dir_all(folder.path().join("logs/project/task")).unwrap();
        // As after a kill: the newest changes are in the log.
        let left = std::fs::read(&log).unwrap();
        assert!(!left.is_empty());
        store.close().await;
        for emptied in [false, true] {
            let _ = std::fs::remove_file(&path);
            if emptied {
                std::fs::write(&path, b"").unwrap();
            }
            std::fs::write(&log, &left).unwrap();
            let error = Store::open(folder.path()).await.unwrap_err();
            assert!(matches!(error, OpenError::Emptied { .. }), "{error}");
            assert_eq!(std::fs::read(&log).unwrap(), left, "the log was touched");
        }
    }

    #[tokio::test]
    async fn database_without_tables_is_refused_where_backups_exist() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        store.back_up(BackupReason::Manual).await.unwrap();
        store.close().await;
        std::fs::remove_file(folder.path().join("forge.db")).unwrap();
        let empty =
            SqliteConnectOptions::new().filename(folder.path().join("forge.db")).create_if_missing(true);
        let mut connection = SqliteConnection::connect_with(&empty).await.unwrap();
        sqlx::query("PRAGMA user_version = 3").execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        let error = Store::open(folder.path()).await.unwrap_err();
        assert!(matches!(error, OpenError::Emptied { .. }), "{error}");
    }

    #[tokio::test]
    async fn first_start_in_an_empty_folder_is_no_loss() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("workspaces")).unwrap();
        Store::open(folder.path()).await.unwrap();
    }

    #[tokio::test]
    async fn write_after_a_full_disk_uses_a_connection_at_rest() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        store.probe(1).await.unwrap();
        for round in 0..3 {
            let mut tx = store.write().await.unwrap();
            let pages: i64 = sqlx::query_scalar("PRAGMA page_count").fetch_one(tx.sqlite()).await.unwrap();
            sqlx::query(sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {pages}")))
                .execute(tx.sqlite())
                .await
                .unwrap();
            let error = sqlx::query("UPDATE storage_probe SET filler = zeroblob(10000000)")
                .execute(tx.sqlite())
                .await
                .map_err(StoreError::from)
                .unwrap_err();
            assert_eq!(error.trouble(), Some(StorageTrouble::Full), "{error}");
            drop(tx);
            // There is room again; a connection that was kept knows only by being told.
            let mut tx = store.write().await.unwrap();
            sqlx::query("PRAGMA max_page_count = 1000000").execute(tx.sqlite()).await.unwrap();
            tx.commit().await.unwrap();
            store.probe(10 + round).await.unwrap();
        }
    }

    #[tokio::test]
    async fn statement_that_ends_the_transaction_by_itself_leaves_the_store_usable() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let mut tx = store.write().await.unwrap();
        // What SQLite does by itself when a write fails for good.
        sqlx::query("ROLLBACK").execute(tx.sqlite()).await.unwrap();
        drop(tx);
        store.probe(1).await.unwrap();
        let mut tx = store.write().await.unwrap();
        sqlx::query("ROLLBACK").execute(tx.sqlite()).await.unwrap();
        tx.commit().await.unwrap_err();
        store.probe(2).await.unwrap();
    }

    #[tokio::test]
    async fn damaged_store_refuses_writes_and_serves_reads() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        assert_eq!(store.check().await.unwrap(), None);
        store.note_damage("row 3 missing from index");
        let error = store.probe(1).await.unwrap_err();
        assert_eq!(error.trouble(), Some(StorageTrouble::Damaged), "{error}");
        store.read().await.unwrap();
    }
}

//! Opening a database: options, the check for a newer schema, the backup before a migration.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{AssertSqlSafe, Row};
use tokio::sync::watch;

use crate::{Store, table};

pub(crate) static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

/// How many backups made before migrations are kept.
const BACKUPS_KEPT: usize = 5;
const READERS: u32 = 4;

/// Why a database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It was written by a newer Forge.
    #[error("failed to open {}: its schema is version {found}, this Forge knows up to {known}; use the newer Forge that wrote it", path.display())]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest schema known here.
        known: i64,
    },
    /// Its content is damaged.
    #[error("failed to open {}: the file is damaged ({detail}); restore one of the backups in {}", path.display(), backups.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        detail: String,
        /// Where the backups are.
        backups: PathBuf,
    },
    /// SQLite refused.
    #[error("failed to open {}: {source}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// Why.
        source: sqlx::Error,
    },
    /// A migration failed; the backup made before it is untouched.
    #[error("failed to migrate {}: {source}", path.display())]
    Migrate {
        /// The file.
        path: PathBuf,
        /// Why.
        source: sqlx::migrate::MigrateError,
    },
    /// The folder cannot be used.
    #[error("failed to use {}: {source}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        .journal_mode(SqliteJournalMode::Wal)
        // FULL: a commit that was answered survives a power cut; the engine acts only after commits.
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_secs(10))
        .pragma("temp_store", "memory")
        .pragma("cache_size", "-4096")
}

impl Store {
    /// Opens the database in `folder` (made when absent), migrating it when it is older.
    ///
    /// # Errors
    /// When the schema is newer than known, the file is damaged, or a migration fails.
    pub async fn open(folder: &Path) -> Result<Self, OpenError> {
        let path = folder.join("forge.db");
        std::fs::create_dir_all(folder)
            .map_err(|source| OpenError::Io { path: folder.to_owned(), source })?;
        let database = |source| classify(&path, folder, source);
        let existed = path.exists();
        let writer = SqlitePoolOptions::new()
            .max_connections(1)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_with(options(&path).create_if_missing(true))
            .await
            .map_err(database)?;
        if existed {
            before_migrating(&writer, &path, folder).await?;
        }
        MIGRATIONS.run(&writer).await.map_err(|source| OpenError::Migrate { path: path.clone(), source })?;
        let reader = SqlitePoolOptions::new()
            .max_connections(READERS)
            .connect_with(options(&path).read_only(true))
            .await
            .map_err(database)?;
        let mut connection = reader.acquire().await.map_err(database)?;
        let last = table::events::last_seq(&mut connection).await.map_err(|error| OpenError::Damaged {
            path: path.clone(),
            detail: error.to_string(),
            backups: folder.join("backups"),
        })?;
        drop(connection);
        Ok(Self { path, writer, reader, announced: watch::Sender::new(last) })
    }
}

/// Tells a damaged file, which wants a backup restored, from everything else.
fn classify(path: &Path, folder: &Path, source: sqlx::Error) -> OpenError {
    const CORRUPT: &str = "11";
    const NOT_A_DATABASE: &str = "26";
    let code = source.as_database_error().and_then(|error| error.code()).unwrap_or_default();
    if code == CORRUPT || code == NOT_A_DATABASE {
        let backups = folder.join("backups");
        return OpenError::Damaged { path: path.to_owned(), detail: source.to_string(), backups };
    }
    OpenError::Database { path: path.to_owned(), source }
}

/// Refuses a newer schema; copies an older one aside before it is changed.
async fn before_migrating(pool: &SqlitePool, path: &Path, folder: &Path) -> Result<(), OpenError> {
    let database = |source| classify(path, folder, source);
    let known = MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0);
    let has_table = sqlx::query("SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations'")
        .fetch_optional(pool)
        .await
        .map_err(database)?
        .is_some();
    if !has_table {
        return Ok(());
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
        back_up(pool, path, folder, found).await?;
    }
    Ok(())
}

async fn back_up(pool: &SqlitePool, path: &Path, folder: &Path, version: i64) -> Result<(), OpenError> {
    let backups = folder.join("backups");
    let io = |source| OpenError::Io { path: backups.clone(), source };
    std::fs::create_dir_all(&backups).map_err(io)?;
    let mut number = 1;
    let target = loop {
        let candidate = backups.join(format!("forge-{version}-{number}.db"));
        if !candidate.exists() {
            break candidate;
        }
        number += 1;
    };
    let quoted = target.to_string_lossy().replace('\'', "''");
    sqlx::query(AssertSqlSafe(format!("VACUUM INTO '{quoted}'")))
        .execute(pool)
        .await
        .map_err(|source| classify(path, folder, source))?;
    tracing::info!(backup = %target.display(), "database copied before migration");
    let mut kept: Vec<_> = std::fs::read_dir(&backups)
        .map_err(io)?
        .filter_map(Result::ok)
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .filter(|(_, path)| path.extension().is_some_and(|extension| extension == "db"))
        .collect();
    kept.sort();
    for (_, old) in kept.iter().rev().skip(BACKUPS_KEPT) {
        std::fs::remove_file(old).map_err(io)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        .fetch_one(&mut *store.read().await.unwrap())
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
}

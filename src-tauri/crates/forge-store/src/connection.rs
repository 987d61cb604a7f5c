//! How a connection to a database file is opened.

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Connection as _, SqliteConnection};

use crate::StoreError;

/// The database's file below the data folder.
pub(crate) const DATABASE: &str = "forge.db";

/// Memory for pages of the writing connection, in KiB. What does not fit is in the system's own cache of files.
const WRITER_CACHE_KIB: u32 = 4096;

/// How every connection to a database is opened.
pub(crate) fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        .journal_mode(SqliteJournalMode::Wal)
        // FULL: a commit that was answered survives a power cut; the engine acts only after commits.
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_secs(10))
        .pragma("temp_store", "memory")
        .pragma("cache_size", format!("-{WRITER_CACHE_KIB}"))
}

/// How a file is opened that nobody may change.
pub(crate) fn read_only(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(path).read_only(true).immutable(true)
}

/// Whether a copy holds the tables of Forge.
pub(crate) async fn tables_of_copy(path: &Path) -> Result<bool, StoreError> {
    let mut connection = SqliteConnection::connect_with(&read_only(path)).await?;
    let found: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('tasks', '_sqlx_migrations')",
    )
    .fetch_one(&mut connection)
    .await?;
    connection.close().await?;
    Ok(found == 2)
}

//! What tests of tables share: a database in memory, made by the real migrations.

use std::ops::RangeBounds;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection as _, SqliteConnection};

use crate::migrations::MIGRATIONS;

/// Runs the migrations of these versions, in a new database if none is given. Foreign keys are off, as while a store is
/// opened.
pub(crate) async fn migrated(
    conn: Option<SqliteConnection>,
    versions: impl RangeBounds<i64>,
) -> SqliteConnection {
    let mut conn = match conn {
        Some(conn) => conn,
        None => {
            let options = SqliteConnectOptions::new().in_memory(true).foreign_keys(false);
            SqliteConnection::connect_with(&options).await.unwrap()
        }
    };
    for migration in MIGRATIONS.iter().filter(|migration| versions.contains(&migration.version)) {
        sqlx::raw_sql(migration.sql.clone()).execute(&mut conn).await.unwrap();
    }
    conn
}

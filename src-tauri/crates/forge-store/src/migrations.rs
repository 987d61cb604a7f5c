//! Bringing the schema of a database up to date.
//!
//! All migrations run in one transaction: a process that is killed leaves the former database. Foreign keys are off: a
//! migration may make a table again, and to drop the former one would delete the rows that refer to it. What foreign
//! keys would have refused is looked for before the commit. Absent: the check for a newer schema and the backup, which
//! `open.rs` makes before.

use std::path::Path;

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::{Connection as _, SqliteConnection};

use crate::connection::options;

/// The migrations that this Forge knows.
pub(crate) static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

/// Why a database cannot be migrated.
#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    /// A migration was refused, or what was applied earlier is another one.
    #[error(transparent)]
    Refused(#[from] MigrateError),
    /// A migration would have removed rows that others refer to.
    #[error("{0} rows would refer to rows that are gone; nothing was changed")]
    Dangling(i64),
}

impl MigrationError {
    /// What SQLite says, if it refused.
    pub(crate) fn sqlx(&self) -> Option<&sqlx::Error> {
        match self {
            Self::Refused(MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _)) => {
                Some(source)
            }
            Self::Refused(_) | Self::Dangling(_) => None,
        }
    }
}

impl From<sqlx::Error> for MigrationError {
    fn from(error: sqlx::Error) -> Self {
        Self::Refused(error.into())
    }
}

/// Runs those migrations that a database lacks. `older`: it has rows, which are not to be lost.
pub(crate) async fn run(migrations: &Migrator, path: &Path, older: bool) -> Result<(), MigrationError> {
    let mut connection = SqliteConnection::connect_with(&options(path).foreign_keys(false)).await?;
    let mut tx = connection.begin().await?;
    let before = if older { count_dangling(&mut tx).await? } else { 0 };
    migrations.run(&mut *tx).await?;
    let after = if older { count_dangling(&mut tx).await? } else { 0 };
    if after > before {
        return Err(MigrationError::Dangling(after - before));
    }
    tx.commit().await?;
    Ok(connection.close().await?)
}

/// How many rows refer to rows that are not there.
async fn count_dangling(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("SELECT count(*) FROM pragma_foreign_key_check").fetch_one(connection).await
}

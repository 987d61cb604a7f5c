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
    // Not `run`: a future that acquires from what it borrows is not seen to be one that can be sent.
    migrations.run_direct(None, &mut *tx, false).await?;
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

#[cfg(test)]
mod tests {
    use sqlx::SqlSafeStr as _;
    use sqlx::migrate::{Migration, MigrationType};

    use super::*;
    use crate::testing::{project, task};
    use crate::{OpenError, Store};

    /// A data folder with a project and its task, and the present migrations with more behind them.
    async fn with_more(more: &[&'static str]) -> (tempfile::TempDir, Migrator) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let mut tx = store.write().await.unwrap();
        tx.projects_mut().insert(&project("p")).await.unwrap();
        tx.tasks_mut().insert(&task("t", 1)).await.unwrap();
        tx.commit().await.unwrap();
        store.close().await;
        let mut all: Vec<_> = MIGRATIONS.iter().cloned().collect();
        for (version, sql) in (90_000_000_000_001..).zip(more) {
            let kind = MigrationType::Simple;
            all.push(Migration::new(version, "more".into(), kind, sql.into_sql_str(), false));
        }
        (folder, Migrator::with_migrations(all))
    }

    async fn run_in(folder: &Path, migrations: &Migrator) -> Result<(), MigrationError> {
        run(migrations, &folder.join(crate::connection::DATABASE), true).await
    }

    /// Opening is refused where a migration is applied that this Forge does not know.
    async fn is_as_it_was(folder: &Path) {
        let store = Store::open(folder).await.unwrap();
        let mut conn = store.read().await.unwrap();
        assert_eq!(conn.tasks().get(&"t".into()).await.unwrap(), Some(task("t", 1)));
    }

    #[tokio::test]
    async fn table_that_is_made_again_keeps_the_rows_that_refer_to_it() {
        let again = "CREATE TABLE other AS SELECT * FROM projects; DROP TABLE projects; ALTER TABLE other RENAME TO projects;
             CREATE UNIQUE INDEX projects_id ON projects (id)";
        let (folder, migrations) = with_more(&[again]).await;
        run_in(folder.path(), &migrations).await.unwrap();
        let opened = Store::open(folder.path()).await;
        assert!(matches!(opened, Err(OpenError::TooNew { .. })), "it was not applied");
        let file = folder.path().join(crate::connection::DATABASE);
        let mut connection = SqliteConnection::connect_with(&options(&file)).await.unwrap();
        let tasks: i64 =
            sqlx::query_scalar("SELECT count(*) FROM tasks").fetch_one(&mut connection).await.unwrap();
        assert_eq!(tasks, 1);
    }

    #[tokio::test]
    async fn migration_that_loses_rows_is_undone() {
        let (folder, migrations) = with_more(&["DELETE FROM projects"]).await;
        let error = run_in(folder.path(), &migrations).await.unwrap_err();
        assert!(matches!(error, MigrationError::Dangling(1)), "{error}");
        is_as_it_was(folder.path()).await;
    }

    #[tokio::test]
    async fn migration_that_fails_undoes_those_before_it() {
        let (folder, migrations) =
            with_more(&["UPDATE tasks SET title = 'lost'", "DROP TABLE nothing"]).await;
        let error = run_in(folder.path(), &migrations).await.unwrap_err();
        assert!(error.sqlx().is_some(), "{error}");
        is_as_it_was(folder.path()).await;
    }
}

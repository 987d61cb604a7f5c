//! `postmortems`: what was recorded about how tasks went.

use forge_model::ids::{ProjectId, ReviewId, TaskId};
use forge_model::postmortem::Postmortem;
use sqlx::SqliteConnection;

use crate::{StoreError, Tx, row::Columns};

/// Inserts a postmortem; false when there is one with its number, or about its review.
///
/// # Errors
/// When it cannot be written.
pub async fn insert(tx: &mut Tx, record: &Postmortem) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "INSERT INTO postmortems (task_id, number, review_id, at, record) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO NOTHING",
    )
    .bind(record.task_id.as_str())
    .bind(record.number)
    .bind(record.review_id.as_ref().map(ReviewId::as_str))
    .bind(record.at.0)
    .bind(tx.json(record)?)
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// A task's postmortems, oldest first.
///
/// # Errors
/// When they cannot be read.
pub async fn of_task(conn: &mut SqliteConnection, task: &TaskId) -> Result<Vec<Postmortem>, StoreError> {
    let rows = sqlx::query("SELECT record FROM postmortems WHERE task_id = ?1 ORDER BY number")
        .bind(task.as_str())
        .fetch_all(conn)
        .await?;
    rows.iter().map(|row| Columns(row).json("record")).collect()
}

/// The latest postmortem of a project.
///
/// # Errors
/// When it cannot be read.
pub async fn last(
    conn: &mut SqliteConnection,
    project: &ProjectId,
) -> Result<Option<Postmortem>, StoreError> {
    let row = sqlx::query(
        "SELECT p.record FROM postmortems p JOIN tasks t ON t.id = p.task_id WHERE t.project_id = ?1
         ORDER BY p.at DESC, p.number DESC LIMIT 1",
    )
    .bind(project.as_str())
    .fetch_optional(conn)
    .await?;
    row.as_ref().map(|row| Columns(row).json("record")).transpose()
}

/// Postmortems that are not exported yet.
///
/// # Errors
/// When they cannot be read.
pub async fn unexported(conn: &mut SqliteConnection) -> Result<Vec<Postmortem>, StoreError> {
    let rows =
        sqlx::query("SELECT record FROM postmortems WHERE exported = 0 ORDER BY at").fetch_all(conn).await?;
    rows.iter().map(|row| Columns(row).json("record")).collect()
}

/// Writes down that a postmortem is exported.
///
/// # Errors
/// When it cannot be written.
pub async fn set_exported(conn: &mut SqliteConnection, task: &TaskId, number: u32) -> Result<(), StoreError> {
    sqlx::query("UPDATE postmortems SET exported = 1 WHERE task_id = ?1 AND number = ?2")
        .bind(task.as_str())
        .bind(number)
        .execute(conn)
        .await?;
    Ok(())
}

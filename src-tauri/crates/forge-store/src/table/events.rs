//! `events`: the numbered change log. Numbers rise with the commits, because there is one writer.

use forge_model::event::{Event, EventType};
use forge_model::ids::{ProjectId, TaskId};
use forge_model::time::Timestamp;
use sqlx::{Row as _, SqliteConnection, sqlite::SqliteRow};

use crate::{StoreError, row::Columns};

pub(crate) async fn insert(
    conn: &mut SqliteConnection,
    kind: EventType,
    at: Timestamp,
    project: Option<&ProjectId>,
    task: Option<&TaskId>,
    entity: &str,
    data: &str,
) -> Result<i64, StoreError> {
    let row = sqlx::query(
        "INSERT INTO events (type, at, project_id, task_id, entity_id, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6) RETURNING seq",
    )
    .bind(kind.as_str())
    .bind(at.0)
    .bind(project.map(ProjectId::as_str))
    .bind(task.map(TaskId::as_str))
    .bind(entity)
    .bind(data)
    .fetch_one(conn)
    .await?;
    Ok(row.get(0))
}

/// The number of the newest event; 0 when there is none.
///
/// # Errors
/// When it cannot be read.
pub async fn last_seq(conn: &mut SqliteConnection) -> Result<i64, StoreError> {
    // The sequence table remembers the highest number even when all rows have been pruned.
    let row =
        sqlx::query("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetch_optional(conn).await?;
    Ok(row.map_or(0, |row| row.get(0)))
}

/// The number of the oldest event that is kept, if any is.
///
/// # Errors
/// When it cannot be read.
pub async fn first_seq(conn: &mut SqliteConnection) -> Result<Option<i64>, StoreError> {
    Ok(sqlx::query("SELECT min(seq) FROM events").fetch_one(conn).await?.get(0))
}

/// At most `limit` events after `after`, oldest first.
///
/// # Errors
/// When they cannot be read.
pub async fn after(conn: &mut SqliteConnection, after: i64, limit: u32) -> Result<Vec<Event>, StoreError> {
    let rows = sqlx::query("SELECT * FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2")
        .bind(after)
        .bind(limit)
        .fetch_all(conn)
        .await?;
    rows.iter().map(read).collect()
}

/// Removes all but the newest `keep` events; returns how many went.
///
/// # Errors
/// When they cannot be removed.
pub async fn prune(conn: &mut SqliteConnection, keep: u32) -> Result<u64, StoreError> {
    let done = sqlx::query("DELETE FROM events WHERE seq <= (SELECT max(seq) FROM events) - ?1")
        .bind(keep)
        .execute(conn)
        .await?;
    Ok(done.rows_affected())
}

fn read(row: &SqliteRow) -> Result<Event, StoreError> {
    let columns = Columns(row);
    Ok(Event {
        seq: columns.int("seq")?,
        kind: columns.name("type")?,
        at: columns.time("at")?,
        project_id: columns.text_opt("project_id")?,
        task_id: columns.text_opt("task_id")?,
        entity_id: columns.text("entity_id")?,
        data: columns.json("data")?,
    })
}

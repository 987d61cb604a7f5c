//! `retention_questions`: deletions of more than half of something, which wait for a person.

use forge_model::storage::{RetentionAnswer, RetentionQuestion};
use forge_model::time::Timestamp;
use sqlx::{Row as _, SqliteConnection};

use crate::{StoreError, row::Columns};

/// Asks, or brings a question up to date; an answer stays.
///
/// # Errors
/// When it cannot be written.
pub async fn ask(
    conn: &mut SqliteConnection,
    (kind, doomed, total): (&str, u32, u32),
    at: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO retention_questions (kind, doomed, total, asked_at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (kind) DO UPDATE SET doomed = ?2, total = ?3",
    )
    .bind(kind)
    .bind(doomed)
    .bind(total)
    .bind(at.0)
    .execute(conn)
    .await?;
    Ok(())
}

/// Writes an answer; false when nobody asked.
///
/// # Errors
/// When it cannot be written.
pub async fn answer(
    conn: &mut SqliteConnection,
    kind: &str,
    answer: RetentionAnswer,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let done = sqlx::query("UPDATE retention_questions SET answer = ?2, answered_at = ?3 WHERE kind = ?1")
        .bind(kind)
        .bind(answer.as_str())
        .bind(at.0)
        .execute(conn)
        .await?;
    Ok(done.rows_affected() > 0)
}

/// Forgets a question.
///
/// # Errors
/// When it cannot be written.
pub async fn forget(conn: &mut SqliteConnection, kind: &str) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM retention_questions WHERE kind = ?1").bind(kind).execute(conn).await?;
    Ok(())
}

/// All questions, oldest first.
///
/// # Errors
/// When they cannot be read.
pub async fn list(conn: &mut SqliteConnection) -> Result<Vec<RetentionQuestion>, StoreError> {
    let rows =
        sqlx::query("SELECT * FROM retention_questions ORDER BY asked_at, kind").fetch_all(conn).await?;
    rows.iter()
        .map(|row| {
            let c = Columns(row);
            Ok(RetentionQuestion {
                kind: c.text("kind")?,
                doomed: c.int("doomed")?,
                total: c.int("total")?,
                asked_at: c.time("asked_at")?,
                answer: c.name_opt("answer")?,
            })
        })
        .collect()
}

/// How many events there are, and how many of them are not younger than a time.
///
/// # Errors
/// When they cannot be counted.
pub async fn count_events(conn: &mut SqliteConnection, until: Timestamp) -> Result<(u32, u32), StoreError> {
    let row = sqlx::query("SELECT count(*), coalesce(sum(at <= ?1), 0) FROM events")
        .bind(until.0)
        .fetch_one(conn)
        .await?;
    Ok((row.get(0), row.get(1)))
}

/// Removes events that are not younger than a time.
///
/// # Errors
/// When they cannot be removed.
pub async fn remove_events(conn: &mut SqliteConnection, until: Timestamp) -> Result<u64, StoreError> {
    Ok(sqlx::query("DELETE FROM events WHERE at <= ?1").bind(until.0).execute(conn).await?.rows_affected())
}

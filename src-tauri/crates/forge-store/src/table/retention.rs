//! `retention_questions`: deletions of more than half of something, which wait for a person.

use forge_model::retention::{Bounds, Counts};
use forge_model::storage::{RetentionAnswer, RetentionQuestion};
use forge_model::time::Timestamp;
use sqlx::{Row as _, SqliteConnection};

use crate::{StoreError, row::Columns};

/// Asks, brings an open question up to date, or asks again after an answer.
///
/// # Errors
/// When it cannot be written.
pub async fn ask(
    conn: &mut SqliteConnection,
    (kind, doomed, total): (&str, u32, u32),
    until: Timestamp,
    at: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO retention_questions (kind, doomed, total, until, asked_at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (kind) DO UPDATE SET doomed = ?2, total = ?3, until = ?4, answer = NULL, answered_at = NULL,
             asked_at = CASE WHEN answer IS NULL THEN asked_at ELSE ?5 END",
    )
    .bind(kind)
    .bind(doomed)
    .bind(total)
    .bind(until.0)
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

/// The question about a kind of things, if there is one.
///
/// # Errors
/// When it cannot be read.
pub async fn get(conn: &mut SqliteConnection, kind: &str) -> Result<Option<RetentionQuestion>, StoreError> {
    Ok(list(conn).await?.into_iter().find(|question| question.kind == kind))
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
                until: c.time("until")?,
                asked_at: c.time("asked_at")?,
                answer: c.name_opt("answer")?,
            })
        })
        .collect()
}

/// The time of the newest event that is not among the newest `keep`; none while there are not more.
///
/// # Errors
/// When it cannot be read.
pub async fn beyond(conn: &mut SqliteConnection, keep: u32) -> Result<Option<Timestamp>, StoreError> {
    let row = sqlx::query("SELECT at FROM events ORDER BY seq DESC LIMIT 1 OFFSET ?1")
        .bind(keep)
        .fetch_optional(conn)
        .await?;
    Ok(row.map(|row| Timestamp(row.get(0))))
}

/// How many events may go within bounds.
///
/// # Errors
/// When they cannot be counted.
pub async fn count_events(conn: &mut SqliteConnection, bounds: Bounds) -> Result<Counts, StoreError> {
    let row = sqlx::query(
        "SELECT coalesce(sum(at <= ?1), 0), coalesce(sum(at > ?1 AND at <= ?2), 0), count(*) FROM events",
    )
    .bind(bounds.kept.0)
    .bind(bounds.until.0)
    .fetch_one(conn)
    .await?;
    Ok(Counts { kept: row.get(0), doomed: row.get(1), total: row.get(2) })
}

/// Removes the events that may go within bounds.
///
/// # Errors
/// When they cannot be removed.
pub async fn remove_events(conn: &mut SqliteConnection, bounds: Bounds) -> Result<u64, StoreError> {
    let removed = sqlx::query("DELETE FROM events WHERE at > ?1 AND at <= ?2")
        .bind(bounds.kept.0)
        .bind(bounds.until.0)
        .execute(conn)
        .await?;
    Ok(removed.rows_affected())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;

    #[tokio::test]
    async fn events_beyond_a_number_are_bounded_by_their_time() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let mut tx = store.write().await.unwrap();
        for at in [10, 20, 30, 40] {
            let kind = forge_model::event::EventType::ProjectChanged;
            tx.emit(kind, Timestamp(at), None, None, "id", &serde_json::json!({})).await.unwrap();
        }
        assert_eq!(beyond(&mut tx, 4).await.unwrap(), None);
        let until = beyond(&mut tx, 1).await.unwrap().unwrap();
        assert_eq!(until, Timestamp(30));
        let bounds = Bounds { kept: Timestamp(10), until };
        let counts = count_events(&mut tx, bounds).await.unwrap();
        assert_eq!(counts, Counts { kept: 1, doomed: 2, total: 4 });
        assert_eq!(remove_events(&mut tx, bounds).await.unwrap(), 2);
        assert_eq!(count_events(&mut tx, bounds).await.unwrap(), Counts { kept: 1, doomed: 0, total: 2 });
    }

    #[tokio::test]
    async fn question_is_brought_up_to_date_and_asked_again_after_an_answer() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let mut tx = store.write().await.unwrap();
        ask(&mut tx, ("logs", 6, 6), Timestamp(100), Timestamp(1)).await.unwrap();
        ask(&mut tx, ("logs", 7, 8), Timestamp(110), Timestamp(2)).await.unwrap();
        let open = get(&mut tx, "logs").await.unwrap().unwrap();
        assert_eq!(
            (open.doomed, open.total, open.until, open.asked_at),
            (7, 8, Timestamp(110), Timestamp(1))
        );
        assert!(answer(&mut tx, "logs", RetentionAnswer::Keep, Timestamp(3)).await.unwrap());
        assert_eq!(get(&mut tx, "logs").await.unwrap().unwrap().answer, Some(RetentionAnswer::Keep));
        ask(&mut tx, ("logs", 9, 9), Timestamp(120), Timestamp(4)).await.unwrap();
        let again = get(&mut tx, "logs").await.unwrap().unwrap();
        assert_eq!((again.answer, again.until, again.asked_at), (None, Timestamp(120), Timestamp(4)));
    }
}

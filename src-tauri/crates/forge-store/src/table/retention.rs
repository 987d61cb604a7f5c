//! `retention_questions`: deletions of more than half of something, which wait for a person.

use forge_model::storage::{RetentionAnswer, RetentionQuestion};
use forge_model::time::Timestamp;

use crate::{StoreError, row::Columns};

handles!(retention() -> Retention, retention_mut() -> RetentionMut);

impl Retention<'_> {
    /// The question about a kind of things, if there is one.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn get(&mut self, kind: &str) -> Result<Option<RetentionQuestion>, StoreError> {
        Ok(self.list().await?.into_iter().find(|question| question.kind == kind))
    }

    /// All questions, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn list(&mut self) -> Result<Vec<RetentionQuestion>, StoreError> {
        let rows = sqlx::query("SELECT * FROM retention_questions ORDER BY asked_at, kind")
            .fetch_all(&mut *self.conn)
            .await?;
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
}

impl RetentionMut<'_> {
    /// Asks, brings an open question up to date, or asks again after an answer.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn ask(
        &mut self,
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
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Writes an answer; false when nobody asked.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn answer(
        &mut self,
        kind: &str,
        answer: RetentionAnswer,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let done =
            sqlx::query("UPDATE retention_questions SET answer = ?2, answered_at = ?3 WHERE kind = ?1")
                .bind(kind)
                .bind(answer.as_str())
                .bind(at.0)
                .execute(self.tx.sqlite())
                .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Forgets a question.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn forget(&mut self, kind: &str) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM retention_questions WHERE kind = ?1")
            .bind(kind)
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::empty;

    #[tokio::test]
    async fn question_is_brought_up_to_date_and_asked_again_after_an_answer() {
        let mut tx = empty().await;
        tx.retention_mut().ask(("logs", 6, 6), Timestamp(100), Timestamp(1)).await.unwrap();
        tx.retention_mut().ask(("logs", 7, 8), Timestamp(110), Timestamp(2)).await.unwrap();
        let open = tx.retention().get("logs").await.unwrap().unwrap();
        assert_eq!(
            (open.doomed, open.total, open.until, open.asked_at),
            (7, 8, Timestamp(110), Timestamp(1))
        );
        assert!(tx.retention_mut().answer("logs", RetentionAnswer::Keep, Timestamp(3)).await.unwrap());
        assert_eq!(tx.retention().get("logs").await.unwrap().unwrap().answer, Some(RetentionAnswer::Keep));
        tx.retention_mut().ask(("logs", 9, 9), Timestamp(120), Timestamp(4)).await.unwrap();
        let again = tx.retention().get("logs").await.unwrap().unwrap();
        assert_eq!((again.answer, again.until, again.asked_at), (None, Timestamp(120), Timestamp(4)));
    }
    #[tokio::test]
    async fn questions_come_oldest_first_and_are_forgotten_one_by_one() {
        let mut tx = empty().await;
        for (kind, at) in [("logs", 3), ("events", 2), ("backups", 3)] {
            tx.retention_mut().ask((kind, 6, 10), Timestamp(100), Timestamp(at)).await.unwrap();
        }
        assert!(!tx.retention_mut().answer("none", RetentionAnswer::Delete, Timestamp(4)).await.unwrap());
        assert!(tx.retention_mut().answer("logs", RetentionAnswer::Delete, Timestamp(4)).await.unwrap());
        let kinds: Vec<_> =
            tx.retention().list().await.unwrap().into_iter().map(|question| question.kind).collect();
        assert_eq!(kinds, ["events", "backups", "logs"]);
        tx.retention_mut().forget("events").await.unwrap();
        let left = tx.retention().list().await.unwrap();
        let left: Vec<_> = left.iter().map(|question| (&*question.kind, question.answer)).collect();
        assert_eq!(left, [("backups", None), ("logs", Some(RetentionAnswer::Delete))]);
        assert_eq!(tx.retention().get("events").await.unwrap(), None);
    }
}

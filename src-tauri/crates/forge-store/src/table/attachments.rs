//! `attachments`: files that people give agents along with a message.

use forge_model::attachment::Attachment;
use forge_model::ids::{AttachmentId, TaskId};
use forge_model::time::Timestamp;
use sqlx::sqlite::SqliteRow;

use crate::{StoreError, row::Columns};

handles!(attachments() -> Attachments, attachments_mut() -> AttachmentsMut);

impl Attachments<'_> {
    /// One file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn get(&mut self, id: &AttachmentId) -> Result<Option<Attachment>, StoreError> {
        let row = sqlx::query("SELECT * FROM attachments WHERE id = ?1")
            .bind(id.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        row.as_ref().map(read).transpose()
    }

    /// A task's files, oldest first; only those that wait for their message, or all.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn list(&mut self, task: &TaskId, waiting_only: bool) -> Result<Vec<Attachment>, StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM attachments WHERE task_id = ?1 AND (NOT ?2 OR sent_at IS NULL) ORDER BY added_at, id",
        )
        .bind(task.as_str())
        .bind(waiting_only)
        .fetch_all(&mut *self.conn)
        .await?;
        rows.iter().map(read).collect()
    }
}

impl AttachmentsMut<'_> {
    /// Inserts a file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn insert(&mut self, a: &Attachment) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO attachments (id, task_id, name, bytes, added_at, sent_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )
        .bind(a.id.as_str())
        .bind(a.task_id.as_str())
        .bind(&a.name)
        .bind(a.bytes)
        .bind(a.added_at.0)
        .bind(a.sent_at.map(|time| time.0))
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Writes down that a file went with a message. False when it did already, or is gone.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn send(&mut self, id: &AttachmentId, at: Timestamp) -> Result<bool, StoreError> {
        let done = sqlx::query("UPDATE attachments SET sent_at = ?2 WHERE id = ?1 AND sent_at IS NULL")
            .bind(id.as_str())
            .bind(at.0)
            .execute(self.tx.sqlite())
            .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Removes a file's row.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn delete(&mut self, id: &AttachmentId) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM attachments WHERE id = ?1")
            .bind(id.as_str())
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }
}

fn read(row: &SqliteRow) -> Result<Attachment, StoreError> {
    let c = Columns(row);
    Ok(Attachment {
        id: c.text("id")?,
        task_id: c.text("task_id")?,
        name: c.text("name")?,
        bytes: c.int("bytes")?,
        added_at: c.time("added_at")?,
        sent_at: c.time_opt("sent_at")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{count, is_refused, seeded};

    fn file(id: &str, added_at: i64) -> Attachment {
        Attachment {
            id: id.into(),
            task_id: "t".into(),
            name: format!("{id}.png"),
            bytes: 5,
            added_at: Timestamp(added_at),
            sent_at: None,
        }
    }

    #[tokio::test]
    async fn file_is_sent_once_and_waits_until_then() {
        let mut tx = seeded().await;
        for file in [file("late", 2), file("early", 1)] {
            tx.attachments_mut().insert(&file).await.unwrap();
        }
        let all = tx.attachments().list(&"t".into(), true).await.unwrap();
        assert_eq!(all, [file("early", 1), file("late", 2)]);
        assert!(tx.attachments_mut().send(&"early".into(), Timestamp(7)).await.unwrap());
        assert!(!tx.attachments_mut().send(&"early".into(), Timestamp(8)).await.unwrap(), "sent twice");
        assert!(!tx.attachments_mut().send(&"gone".into(), Timestamp(8)).await.unwrap());
        let sent = Attachment { sent_at: Some(Timestamp(7)), ..file("early", 1) };
        assert_eq!(tx.attachments().get(&"early".into()).await.unwrap(), Some(sent.clone()));
        assert_eq!(tx.attachments().list(&"t".into(), true).await.unwrap(), [file("late", 2)]);
        assert_eq!(tx.attachments().list(&"t".into(), false).await.unwrap(), [sent, file("late", 2)]);
    }

    #[tokio::test]
    async fn file_goes_by_itself_or_with_its_task() {
        let mut tx = seeded().await;
        for file in [file("one", 1), file("two", 2)] {
            tx.attachments_mut().insert(&file).await.unwrap();
        }
        tx.attachments_mut().delete(&"one".into()).await.unwrap();
        assert_eq!(tx.attachments().list(&"t".into(), false).await.unwrap(), [file("two", 2)]);
        tx.tasks_mut().delete(&"t".into()).await.unwrap();
        assert_eq!(count(&mut tx, "attachments").await, 0);
        assert!(is_refused(tx.attachments_mut().insert(&file("three", 3)).await, "FOREIGN KEY"));
    }
}

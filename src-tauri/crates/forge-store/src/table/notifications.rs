//! `notifications`: what the person was told; one cause is told once.

use forge_model::ids::NotificationId;
use forge_model::notification::Notification;
use sqlx::sqlite::SqliteRow;

use crate::{StoreError, row::Columns};

handles!(notifications() -> Notifications, notifications_mut() -> NotificationsMut);

const SELECT: &str = "SELECT n.*, t.number AS task_number, t.title AS title FROM notifications n JOIN tasks t ON t.id = n.task_id";

impl Notifications<'_> {
    /// At most `limit` notifications, newest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn list(&mut self, limit: u32) -> Result<Vec<Notification>, StoreError> {
        let sql = [SELECT, " ORDER BY n.created_at DESC, n.id DESC LIMIT ?1"].concat();
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(limit).fetch_all(&mut *self.conn).await?;
        rows.iter().map(read).collect()
    }

    /// One notification.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn get(&mut self, id: &NotificationId) -> Result<Option<Notification>, StoreError> {
        let sql = [SELECT, " WHERE n.id = ?1"].concat();
        let row =
            sqlx::query(sqlx::AssertSqlSafe(sql)).bind(id.as_str()).fetch_optional(&mut *self.conn).await?;
        row.as_ref().map(read).transpose()
    }
}

impl NotificationsMut<'_> {
    /// Inserts a notification unless its cause has been told; says whether it was new.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn insert(&mut self, n: &Notification, cause: &str) -> Result<bool, StoreError> {
        let done = sqlx::query(
            "INSERT INTO notifications (id, kind, project_id, task_id, body, cause, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
        )
        .bind(n.id.as_str())
        .bind(n.kind.as_str())
        .bind(n.project_id.as_str())
        .bind(n.task_id.as_str())
        .bind(self.tx.text(&n.body))
        .bind(cause)
        .bind(n.created_at.0)
        .execute(self.tx.sqlite())
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Marks notifications as seen; all of them when none is named.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn mark_read(&mut self, ids: Option<&[NotificationId]>) -> Result<(), StoreError> {
        match ids {
            None => {
                sqlx::query("UPDATE notifications SET read = 1 WHERE read = 0")
                    .execute(self.tx.sqlite())
                    .await?;
            }
            Some(ids) => {
                for id in ids {
                    sqlx::query("UPDATE notifications SET read = 1 WHERE id = ?1")
                        .bind(id.as_str())
                        .execute(self.tx.sqlite())
                        .await?;
                }
            }
        }
        Ok(())
    }
}

fn read(row: &SqliteRow) -> Result<Notification, StoreError> {
    let c = Columns(row);
    Ok(Notification {
        id: c.text("id")?,
        kind: c.name("kind")?,
        project_id: c.text("project_id")?,
        task_id: c.text("task_id")?,
        task_number: c.int("task_number")?,
        title: c.text("title")?,
        body: c.text("body")?,
        read: c.flag("read")?,
        created_at: c.time("created_at")?,
    })
}

#[cfg(test)]
mod tests {
    use forge_model::notification::NotificationKind;
    use forge_model::time::Timestamp;

    use super::*;
    use crate::testing::seeded;

    fn notice(id: &str, at: i64) -> Notification {
        Notification {
            id: id.into(),
            kind: NotificationKind::Blocked,
            project_id: "p".into(),
            task_id: "t".into(),
            task_number: 1,
            title: "Task t".to_owned(),
            body: "Body".to_owned(),
            read: false,
            created_at: Timestamp(at),
        }
    }

    #[tokio::test]
    async fn cause_is_told_once_and_the_newest_comes_first() {
        let mut tx = seeded().await;
        assert!(tx.notifications_mut().insert(&notice("one", 1), "cause 1").await.unwrap());
        assert!(!tx.notifications_mut().insert(&notice("again", 3), "cause 1").await.unwrap());
        assert!(tx.notifications_mut().insert(&notice("two", 2), "cause 2").await.unwrap());
        assert_eq!(tx.notifications().list(9).await.unwrap(), [notice("two", 2), notice("one", 1)]);
        assert_eq!(tx.notifications().list(1).await.unwrap(), [notice("two", 2)]);
    }

    #[tokio::test]
    async fn named_notifications_are_read_or_all() {
        let mut tx = seeded().await;
        for id in ["one", "two"] {
            tx.notifications_mut().insert(&notice(id, 1), id).await.unwrap();
        }
        tx.notifications_mut().mark_read(Some(&["one".into()])).await.unwrap();
        let read = Notification { read: true, ..notice("one", 1) };
        assert_eq!(tx.notifications().get(&"one".into()).await.unwrap(), Some(read));
        assert_eq!(tx.notifications().get(&"two".into()).await.unwrap(), Some(notice("two", 1)));
        tx.notifications_mut().mark_read(None).await.unwrap();
        assert!(tx.notifications().list(9).await.unwrap().iter().all(|notice| notice.read));
    }
}

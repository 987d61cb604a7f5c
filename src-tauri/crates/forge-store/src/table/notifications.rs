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

//! `postmortems`: what was recorded about how tasks went.

use forge_model::ids::{ProjectId, ReviewId, TaskId};
use forge_model::postmortem::Postmortem;

use crate::{StoreError, row::Columns};

handles!(postmortems() -> Postmortems, postmortems_mut() -> PostmortemsMut);

impl Postmortems<'_> {
    /// A task's postmortems, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn of_task(&mut self, task: &TaskId) -> Result<Vec<Postmortem>, StoreError> {
        let rows = sqlx::query("SELECT record FROM postmortems WHERE task_id = ?1 ORDER BY number")
            .bind(task.as_str())
            .fetch_all(&mut *self.conn)
            .await?;
        rows.iter().map(|row| Columns(row).json("record")).collect()
    }

    /// The latest postmortem of a project.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn last(&mut self, project: &ProjectId) -> Result<Option<Postmortem>, StoreError> {
        let row = sqlx::query(
            "SELECT p.record FROM postmortems p JOIN tasks t ON t.id = p.task_id WHERE t.project_id = ?1
             ORDER BY p.at DESC, p.number DESC LIMIT 1",
        )
        .bind(project.as_str())
        .fetch_optional(&mut *self.conn)
        .await?;
        row.as_ref().map(|row| Columns(row).json("record")).transpose()
    }

    /// Postmortems that are not exported yet.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn unexported(&mut self) -> Result<Vec<Postmortem>, StoreError> {
        let rows = sqlx::query("SELECT record FROM postmortems WHERE exported = 0 ORDER BY at")
            .fetch_all(&mut *self.conn)
            .await?;
        rows.iter().map(|row| Columns(row).json("record")).collect()
    }
}

impl PostmortemsMut<'_> {
    /// Inserts a postmortem; false when there is one with its number, or about its review.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn insert(&mut self, record: &Postmortem) -> Result<bool, StoreError> {
        let done = sqlx::query(
            "INSERT INTO postmortems (task_id, number, review_id, at, record) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO NOTHING",
        )
        .bind(record.task_id.as_str())
        .bind(record.number)
        .bind(record.review_id.as_ref().map(ReviewId::as_str))
        .bind(record.at.0)
        .bind(self.tx.json(record)?)
        .execute(self.tx.sqlite())
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Writes down that a postmortem is exported.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_exported(&mut self, task: &TaskId, number: u32) -> Result<(), StoreError> {
        sqlx::query("UPDATE postmortems SET exported = 1 WHERE task_id = ?1 AND number = ?2")
            .bind(task.as_str())
            .bind(number)
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }
}

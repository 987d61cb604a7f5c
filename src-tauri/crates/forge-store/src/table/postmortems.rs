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

#[cfg(test)]
mod tests {
    use forge_model::execution::Usage;
    use forge_model::postmortem::PostmortemCause;
    use forge_model::time::Timestamp;

    use super::*;
    use crate::table::tasks::TaskRow;
    use crate::testing::{seeded, task};

    fn postmortem(task: &str, number: u32, review: Option<&str>, at: i64) -> Postmortem {
        Postmortem {
            task_id: task.into(),
            task_number: 1,
            title: "Title".to_owned(),
            number,
            cause: PostmortemCause::GateFailed,
            review_id: review.map(ReviewId::from),
            state: "review".to_owned(),
            at: Timestamp(at),
            attempts: Vec::new(),
            gates: Vec::new(),
            first_failure: None,
            entries: Vec::new(),
            runs: 2,
            usage: Usage::default(),
            agent_ms: 5,
            wall_ms: None,
        }
    }

    #[tokio::test]
    async fn number_and_review_have_one_postmortem_each() {
        let mut tx = seeded().await;
        let (first, second) = (postmortem("t", 1, Some("r"), 9), postmortem("t", 2, None, 8));
        for record in [&second, &first] {
            assert!(tx.postmortems_mut().insert(record).await.unwrap());
        }
        for record in [postmortem("t", 2, None, 7), postmortem("t", 3, Some("r"), 7)] {
            assert!(!tx.postmortems_mut().insert(&record).await.unwrap());
        }
        assert_eq!(tx.postmortems().of_task(&"t".into()).await.unwrap(), [first, second]);
        assert_eq!(tx.postmortems().of_task(&"u".into()).await.unwrap(), []);
    }

    #[tokio::test]
    async fn last_one_is_of_its_project_and_each_is_exported_once() {
        let mut tx = seeded().await;
        tx.tasks_mut().insert(&TaskRow { project_id: "q".into(), ..task("u", 1) }).await.unwrap();
        let (old, new, other) =
            (postmortem("t", 1, None, 1), postmortem("t", 2, None, 2), postmortem("u", 1, None, 3));
        for record in [&new, &other, &old] {
            tx.postmortems_mut().insert(record).await.unwrap();
        }
        assert_eq!(tx.postmortems().last(&"p".into()).await.unwrap().as_ref(), Some(&new));
        assert_eq!(tx.postmortems().last(&"q".into()).await.unwrap().as_ref(), Some(&other));
        assert_eq!(tx.postmortems().last(&"gone".into()).await.unwrap(), None);
        tx.postmortems_mut().set_exported(&"t".into(), 1).await.unwrap();
        assert_eq!(tx.postmortems().unexported().await.unwrap(), [new, other]);
    }
}

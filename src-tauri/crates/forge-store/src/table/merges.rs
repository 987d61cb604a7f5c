//! `merges`: what was intended and what came of it, so that a crash between the two can be settled.

use forge_model::ids::TaskId;
use forge_model::merge::Merge;
use forge_model::time::Timestamp;
use sqlx::sqlite::SqliteRow;

use crate::{StoreError, row::Columns};

handles!(merges() -> Merges, merges_mut() -> MergesMut);

impl Merges<'_> {
    /// The latest merge of a task.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn last(&mut self, task: &TaskId) -> Result<Option<Merge>, StoreError> {
        let row = sqlx::query(
            "SELECT * FROM merges WHERE task_id = ?1 ORDER BY created_at DESC, rowid DESC LIMIT 1",
        )
        .bind(task.as_str())
        .fetch_optional(&mut *self.conn)
        .await?;
        row.as_ref().map(read).transpose()
    }

    /// All merges of a task, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn list(&mut self, task: &TaskId) -> Result<Vec<Merge>, StoreError> {
        let rows = sqlx::query("SELECT * FROM merges WHERE task_id = ?1 ORDER BY created_at, rowid")
            .bind(task.as_str())
            .fetch_all(&mut *self.conn)
            .await?;
        rows.iter().map(read).collect()
    }
}

impl MergesMut<'_> {
    /// Inserts or rewrites a merge.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn put(&mut self, m: &Merge, now: Timestamp) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO merges (id, task_id, target, strategy, source_commit, merge_commit, target_before, status, reason, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
             ON CONFLICT (id) DO UPDATE SET source_commit = ?5, merge_commit = ?6, target_before = ?7, status = ?8, reason = ?9, updated_at = ?11",
        )
        .bind(m.id.as_str())
        .bind(m.task_id.as_str())
        .bind(&m.target)
        .bind(m.strategy.as_str())
        .bind(&m.source_commit)
        .bind(&m.merge_commit)
        .bind(&m.target_before)
        .bind(m.status.as_str())
        .bind(self.tx.text_opt(m.reason.as_ref()))
        .bind(m.created_at.0)
        .bind(now.0)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }
}

fn read(row: &SqliteRow) -> Result<Merge, StoreError> {
    let c = Columns(row);
    Ok(Merge {
        id: c.text("id")?,
        task_id: c.text("task_id")?,
        target: c.text("target")?,
        strategy: c.name("strategy")?,
        source_commit: c.text("source_commit")?,
        merge_commit: c.text_opt("merge_commit")?,
        target_before: c.text_opt("target_before")?,
        status: c.name("status")?,
        reason: c.text_opt("reason")?,
        created_at: c.time("created_at")?,
    })
}

#[cfg(test)]
mod tests {
    use forge_model::merge::MergeStatus;
    use forge_model::settings::MergeStrategy;

    use super::*;
    use crate::testing::{count, seeded};

    fn merge(id: &str, created_at: i64) -> Merge {
        Merge {
            id: id.into(),
            task_id: "t".into(),
            target: "main".to_owned(),
            strategy: MergeStrategy::Squash,
            source_commit: "s".to_owned(),
            merge_commit: None,
            target_before: None,
            status: MergeStatus::Intended,
            reason: None,
            created_at: Timestamp(created_at),
        }
    }

    #[tokio::test]
    async fn intent_becomes_what_was_landed() {
        let mut tx = seeded().await;
        for merge in [merge("second", 2), merge("first", 1)] {
            tx.merges_mut().put(&merge, Timestamp(3)).await.unwrap();
        }
        let landed = Merge {
            status: MergeStatus::Landed,
            merge_commit: Some("m".to_owned()),
            target_before: Some("b".to_owned()),
            ..merge("second", 2)
        };
        tx.merges_mut().put(&landed, Timestamp(4)).await.unwrap();
        assert_eq!(tx.merges().last(&"t".into()).await.unwrap().as_ref(), Some(&landed));
        assert_eq!(tx.merges().list(&"t".into()).await.unwrap(), [merge("first", 1), landed]);
        tx.tasks_mut().delete(&"t".into()).await.unwrap();
        assert_eq!(count(&mut tx, "merges").await, 0);
    }
}

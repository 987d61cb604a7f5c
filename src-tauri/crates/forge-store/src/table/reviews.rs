//! `reviews` and `review_steps`. Reviews are never deleted while their task lives.

use std::collections::HashMap;

use forge_model::ids::{ExecutionId, ProjectId, ReviewId, TaskId};
use forge_model::review::{AuditReport, Review, ReviewStatus, ReviewStep, Verdict};
use forge_model::task::ReviewBadge;
use sqlx::{QueryBuilder, Row as _, Sqlite, SqliteConnection, sqlite::SqliteRow};

use crate::{
    StoreError,
    row::{Columns, json, push_list, text_opt},
};

handles!(reviews() -> Reviews, reviews_mut() -> ReviewsMut);

impl Reviews<'_> {
    /// Whether a review takes passes of checks on the same tree.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn reuses_passes(&mut self, review: &ReviewId) -> Result<bool, StoreError> {
        let row = sqlx::query("SELECT reuses_passes FROM reviews WHERE id = ?1")
            .bind(review.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        Ok(row.map(|row| row.try_get("reuses_passes")).transpose()?.unwrap_or(false))
    }

    /// Which untracked files the checks of a review made.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn check_files(&mut self, review: &ReviewId) -> Result<Vec<String>, StoreError> {
        let row = sqlx::query("SELECT check_files FROM reviews WHERE id = ?1")
            .bind(review.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        Ok(row.map(|row| Columns(&row).json("check_files")).transpose()?.unwrap_or_default())
    }

    /// Checks that were run in a project on a tree, the latest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn steps_on_tree(
        &mut self,
        project: &ProjectId,
        tree: &str,
    ) -> Result<Vec<ReviewStep>, StoreError> {
        let rows = sqlx::query(
            "SELECT s.step FROM review_steps s JOIN reviews r ON r.id = s.review_id JOIN tasks t ON t.id = r.task_id
             WHERE r.tree = ?2 AND t.project_id = ?1 ORDER BY r.started_at DESC, s.idx",
        )
        .bind(project.as_str())
        .bind(tree)
        .fetch_all(&mut *self.conn)
        .await?;
        rows.iter().map(|row| Columns(row).json("step")).collect()
    }

    /// The task whose work a review judges; none when there is no such review.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn task_of(&mut self, review: &ReviewId) -> Result<Option<TaskId>, StoreError> {
        let row = sqlx::query("SELECT task_id FROM reviews WHERE id = ?1")
            .bind(review.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        row.map(|row| Columns(&row).text("task_id")).transpose()
    }

    /// The latest review of a task.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn last(&mut self, task: &TaskId) -> Result<Option<Review>, StoreError> {
        let row =
            sqlx::query("SELECT * FROM reviews WHERE task_id = ?1 ORDER BY attempt_number DESC LIMIT 1")
                .bind(task.as_str())
                .fetch_optional(&mut *self.conn)
                .await?;
        match row {
            Some(row) => Ok(Some(with_steps(&mut *self.conn, read(&row)?).await?)),
            None => Ok(None),
        }
    }

    /// The latest review that belongs to a move.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn of_transition(&mut self, task: &TaskId, seq: i64) -> Result<Option<Review>, StoreError> {
        let row = sqlx::query("SELECT * FROM reviews WHERE task_id = ?1 AND transition_seq = ?2 ORDER BY attempt_number DESC LIMIT 1")
            .bind(task.as_str())
            .bind(seq)
            .fetch_optional(&mut *self.conn)
            .await?;
        match row {
            Some(row) => Ok(Some(with_steps(&mut *self.conn, read(&row)?).await?)),
            None => Ok(None),
        }
    }

    /// The reviews of one gate that the moves after `boundary` began, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn since(
        &mut self,
        task: &TaskId,
        state: &str,
        boundary: i64,
    ) -> Result<Vec<Review>, StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM reviews WHERE task_id = ?1 AND state = ?2 AND transition_seq > ?3 ORDER BY attempt_number",
        )
        .bind(task.as_str())
        .bind(state)
        .bind(boundary)
        .fetch_all(&mut *self.conn)
        .await?;
        all_with_steps(&mut *self.conn, &rows).await
    }

    /// All reviews of a task, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn list(&mut self, task: &TaskId) -> Result<Vec<Review>, StoreError> {
        let rows = sqlx::query("SELECT * FROM reviews WHERE task_id = ?1 ORDER BY attempt_number")
            .bind(task.as_str())
            .fetch_all(&mut *self.conn)
            .await?;
        all_with_steps(&mut *self.conn, &rows).await
    }

    /// The latest reviews of many tasks, as their cards show them.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn badges(&mut self, tasks: &[TaskId]) -> Result<HashMap<TaskId, ReviewBadge>, StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT task_id, max(attempt_number) AS attempt_number, status, verdict, reviewed_commit FROM reviews
             WHERE task_id IN ",
        );
        push_list(&mut query, tasks)?;
        query.push(" GROUP BY task_id");
        let rows = query.build().fetch_all(&mut *self.conn).await?;
        rows.iter()
            .map(|row| {
                let c = Columns(row);
                let badge = ReviewBadge {
                    attempt_number: c.int("attempt_number")?,
                    status: c.name::<ReviewStatus>("status")?,
                    verdict: c.name_opt("verdict")?,
                    reviewed_commit: c.text_opt("reviewed_commit")?,
                };
                Ok((c.text("task_id")?, badge))
            })
            .collect()
    }
}

impl ReviewsMut<'_> {
    /// Inserts a review that belongs to the move `transition_seq`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn insert(&mut self, r: &Review, transition_seq: i64) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO reviews (id, task_id, attempt_number, state, status, verdict, note, reason, decided_by, reviewed_commit,
             transition_seq, started_at, finished_at, base_commit, work_execution_id, audits, measures)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        )
        .bind(r.id.as_str())
        .bind(r.task_id.as_str())
        .bind(r.attempt_number)
        .bind(&r.state)
        .bind(r.status.as_str())
        .bind(r.verdict.map(Verdict::as_str))
        .bind(self.tx.text_opt(r.note.as_ref()))
        .bind(&r.reason)
        .bind(text_opt(r.decided_by.as_ref()))
        .bind(&r.reviewed_commit)
        .bind(transition_seq)
        .bind(r.started_at.0)
        .bind(r.finished_at.map(|time| time.0))
        .bind(&r.base_commit)
        .bind(r.work_execution_id.as_ref().map(ExecutionId::as_str))
        .bind(self.tx.json(&r.audits)?)
        .bind(r.measures.as_ref().map(json).transpose()?)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Writes how far a review has come; its checks are written by [`put_step`].
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn update(&mut self, r: &Review) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE reviews SET status = ?2, verdict = ?3, note = ?4, reason = ?5, decided_by = ?6, reviewed_commit = ?7, finished_at = ?8,
             base_commit = ?9, work_execution_id = ?10, audits = ?11, measures = ?12 WHERE id = ?1",
        )
        .bind(r.id.as_str())
        .bind(r.status.as_str())
        .bind(r.verdict.map(Verdict::as_str))
        .bind(self.tx.text_opt(r.note.as_ref()))
        .bind(&r.reason)
        .bind(text_opt(r.decided_by.as_ref()))
        .bind(&r.reviewed_commit)
        .bind(r.finished_at.map(|time| time.0))
        .bind(&r.base_commit)
        .bind(r.work_execution_id.as_ref().map(ExecutionId::as_str))
        .bind(self.tx.json(&r.audits)?)
        .bind(r.measures.as_ref().map(json).transpose()?)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Writes one check of a review.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn put_step(&mut self, review: &ReviewId, step: &ReviewStep) -> Result<(), StoreError> {
        sqlx::query("INSERT INTO review_steps (review_id, idx, step) VALUES (?1, ?2, ?3) ON CONFLICT (review_id, idx) DO UPDATE SET step = ?3")
            .bind(review.as_str())
            .bind(step.index)
            .bind(self.tx.json(step)?)
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }

    /// Names the tree that a review's checks run on; none when they see more than a commit's files.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_tree(&mut self, review: &ReviewId, tree: Option<&str>) -> Result<(), StoreError> {
        sqlx::query("UPDATE reviews SET tree = ?2 WHERE id = ?1")
            .bind(review.as_str())
            .bind(tree)
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }

    /// Lets a review take passes of checks on the same tree instead of running them again.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn reuse_passes(&mut self, review: &ReviewId) -> Result<(), StoreError> {
        sqlx::query("UPDATE reviews SET reuses_passes = 1 WHERE id = ?1")
            .bind(review.as_str())
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }

    /// Keeps which untracked files the checks of a review made.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_check_files(&mut self, review: &ReviewId, files: &[String]) -> Result<(), StoreError> {
        sqlx::query("UPDATE reviews SET check_files = ?2 WHERE id = ?1")
            .bind(review.as_str())
            .bind(json(&files)?)
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }

    /// Forgets the checks of a review, because they are run again.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn clear_steps(&mut self, review: &ReviewId) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM review_steps WHERE review_id = ?1")
            .bind(review.as_str())
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }
}

async fn all_with_steps(conn: &mut SqliteConnection, rows: &[SqliteRow]) -> Result<Vec<Review>, StoreError> {
    let mut reviews = Vec::with_capacity(rows.len());
    for row in rows {
        reviews.push(with_steps(conn, read(row)?).await?);
    }
    Ok(reviews)
}

async fn with_steps(conn: &mut SqliteConnection, mut review: Review) -> Result<Review, StoreError> {
    let rows = sqlx::query("SELECT step FROM review_steps WHERE review_id = ?1 ORDER BY idx")
        .bind(review.id.as_str())
        .fetch_all(conn)
        .await?;
    review.steps = rows.iter().map(|row| Columns(row).json("step")).collect::<Result<_, _>>()?;
    Ok(review)
}

fn read(row: &SqliteRow) -> Result<Review, StoreError> {
    let c = Columns(row);
    let audits: Vec<AuditReport> = c.json("audits")?;
    let last = audits.last();
    Ok(Review {
        report: last.map(|last| last.text.clone()),
        score: last.and_then(|last| last.audit.score),
        findings: last.map(|last| last.audit.findings.clone()).unwrap_or_default(),
        id: c.text("id")?,
        task_id: c.text("task_id")?,
        attempt_number: c.int("attempt_number")?,
        state: row.try_get("state")?,
        status: c.name("status")?,
        verdict: c.name_opt("verdict")?,
        steps: Vec::new(),
        note: c.text_opt("note")?,
        reason: c.text_opt("reason")?,
        decided_by: c.name_opt("decided_by")?,
        audits,
        measures: c.json_opt("measures")?,
        work_execution_id: c.text_opt("work_execution_id")?,
        base_commit: c.text_opt("base_commit")?,
        reviewed_commit: c.text_opt("reviewed_commit")?,
        started_at: c.time("started_at")?,
        finished_at: c.time_opt("finished_at")?,
    })
}

#[cfg(test)]
mod tests {
    use forge_model::time::Timestamp;

    use super::*;
    use crate::testing::{count, is_refused, review, seeded};

    async fn reviewed() -> crate::Tx {
        let mut tx = seeded().await;
        for (id, attempt, seq) in [("r1", 1, 10), ("r2", 2, 20)] {
            tx.reviews_mut().insert(&review(id, attempt), seq).await.unwrap();
        }
        tx
    }

    #[tokio::test]
    async fn attempts_are_read_back_in_order_and_numbered_once() {
        let mut tx = reviewed().await;
        assert_eq!(tx.reviews().list(&"t".into()).await.unwrap(), [review("r1", 1), review("r2", 2)]);
        assert_eq!(tx.reviews().last(&"t".into()).await.unwrap(), Some(review("r2", 2)));
        let of_move = tx.reviews().of_transition(&"t".into(), 10).await.unwrap();
        assert_eq!(of_move, Some(review("r1", 1)));
        assert_eq!(tx.reviews().since(&"t".into(), "review", 10).await.unwrap(), [review("r2", 2)]);
        assert_eq!(tx.reviews().since(&"t".into(), "other", 0).await.unwrap(), []);
        assert_eq!(tx.reviews().task_of(&"r1".into()).await.unwrap(), Some("t".into()));
        assert!(is_refused(tx.reviews_mut().insert(&review("r3", 2), 30).await, "UNIQUE"));
    }

    #[tokio::test]
    async fn verdict_is_written_and_the_badge_tells_the_last_one() {
        let mut tx = reviewed().await;
        let mut row = review("r2", 2);
        row.status = ReviewStatus::Failed;
        row.verdict = Some(Verdict::Fail);
        row.reason = Some("No tests".to_owned());
        row.finished_at = Some(Timestamp(9));
        tx.reviews_mut().update(&row).await.unwrap();
        assert_eq!(tx.reviews().list(&"t".into()).await.unwrap(), [review("r1", 1), row]);
        let badges = tx.reviews().badges(&["t".into()]).await.unwrap();
        assert_eq!(badges[&TaskId::from("t")].verdict, Some(Verdict::Fail));
    }

    #[tokio::test]
    async fn steps_are_replaced_by_their_index_and_found_by_the_tree() {
        let mut tx = reviewed().await;
        let mut step = ReviewStep::begun(0, "make", "log");
        let second = ReviewStep::begun(1, "make test", "log");
        for step in [&second, &step] {
            tx.reviews_mut().put_step(&"r1".into(), step).await.unwrap();
        }
        step.exit_code = Some(2);
        tx.reviews_mut().put_step(&"r1".into(), &step).await.unwrap();
        let steps = [step, second];
        let stored = tx.reviews().of_transition(&"t".into(), 10).await.unwrap().unwrap();
        assert_eq!(stored.steps, steps);
        assert_eq!(tx.reviews().steps_on_tree(&"p".into(), "tree").await.unwrap(), []);
        tx.reviews_mut().set_tree(&"r1".into(), Some("tree")).await.unwrap();
        assert_eq!(tx.reviews().steps_on_tree(&"p".into(), "tree").await.unwrap(), steps);
        assert_eq!(tx.reviews().steps_on_tree(&"q".into(), "tree").await.unwrap(), []);
        tx.reviews_mut().clear_steps(&"r1".into()).await.unwrap();
        assert_eq!(count(&mut tx, "review_steps").await, 0);
    }

    #[tokio::test]
    async fn reuse_of_passes_and_files_of_checks_are_of_one_review() {
        let mut tx = reviewed().await;
        tx.reviews_mut().reuse_passes(&"r2".into()).await.unwrap();
        tx.reviews_mut().set_check_files(&"r2".into(), &["Makefile".to_owned()]).await.unwrap();
        assert!(tx.reviews().reuses_passes(&"r2".into()).await.unwrap());
        assert!(!tx.reviews().reuses_passes(&"r1".into()).await.unwrap());
        assert_eq!(tx.reviews().check_files(&"r2".into()).await.unwrap(), ["Makefile"]);
        assert_eq!(tx.reviews().check_files(&"r1".into()).await.unwrap(), [""; 0]);
    }
}

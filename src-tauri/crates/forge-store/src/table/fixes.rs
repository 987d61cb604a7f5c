//! `fixes` and `fix_drafts`.

use forge_model::fix::{DraftStatus, FixDraft, FixProposal, FixStatus};
use forge_model::ids::{ExecutionId, ProjectId, ReviewId, TaskId};
use sqlx::sqlite::SqliteRow;

use crate::{
    StoreError,
    row::{Columns, json, json_opt},
};

handles!(fixes() -> Fixes, fixes_mut() -> FixesMut);

impl Fixes<'_> {
    /// One proposal.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn get(&mut self, task: &TaskId, fix: &str) -> Result<Option<FixProposal>, StoreError> {
        let row = sqlx::query("SELECT * FROM fixes WHERE task_id = ?1 AND fix_id = ?2")
            .bind(task.as_str())
            .bind(fix)
            .fetch_optional(&mut *self.conn)
            .await?;
        row.as_ref().map(read).transpose()
    }

    /// The tasks that have a fix of this name.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn tasks_of(&mut self, fix: &str) -> Result<Vec<TaskId>, StoreError> {
        let rows = sqlx::query("SELECT task_id FROM fixes WHERE fix_id = ?1 ORDER BY seq")
            .bind(fix)
            .fetch_all(&mut *self.conn)
            .await?;
        rows.iter().map(|row| Columns(row).text("task_id")).collect()
    }

    /// A task's proposals, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn of_task(&mut self, task: &TaskId) -> Result<Vec<FixProposal>, StoreError> {
        let rows = sqlx::query("SELECT * FROM fixes WHERE task_id = ?1 ORDER BY seq")
            .bind(task.as_str())
            .fetch_all(&mut *self.conn)
            .await?;
        rows.iter().map(read).collect()
    }

    /// A project's proposals, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn of_project(&mut self, project: &ProjectId) -> Result<Vec<FixProposal>, StoreError> {
        let rows = sqlx::query(
            "SELECT f.* FROM fixes f JOIN tasks t ON t.id = f.task_id WHERE t.project_id = ?1 ORDER BY f.seq",
        )
        .bind(project.as_str())
        .fetch_all(&mut *self.conn)
        .await?;
        rows.iter().map(read).collect()
    }

    /// Proposals that were about to be applied.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn half_applied(&mut self) -> Result<Vec<FixProposal>, StoreError> {
        let rows =
            sqlx::query("SELECT * FROM fixes WHERE status = ?1 AND applied_commit IS NOT NULL ORDER BY seq")
                .bind(FixStatus::Drafted.as_str())
                .fetch_all(&mut *self.conn)
                .await?;
        rows.iter().map(read).collect()
    }

    /// The attempt at drafting for a review.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn draft_of(&mut self, review: &ReviewId) -> Result<Option<FixDraft>, StoreError> {
        let row = sqlx::query("SELECT * FROM fix_drafts WHERE review_id = ?1")
            .bind(review.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        row.as_ref().map(read_draft).transpose()
    }

    /// A task's attempts at drafting, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn drafts_of(&mut self, task: &TaskId) -> Result<Vec<FixDraft>, StoreError> {
        let rows = sqlx::query("SELECT * FROM fix_drafts WHERE task_id = ?1 ORDER BY started_at, review_id")
            .bind(task.as_str())
            .fetch_all(&mut *self.conn)
            .await?;
        rows.iter().map(read_draft).collect()
    }

    /// Attempts that are not over.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn open_drafts(&mut self) -> Result<Vec<FixDraft>, StoreError> {
        let rows = sqlx::query("SELECT * FROM fix_drafts WHERE status = ?1")
            .bind(DraftStatus::Drafting.as_str())
            .fetch_all(&mut *self.conn)
            .await?;
        rows.iter().map(read_draft).collect()
    }
}

impl FixesMut<'_> {
    /// Inserts a proposal; false when its task has the same one already.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn insert(&mut self, fix: &FixProposal) -> Result<bool, StoreError> {
        let done = sqlx::query(
            "INSERT INTO fixes (fix_id, task_id, execution_id, review_id, base_commit, files, added_lines, removed_lines, gate, author,
             cost_micro_usd, status, created_at, applied_commit, verification, reason, decided_by, updated_at, patch, wanted_by, strategy)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)
             ON CONFLICT (task_id, fix_id) DO NOTHING",
        )
        .bind(&fix.fix_id)
        .bind(fix.task_id.as_str())
        .bind(fix.execution_id.as_str())
        .bind(fix.review_id.as_str())
        .bind(&fix.base_commit)
        .bind(json(&fix.files)?)
        .bind(fix.added_lines)
        .bind(fix.removed_lines)
        .bind(json(&fix.gate)?)
        .bind(json(&fix.author)?)
        .bind(fix.cost_micro_usd.map(|cost| i64::try_from(cost).unwrap_or(i64::MAX)))
        .bind(fix.status.as_str())
        .bind(fix.created_at.0)
        .bind(&fix.applied_commit)
        .bind(self.tx.json_opt(fix.verification.as_ref())?)
        .bind(self.tx.text_opt(fix.reason.as_ref()))
        .bind(json_opt(fix.decided_by.as_ref())?)
        .bind(fix.updated_at.0)
        .bind(&fix.patch)
        .bind(json_opt(fix.wanted_by.as_ref())?)
        .bind(&fix.strategy)
        .execute(self.tx.sqlite())
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Writes what changes of a proposal.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn update(&mut self, fix: &FixProposal) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE fixes SET status = ?3, applied_commit = ?4, verification = ?5, reason = ?6, decided_by = ?7, updated_at = ?8, wanted_by = ?9
             WHERE task_id = ?1 AND fix_id = ?2",
        )
        .bind(fix.task_id.as_str())
        .bind(&fix.fix_id)
        .bind(fix.status.as_str())
        .bind(&fix.applied_commit)
        .bind(self.tx.json_opt(fix.verification.as_ref())?)
        .bind(self.tx.text_opt(fix.reason.as_ref()))
        .bind(json_opt(fix.decided_by.as_ref())?)
        .bind(fix.updated_at.0)
        .bind(json_opt(fix.wanted_by.as_ref())?)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Writes that nobody wants a proposal to be applied any more; all else stays.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn forget_wish(&mut self, fix: &FixProposal) -> Result<(), StoreError> {
        sqlx::query("UPDATE fixes SET wanted_by = NULL WHERE task_id = ?1 AND fix_id = ?2")
            .bind(fix.task_id.as_str())
            .bind(&fix.fix_id)
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }

    /// Writes down that a proposal is being drafted; false when one was, for the same review.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn begin_draft(&mut self, draft: &FixDraft) -> Result<bool, StoreError> {
        let done = sqlx::query(
            "INSERT INTO fix_drafts (review_id, task_id, execution_id, agent_id, file, base_commit, gate, status, reason, fix_id,
             started_at, finished_at, strategy) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
             ON CONFLICT (review_id) DO NOTHING",
        )
        .bind(draft.review_id.as_str())
        .bind(draft.task_id.as_str())
        .bind(draft.execution_id.as_ref().map(ExecutionId::as_str))
        .bind(draft.agent_id.as_str())
        .bind(&draft.file)
        .bind(&draft.base_commit)
        .bind(json(&draft.gate)?)
        .bind(draft.status.as_str())
        .bind(self.tx.text_opt(draft.reason.as_ref()))
        .bind(&draft.fix_id)
        .bind(draft.started_at.0)
        .bind(draft.finished_at.map(|at| at.0))
        .bind(&draft.strategy)
        .execute(self.tx.sqlite())
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Writes what changes of an attempt at drafting.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn update_draft(&mut self, draft: &FixDraft) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE fix_drafts SET execution_id = ?2, status = ?3, reason = ?4, fix_id = ?5, finished_at = ?6 WHERE review_id = ?1",
        )
        .bind(draft.review_id.as_str())
        .bind(draft.execution_id.as_ref().map(ExecutionId::as_str))
        .bind(draft.status.as_str())
        .bind(self.tx.text_opt(draft.reason.as_ref()))
        .bind(&draft.fix_id)
        .bind(draft.finished_at.map(|at| at.0))
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }
}

fn read(row: &SqliteRow) -> Result<FixProposal, StoreError> {
    let c = Columns(row);
    Ok(FixProposal {
        fix_id: c.text("fix_id")?,
        task_id: c.text("task_id")?,
        execution_id: c.text("execution_id")?,
        review_id: c.text("review_id")?,
        base_commit: c.text("base_commit")?,
        strategy: c.text_opt("strategy")?,
        files: c.json("files")?,
        added_lines: c.int("added_lines")?,
        removed_lines: c.int("removed_lines")?,
        gate: c.json("gate")?,
        author: c.json("author")?,
        cost_micro_usd: c.int_opt("cost_micro_usd")?,
        status: c.name("status")?,
        created_at: c.time("created_at")?,
        applied_commit: c.text_opt("applied_commit")?,
        verification: c.json_opt("verification")?,
        reason: c.text_opt("reason")?,
        decided_by: c.json_opt("decided_by")?,
        wanted_by: c.json_opt("wanted_by")?,
        updated_at: c.time("updated_at")?,
        patch: c.text("patch")?,
    })
}

fn read_draft(row: &SqliteRow) -> Result<FixDraft, StoreError> {
    let c = Columns(row);
    Ok(FixDraft {
        review_id: c.text("review_id")?,
        task_id: c.text("task_id")?,
        execution_id: c.text_opt("execution_id")?,
        agent_id: c.text("agent_id")?,
        strategy: c.text_opt("strategy")?,
        file: c.text("file")?,
        base_commit: c.text("base_commit")?,
        gate: c.json("gate")?,
        status: c.name("status")?,
        reason: c.text_opt("reason")?,
        fix_id: c.text_opt("fix_id")?,
        started_at: c.time("started_at")?,
        finished_at: c.time_opt("finished_at")?,
    })
}

#[cfg(test)]
mod tests {
    use forge_model::actor::{Actor, Via};
    use forge_model::fix::{FixAuthor, FixGate};
    use forge_model::time::Timestamp;

    use super::*;
    use crate::table::tasks::TaskRow;
    use crate::testing::{count, review, seeded, task};

    fn gate() -> FixGate {
        FixGate { step: 1, command: "make".to_owned(), exit_code: Some(2), failure_ids: vec!["f".to_owned()] }
    }

    fn fix(id: &str, task: &str) -> FixProposal {
        FixProposal {
            fix_id: id.to_owned(),
            task_id: task.into(),
            execution_id: "x".into(),
            review_id: "r1".into(),
            base_commit: "c".to_owned(),
            strategy: Some("quick".to_owned()),
            files: vec!["src/a.rs".to_owned()],
            added_lines: 3,
            removed_lines: 1,
            gate: gate(),
            author: FixAuthor { agent: "a".into(), model: None },
            cost_micro_usd: Some(7),
            status: FixStatus::Drafted,
            created_at: Timestamp(1),
            applied_commit: None,
            verification: None,
            reason: None,
            decided_by: None,
            wanted_by: Some(Actor::User { via: Via::Board }),
            updated_at: Timestamp(1),
            patch: "--- a".to_owned(),
        }
    }

    fn draft(review: &str, started_at: i64) -> FixDraft {
        FixDraft {
            review_id: review.into(),
            task_id: "t".into(),
            execution_id: None,
            agent_id: "a".into(),
            strategy: None,
            file: "src/a.rs".to_owned(),
            base_commit: "c".to_owned(),
            gate: gate(),
            status: DraftStatus::Drafting,
            reason: None,
            fix_id: None,
            started_at: Timestamp(started_at),
            finished_at: None,
        }
    }

    #[tokio::test]
    async fn proposal_is_inserted_once_for_a_task() {
        let mut tx = seeded().await;
        let other = TaskRow { project_id: "q".into(), ..task("u", 1) };
        tx.tasks_mut().insert(&other).await.unwrap();
        let (one, two, elsewhere) = (fix("1", "t"), fix("2", "t"), fix("1", "u"));
        for fix in [&two, &one, &elsewhere] {
            assert!(tx.fixes_mut().insert(fix).await.unwrap());
        }
        let again = FixProposal { patch: "other".to_owned(), ..one.clone() };
        assert!(!tx.fixes_mut().insert(&again).await.unwrap());
        assert_eq!(tx.fixes().get(&"t".into(), "1").await.unwrap().as_ref(), Some(&one));
        assert_eq!(tx.fixes().get(&"u".into(), "2").await.unwrap(), None);
        assert_eq!(tx.fixes().of_task(&"t".into()).await.unwrap(), [two.clone(), one.clone()]);
        assert_eq!(tx.fixes().of_project(&"p".into()).await.unwrap(), [two, one]);
        assert_eq!(tx.fixes().of_project(&"q".into()).await.unwrap(), [elsewhere]);
        assert_eq!(tx.fixes().tasks_of("1").await.unwrap(), ["t", "u"].map(TaskId::from));
        tx.tasks_mut().delete(&"t".into()).await.unwrap();
        assert_eq!(count(&mut tx, "fixes").await, 1);
    }

    #[tokio::test]
    async fn decision_about_one_proposal_is_written_and_its_wish_forgotten() {
        let mut tx = seeded().await;
        let (mut one, two) = (fix("1", "t"), fix("2", "t"));
        for fix in [&one, &two] {
            tx.fixes_mut().insert(fix).await.unwrap();
        }
        assert_eq!(tx.fixes().half_applied().await.unwrap(), []);
        one.applied_commit = Some("d".to_owned());
        one.updated_at = Timestamp(2);
        tx.fixes_mut().update(&one).await.unwrap();
        assert_eq!(tx.fixes().half_applied().await.unwrap(), [one.clone()]);
        tx.fixes_mut().forget_wish(&one).await.unwrap();
        one.wanted_by = None;
        assert_eq!(tx.fixes().of_task(&"t".into()).await.unwrap(), [one.clone(), two.clone()]);
        one.status = FixStatus::Rejected;
        one.reason = Some("No".to_owned());
        one.decided_by = Some(Actor::User { via: Via::Cli });
        tx.fixes_mut().update(&one).await.unwrap();
        assert_eq!(tx.fixes().half_applied().await.unwrap(), []);
        assert_eq!(tx.fixes().of_task(&"t".into()).await.unwrap(), [one, two]);
    }

    #[tokio::test]
    async fn review_has_one_draft_which_is_open_until_it_is_over() {
        let mut tx = seeded().await;
        for (id, attempt) in [("r1", 1), ("r2", 2)] {
            tx.reviews_mut().insert(&review(id, attempt), 1).await.unwrap();
        }
        let (late, mut early) = (draft("r1", 9), draft("r2", 8));
        for draft in [&late, &early] {
            assert!(tx.fixes_mut().begin_draft(draft).await.unwrap());
        }
        let again = FixDraft { file: "b".to_owned(), ..late.clone() };
        assert!(!tx.fixes_mut().begin_draft(&again).await.unwrap());
        assert_eq!(tx.fixes().drafts_of(&"t".into()).await.unwrap(), [early.clone(), late.clone()]);
        assert_eq!(tx.fixes().open_drafts().await.unwrap().len(), 2);
        early.execution_id = Some("x".into());
        early.status = DraftStatus::Dropped;
        early.reason = Some("No patch".to_owned());
        early.finished_at = Some(Timestamp(10));
        tx.fixes_mut().update_draft(&early).await.unwrap();
        assert_eq!(tx.fixes().draft_of(&"r2".into()).await.unwrap(), Some(early));
        assert_eq!(tx.fixes().draft_of(&"r3".into()).await.unwrap(), None);
        assert_eq!(tx.fixes().open_drafts().await.unwrap(), [late]);
    }
}

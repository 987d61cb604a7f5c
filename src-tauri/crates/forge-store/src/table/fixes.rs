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

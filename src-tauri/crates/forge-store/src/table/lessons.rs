//! `lessons`: what agents proposed to remember, and what a person decided.

use forge_model::ids::{ExecutionId, LessonId, ProjectId, TaskId};
use forge_model::lesson::{LessonDraft, LessonStatus};
use forge_model::time::Timestamp;
use sqlx::{QueryBuilder, Sqlite, sqlite::SqliteRow};

use crate::{
    StoreError,
    row::{Columns, json, push_list},
};

handles!(lessons() -> Lessons, lessons_mut() -> LessonsMut);

/// Where a lesson goes, or went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing {
    /// The branch.
    pub target: String,
    /// Its file there.
    pub file: String,
    /// The commit that brings it.
    pub commit: String,
}

/// A lesson as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct LessonRow {
    /// Identity.
    pub id: LessonId,
    /// The project.
    pub project_id: ProjectId,
    /// The task that taught it; none when it is gone, or when no task did.
    pub task_id: Option<TaskId>,
    /// That task's number.
    pub task_number: Option<u32>,
    /// The run that said it.
    pub execution_id: Option<ExecutionId>,
    /// What was said.
    pub draft: LessonDraft,
    /// What became of it.
    pub status: LessonStatus,
    /// Of an accepted one where it is; of a proposed one where it was about to go.
    pub landing: Option<Landing>,
    /// When it was proposed.
    pub created_at: Timestamp,
    /// When a person decided.
    pub decided_at: Option<Timestamp>,
}

impl Lessons<'_> {
    /// One lesson.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn get(&mut self, id: &LessonId) -> Result<Option<LessonRow>, StoreError> {
        let row = sqlx::query("SELECT * FROM lessons WHERE id = ?1")
            .bind(id.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        row.as_ref().map(read).transpose()
    }

    /// Whether a project was told the same before, whatever became of it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn is_known(&mut self, project: &ProjectId, draft: &LessonDraft) -> Result<bool, StoreError> {
        let row = sqlx::query("SELECT 1 FROM lessons WHERE project_id = ?1 AND title = ?2 AND body = ?3")
            .bind(project.as_str())
            .bind(&draft.title)
            .bind(&draft.body)
            .fetch_optional(&mut *self.conn)
            .await?;
        Ok(row.is_some())
    }

    /// At most `limit` lessons of a project with this status, newest first, from behind the one in `after`.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn list(
        &mut self,
        project: &ProjectId,
        status: LessonStatus,
        after: Option<(Timestamp, &LessonId)>,
        limit: u32,
    ) -> Result<Vec<LessonRow>, StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new("SELECT * FROM lessons WHERE project_id = ");
        query.push_bind(project.as_str()).push(" AND status = ").push_bind(status.as_str());
        if let Some((at, id)) = after {
            query
                .push(" AND (created_at, id) < (")
                .push_bind(at.0)
                .push(", ")
                .push_bind(id.as_str())
                .push(")");
        }
        query.push(" ORDER BY created_at DESC, id DESC LIMIT ").push_bind(limit);
        query.build().fetch_all(&mut *self.conn).await?.iter().map(read).collect()
    }

    /// How many lessons of a project have this status.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn count(&mut self, project: &ProjectId, status: LessonStatus) -> Result<u32, StoreError> {
        let row = sqlx::query("SELECT count(*) AS n FROM lessons WHERE project_id = ?1 AND status = ?2")
            .bind(project.as_str())
            .bind(status.as_str())
            .fetch_one(&mut *self.conn)
            .await?;
        Columns(&row).int("n")
    }

    /// The accepted lessons that some files of a branch came from, the latest of a file last.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn of_files(
        &mut self,
        project: &ProjectId,
        target: &str,
        files: &[String],
    ) -> Result<Vec<LessonRow>, StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new("SELECT * FROM lessons WHERE project_id = ");
        query.push_bind(project.as_str()).push(" AND status = 'accepted' AND target = ").push_bind(target);
        query.push(" AND file IN ");
        push_list(&mut query, files)?;
        query.push(" ORDER BY decided_at, id");
        query.build().fetch_all(&mut *self.conn).await?.iter().map(read).collect()
    }

    /// Proposals that were about to land when Forge ended.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn landing(&mut self) -> Result<Vec<LessonRow>, StoreError> {
        let rows = sqlx::query("SELECT * FROM lessons WHERE status = 'proposed' AND commit_id IS NOT NULL")
            .fetch_all(&mut *self.conn)
            .await?;
        rows.iter().map(read).collect()
    }
}

impl LessonsMut<'_> {
    /// Keeps a proposal, unless the project was told the same before. Says whether it is new.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn propose(&mut self, row: &LessonRow) -> Result<bool, StoreError> {
        let done = sqlx::query(
            "INSERT INTO lessons (id, project_id, task_id, task_number, execution_id, title, body, paths, status, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (project_id, title, body) DO NOTHING",
        )
        .bind(row.id.as_str())
        .bind(row.project_id.as_str())
        .bind(row.task_id.as_ref().map(TaskId::as_str))
        .bind(row.task_number)
        .bind(row.execution_id.as_ref().map(ExecutionId::as_str))
        .bind(self.tx.text(&row.draft.title))
        .bind(self.tx.text(&row.draft.body))
        .bind(json(&row.draft.paths)?)
        .bind(row.status.as_str())
        .bind(row.created_at.0)
        .execute(self.tx.sqlite())
        .await?;
        Ok(done.rows_affected() == 1)
    }

    /// Writes what became of a lesson, and where it goes.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn update(&mut self, row: &LessonRow) -> Result<(), StoreError> {
        let landing = row.landing.as_ref();
        sqlx::query(
            "UPDATE lessons SET status = ?2, target = ?3, file = ?4, commit_id = ?5, decided_at = ?6 WHERE id = ?1",
        )
        .bind(row.id.as_str())
        .bind(row.status.as_str())
        .bind(landing.map(|landing| &landing.target))
        .bind(landing.map(|landing| &landing.file))
        .bind(landing.map(|landing| &landing.commit))
        .bind(row.decided_at.map(|at| at.0))
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }
}

fn read(row: &SqliteRow) -> Result<LessonRow, StoreError> {
    let c = Columns(row);
    let landing = c.text_opt("target")?.zip(c.text_opt("file")?).zip(c.text_opt("commit_id")?);
    Ok(LessonRow {
        id: c.text("id")?,
        project_id: c.text("project_id")?,
        task_id: c.text_opt("task_id")?,
        task_number: c.int_opt("task_number")?,
        execution_id: c.text_opt("execution_id")?,
        draft: LessonDraft { title: c.text("title")?, body: c.text("body")?, paths: c.json("paths")? },
        status: c.name("status")?,
        landing: landing.map(|((target, file), commit)| Landing { target, file, commit }),
        created_at: c.time("created_at")?,
        decided_at: c.time_opt("decided_at")?,
    })
}

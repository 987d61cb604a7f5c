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
    /// The run that wrote it.
    pub execution_id: Option<ExecutionId>,
    /// What was said.
    pub draft: LessonDraft,
    /// Its status.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{run, seeded};

    fn lesson(id: &str, created_at: i64) -> LessonRow {
        LessonRow {
            id: id.into(),
            project_id: "p".into(),
            task_id: Some("t".into()),
            task_number: Some(1),
            execution_id: Some("x".into()),
            draft: LessonDraft {
                title: format!("Title {id}"),
                body: "Body".to_owned(),
                paths: vec!["src".to_owned()],
            },
            status: LessonStatus::Proposed,
            landing: None,
            created_at: Timestamp(created_at),
            decided_at: None,
        }
    }

    async fn proposed() -> crate::Tx {
        let mut tx = seeded().await;
        tx.executions_mut().insert(&run("x", "t")).await.unwrap();
        for lesson in [lesson("one", 1), lesson("two", 2), lesson("three", 2)] {
            assert!(tx.lessons_mut().propose(&lesson).await.unwrap());
        }
        tx
    }

    #[tokio::test]
    async fn lesson_is_proposed_once() {
        let mut tx = proposed().await;
        let again = LessonRow { id: "again".into(), ..lesson("one", 9) };
        assert!(!tx.lessons_mut().propose(&again).await.unwrap());
        assert!(tx.lessons().is_known(&"p".into(), &again.draft).await.unwrap());
        assert!(!tx.lessons().is_known(&"q".into(), &again.draft).await.unwrap());
        assert_eq!(tx.lessons().get(&"one".into()).await.unwrap(), Some(lesson("one", 1)));
        assert_eq!(tx.lessons().count(&"p".into(), LessonStatus::Proposed).await.unwrap(), 3);
    }

    #[tokio::test]
    async fn pages_go_through_all_lessons_once() {
        let mut tx = proposed().await;
        let (p, status) = (ProjectId::from("p"), LessonStatus::Proposed);
        let all = tx.lessons().list(&p, status, None, 9).await.unwrap();
        assert_eq!(all.len(), 3);
        let mut paged = tx.lessons().list(&p, status, None, 1).await.unwrap();
        while let Some(last) = paged.last().map(|row| (row.created_at, row.id.clone())) {
            let page = tx.lessons().list(&p, status, Some((last.0, &last.1)), 1).await.unwrap();
            if page.is_empty() {
                break;
            }
            paged.extend(page);
        }
        assert_eq!(paged, all);
    }

    #[tokio::test]
    async fn decision_and_landing_are_written() {
        let mut tx = proposed().await;
        let landing = Landing { target: "main".to_owned(), file: "f.md".to_owned(), commit: "c".to_owned() };
        let mut row = LessonRow { landing: Some(landing), ..lesson("one", 1) };
        tx.lessons_mut().update(&row).await.unwrap();
        assert_eq!(tx.lessons().landing().await.unwrap(), [row.clone()]);
        row.status = LessonStatus::Accepted;
        row.decided_at = Some(Timestamp(9));
        tx.lessons_mut().update(&row).await.unwrap();
        assert_eq!(tx.lessons().landing().await.unwrap(), []);
        let files = ["f.md".to_owned(), "g.md".to_owned()];
        assert_eq!(tx.lessons().of_files(&"p".into(), "main", &files).await.unwrap(), [row]);
        assert_eq!(tx.lessons().of_files(&"p".into(), "other", &files).await.unwrap(), []);
    }
}

//! `issue_imports` and `issue_import_items`: imports of issues, and the result of each issue. What is not listed yet is the
//! page to list next; what has no outcome yet is still to be imported.

use forge_model::ids::{IssueImportId, ProjectId, TaskId};
use forge_model::issue::{
    ImportCounts, ImportFailure, ImportOutcome, ImportStatus, Issue, IssueOrigin, IssueQuery,
};
use forge_model::time::Timestamp;
use sqlx::sqlite::SqliteRow;

use crate::{
    StoreError,
    row::{Columns, json, json_opt},
};

handles!(issue_imports() -> IssueImports, issue_imports_mut() -> IssueImportsMut);

/// An import as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct IssueImportRow {
    /// Identity.
    pub id: IssueImportId,
    /// The project that gets the tasks.
    pub project_id: ProjectId,
    /// Where the issues come from.
    pub origin: IssueOrigin,
    /// What is listed; none where the issues were named.
    pub query: Option<IssueQuery>,
    /// The page to list next; none when all issues are listed.
    pub next_page: Option<u32>,
    /// Whether people who are not members may write there; none until the code host said so.
    pub is_public: Option<bool>,
    /// The state of the workflow that new tasks are created in.
    pub state: String,
    /// How far it is.
    pub status: ImportStatus,
    /// Why it waits or failed.
    pub problem: Option<String>,
    /// Remedy.
    pub remedy: Option<String>,
    /// When it continues.
    pub retry_at: Option<Timestamp>,
    /// Failures in a row.
    pub failures: u32,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
}

/// An issue of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportItemRow {
    /// Its place in the import, from 0.
    pub position: u32,
    /// The issue in its source.
    pub reference: String,
    /// The issue, when it was listed or read from a file.
    pub issue: Option<Issue>,
}

impl IssueImports<'_> {
    /// One import.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn get(&mut self, id: &IssueImportId) -> Result<Option<IssueImportRow>, StoreError> {
        let row = sqlx::query("SELECT * FROM issue_imports WHERE id = ?1")
            .bind(id.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        row.as_ref().map(read).transpose()
    }

    /// The latest imports of a project, newest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn of_project(
        &mut self,
        project: &ProjectId,
        most: u32,
    ) -> Result<Vec<IssueImportRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM issue_imports WHERE project_id = ?1 ORDER BY created_at DESC, rowid DESC LIMIT ?2",
        )
        .bind(project.as_str())
        .bind(most)
        .fetch_all(&mut *self.conn)
        .await?;
        rows.iter().map(read).collect()
    }

    /// Imports that are under way, those that wait among them, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn open(&mut self) -> Result<Vec<IssueImportRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM issue_imports WHERE status IN ('running', 'waiting') ORDER BY created_at, rowid",
        )
        .fetch_all(&mut *self.conn)
        .await?;
        rows.iter().map(read).collect()
    }

    /// How many issues of an import have each outcome.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn counts(&mut self, id: &IssueImportId) -> Result<ImportCounts, StoreError> {
        let rows = sqlx::query(
            "SELECT outcome, count(*) AS n FROM issue_import_items WHERE import_id = ?1 GROUP BY outcome",
        )
        .bind(id.as_str())
        .fetch_all(&mut *self.conn)
        .await?;
        let mut counts = ImportCounts::default();
        for row in &rows {
            let c = Columns(row);
            let n: u32 = c.int("n")?;
            counts.total += n;
            match c.name_opt("outcome")? {
                Some(ImportOutcome::Created) => counts.created = n,
                Some(ImportOutcome::Updated) => counts.updated = n,
                Some(ImportOutcome::Unchanged) => counts.unchanged = n,
                Some(ImportOutcome::Differs) => counts.differs = n,
                Some(ImportOutcome::Skipped) => counts.skipped = n,
                Some(ImportOutcome::Failed) => counts.failed = n,
                None => {}
            }
        }
        Ok(counts)
    }

    /// The first issues of an import that could not be imported.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn failures(
        &mut self,
        id: &IssueImportId,
        most: u32,
    ) -> Result<Vec<ImportFailure>, StoreError> {
        let rows = sqlx::query(
            "SELECT ref, message FROM issue_import_items WHERE import_id = ?1 AND outcome = 'failed' ORDER BY position LIMIT ?2",
        )
        .bind(id.as_str())
        .bind(most)
        .fetch_all(&mut *self.conn)
        .await?;
        let read = |row: &SqliteRow| {
            let c = Columns(row);
            let message = c.text_opt("message")?.unwrap_or_default();
            Ok(ImportFailure { reference: c.text("ref")?, message })
        };
        rows.iter().map(read).collect()
    }

    /// The next issue without an outcome.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn next_item(&mut self, id: &IssueImportId) -> Result<Option<ImportItemRow>, StoreError> {
        let row = sqlx::query(
            "SELECT * FROM issue_import_items WHERE import_id = ?1 AND outcome IS NULL ORDER BY position LIMIT 1",
        )
        .bind(id.as_str())
        .fetch_optional(&mut *self.conn)
        .await?;
        row.as_ref().map(read_item).transpose()
    }
}

impl IssueImportsMut<'_> {
    /// Inserts or rewrites an import.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn put(&mut self, i: &IssueImportRow) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO issue_imports (id, project_id, origin, query, next_page, state_name, status, problem, remedy, retry_at,
             failures, created_at, finished_at, is_public)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
             ON CONFLICT (id) DO UPDATE SET next_page = ?5, status = ?7, problem = ?8, remedy = ?9, retry_at = ?10, failures = ?11,
             finished_at = ?13, is_public = ?14",
        )
        .bind(i.id.as_str())
        .bind(i.project_id.as_str())
        .bind(json(&i.origin)?)
        .bind(json_opt(i.query.as_ref())?)
        .bind(i.next_page)
        .bind(&i.state)
        .bind(i.status.as_str())
        .bind(self.tx.text_opt(i.problem.as_ref()))
        .bind(self.tx.text_opt(i.remedy.as_ref()))
        .bind(i.retry_at.map(|time| time.0))
        .bind(i.failures)
        .bind(i.created_at.0)
        .bind(i.finished_at.map(|time| time.0))
        .bind(i.is_public)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Adds an issue at the end of an import. One that the import has already is left alone: a page may have moved while the
    /// list was read.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn add_item(
        &mut self,
        id: &IssueImportId,
        reference: &str,
        issue: Option<&Issue>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO issue_import_items (import_id, position, ref, issue)
             SELECT ?1, coalesce(max(position) + 1, 0), ?2, ?3 FROM issue_import_items WHERE import_id = ?1
             ON CONFLICT (import_id, ref) DO NOTHING",
        )
        .bind(id.as_str())
        .bind(reference)
        .bind(json_opt(issue)?)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Deletes imports of a project that ended, but for the latest ones.
    ///
    /// # Errors
    /// When they cannot be deleted.
    pub async fn prune(&mut self, project: &ProjectId, kept: u32) -> Result<(), StoreError> {
        sqlx::query(
            "DELETE FROM issue_imports WHERE project_id = ?1 AND finished_at IS NOT NULL AND id NOT IN (
               SELECT id FROM issue_imports WHERE project_id = ?1 AND finished_at IS NOT NULL
               ORDER BY created_at DESC, rowid DESC LIMIT ?2)",
        )
        .bind(project.as_str())
        .bind(kept)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Writes what became of an issue. The copy of it is not needed any more.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn finish_item(
        &mut self,
        id: &IssueImportId,
        position: u32,
        (outcome, task): (ImportOutcome, Option<&TaskId>),
        message: Option<&String>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE issue_import_items SET outcome = ?3, task_id = ?4, message = ?5, issue = NULL
             WHERE import_id = ?1 AND position = ?2",
        )
        .bind(id.as_str())
        .bind(position)
        .bind(outcome.as_str())
        .bind(task.map(TaskId::as_str))
        .bind(self.tx.text_opt(message))
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }
}

fn read(row: &SqliteRow) -> Result<IssueImportRow, StoreError> {
    let c = Columns(row);
    Ok(IssueImportRow {
        id: c.text("id")?,
        project_id: c.text("project_id")?,
        origin: c.json("origin")?,
        query: c.json_opt("query")?,
        next_page: c.int_opt("next_page")?,
        is_public: c.int_opt::<u8>("is_public")?.map(|flag| flag != 0),
        state: c.text("state_name")?,
        status: c.name("status")?,
        problem: c.text_opt("problem")?,
        remedy: c.text_opt("remedy")?,
        retry_at: c.time_opt("retry_at")?,
        failures: c.int("failures")?,
        created_at: c.time("created_at")?,
        finished_at: c.time_opt("finished_at")?,
    })
}

fn read_item(row: &SqliteRow) -> Result<ImportItemRow, StoreError> {
    let c = Columns(row);
    Ok(ImportItemRow { position: c.int("position")?, reference: c.text("ref")?, issue: c.json_opt("issue")? })
}

#[cfg(test)]
mod tests {
    use forge_model::issue::{IssueFilter, IssueKind, IssueState};

    use super::*;
    use crate::testing::seeded;

    fn import(id: &str, created_at: i64) -> IssueImportRow {
        IssueImportRow {
            id: id.into(),
            project_id: "p".into(),
            origin: IssueOrigin::File { kind: IssueKind::Csv, name: "a.csv".to_owned() },
            query: Some(IssueQuery {
                text: None,
                labels: vec!["agent".to_owned()],
                state: IssueFilter::Open,
            }),
            next_page: Some(1),
            is_public: None,
            state: "backlog".to_owned(),
            status: ImportStatus::Running,
            problem: None,
            remedy: None,
            retry_at: None,
            failures: 0,
            created_at: Timestamp(created_at),
            finished_at: None,
        }
    }

    fn issue(reference: &str) -> Issue {
        Issue {
            reference: reference.to_owned(),
            url: None,
            title: "A".to_owned(),
            body: String::new(),
            state: IssueState::Open,
            labels: Vec::new(),
            author: None,
            comment_count: 0,
            updated_at: None,
        }
    }

    #[tokio::test]
    async fn import_is_rewritten_and_open_until_it_ends() {
        let mut tx = seeded().await;
        let waiting = IssueImportRow {
            next_page: None,
            status: ImportStatus::Waiting,
            problem: Some("Busy".to_owned()),
            remedy: Some("Wait".to_owned()),
            retry_at: Some(Timestamp(9)),
            is_public: Some(true),
            failures: 2,
            ..import("a", 1)
        };
        for row in [&import("a", 1), &import("b", 2), &waiting] {
            tx.issue_imports_mut().put(row).await.unwrap();
        }
        assert_eq!(tx.issue_imports().get(&"a".into()).await.unwrap().as_ref(), Some(&waiting));
        assert_eq!(tx.issue_imports().open().await.unwrap(), [waiting.clone(), import("b", 2)]);
        let done =
            IssueImportRow { status: ImportStatus::Done, finished_at: Some(Timestamp(5)), ..import("b", 2) };
        tx.issue_imports_mut().put(&done).await.unwrap();
        assert_eq!(tx.issue_imports().open().await.unwrap(), std::slice::from_ref(&waiting));
        assert_eq!(tx.issue_imports().of_project(&"p".into(), 9).await.unwrap(), [done, waiting]);
        assert!(tx.issue_imports().of_project(&"q".into(), 9).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn issue_is_listed_once_and_imported_in_order() {
        let mut tx = seeded().await;
        let id: IssueImportId = "a".into();
        tx.issue_imports_mut().put(&import("a", 1)).await.unwrap();
        for reference in ["7", "5", "7"] {
            tx.issue_imports_mut().add_item(&id, reference, Some(&issue(reference))).await.unwrap();
        }
        let next = tx.issue_imports().next_item(&id).await.unwrap().unwrap();
        assert_eq!((next.position, next.issue), (0, Some(issue("7"))));
        let end = (ImportOutcome::Created, Some(&"t".into()));
        tx.issue_imports_mut().finish_item(&id, 0, end, None).await.unwrap();
        assert_eq!(
            tx.issue_imports().next_item(&id).await.unwrap().map(|next| next.reference),
            Some("5".into())
        );
        let why = "Gone".to_owned();
        tx.issue_imports_mut().finish_item(&id, 1, (ImportOutcome::Failed, None), Some(&why)).await.unwrap();
        assert_eq!(tx.issue_imports().next_item(&id).await.unwrap(), None);
        let counts = tx.issue_imports().counts(&id).await.unwrap();
        assert_eq!(counts, ImportCounts { total: 2, created: 1, failed: 1, ..ImportCounts::default() });
        let failures = tx.issue_imports().failures(&id, 9).await.unwrap();
        assert_eq!(failures, [ImportFailure { reference: "5".to_owned(), message: why }]);
        // The copies of issues go with what became of them, and its task may go.
        let kept: i64 = sqlx::query_scalar("SELECT count(*) FROM issue_import_items WHERE issue IS NOT NULL")
            .fetch_one(tx.sqlite())
            .await
            .unwrap();
        assert_eq!(kept, 0);
        tx.tasks_mut().delete(&"t".into()).await.unwrap();
        assert_eq!(tx.issue_imports().counts(&id).await.unwrap(), counts);
    }
}

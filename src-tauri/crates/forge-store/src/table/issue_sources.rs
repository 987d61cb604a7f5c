//! `issue_sources`: the issue that a task was made of, and the text that was imported last.

use std::collections::HashMap;

use forge_model::ids::{ProjectId, TaskId};
use forge_model::issue::{IssueComment, IssueKind, IssueLink, IssueState, PendingText, TaskText};
use forge_model::time::Timestamp;
use sqlx::{QueryBuilder, Sqlite, sqlite::SqliteRow};

use crate::{
    StoreError,
    row::{Columns, json, json_opt, push_list},
};

handles!(issue_sources() -> IssueSources, issue_sources_mut() -> IssueSourcesMut);

/// Where a task comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueSourceRow {
    /// The task.
    pub task_id: TaskId,
    /// Its project.
    pub project_id: ProjectId,
    /// Key of the repository or file.
    pub source: String,
    /// The issue in it.
    pub reference: String,
    /// The kind of the source.
    pub kind: IssueKind,
    /// The issue as people name it.
    pub name: String,
    /// Its address.
    pub url: Option<String>,
    /// Whether people who are not members may have written it.
    pub is_public: bool,
    /// State of the issue at the last import.
    pub state: IssueState,
    /// What was imported last.
    pub imported: TaskText,
    /// Labels at the last import.
    pub labels: Vec<String>,
    /// The last comments at the last import.
    pub comments: Vec<IssueComment>,
    /// What the issue says where it and the task were both changed.
    pub pending: Option<PendingText>,
    /// When it was imported last.
    pub imported_at: Timestamp,
}

impl IssueSources<'_> {
    /// The source of a task; none for a task that was not imported.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn get(&mut self, task: &TaskId) -> Result<Option<IssueSourceRow>, StoreError> {
        let row = sqlx::query("SELECT * FROM issue_sources WHERE task_id = ?1")
            .bind(task.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        row.as_ref().map(read).transpose()
    }

    /// The task of an issue.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn of_issue(
        &mut self,
        project: &ProjectId,
        source: &str,
        reference: &str,
    ) -> Result<Option<IssueSourceRow>, StoreError> {
        let row =
            sqlx::query("SELECT * FROM issue_sources WHERE project_id = ?1 AND source = ?2 AND ref = ?3")
                .bind(project.as_str())
                .bind(source)
                .bind(reference)
                .fetch_optional(&mut *self.conn)
                .await?;
        row.as_ref().map(read).transpose()
    }

    /// What the cards of some tasks show of their sources, by task.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn links(&mut self, tasks: &[TaskId]) -> Result<HashMap<TaskId, IssueLink>, StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT task_id, kind, name, url, is_public, state, pending IS NOT NULL AS differs
             FROM issue_sources WHERE task_id IN ",
        );
        push_list(&mut query, tasks)?;
        let rows = query.build().fetch_all(&mut *self.conn).await?;
        let read = |row: &SqliteRow| {
            let c = Columns(row);
            let link = IssueLink {
                kind: c.name("kind")?,
                name: c.text("name")?,
                url: c.text_opt("url")?,
                is_public: c.flag("is_public")?,
                state: c.name("state")?,
                differs: c.flag("differs")?,
            };
            Ok((c.text("task_id")?, link))
        };
        rows.iter().map(read).collect()
    }

    /// The tasks of some issues of a source with their numbers, by issue.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn tasks_of(
        &mut self,
        project: &ProjectId,
        source: &str,
        references: &[&str],
    ) -> Result<HashMap<String, (TaskId, u32)>, StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT s.ref, t.id, t.number FROM issue_sources s JOIN tasks t ON t.id = s.task_id WHERE s.project_id = ",
        );
        query.push_bind(project.as_str()).push(" AND s.source = ").push_bind(source).push(" AND s.ref IN ");
        push_list(&mut query, references)?;
        let rows = query.build().fetch_all(&mut *self.conn).await?;
        let read = |row: &SqliteRow| {
            let c = Columns(row);
            Ok((c.text("ref")?, (c.text("id")?, c.int("number")?)))
        };
        rows.iter().map(read).collect()
    }
}

impl IssueSourceRow {
    /// What the task's card shows of it.
    #[must_use]
    pub fn link(&self) -> IssueLink {
        IssueLink {
            kind: self.kind,
            name: self.name.clone(),
            url: self.url.clone(),
            is_public: self.is_public,
            state: self.state,
            differs: self.pending.is_some(),
        }
    }
}

impl IssueSourcesMut<'_> {
    /// Inserts or rewrites the source of a task.
    ///
    /// # Errors
    /// When it cannot be written; when the issue is another task of the project already.
    pub async fn put(&mut self, s: &IssueSourceRow) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO issue_sources (task_id, project_id, source, ref, kind, name, url, is_public, state, title, description,
             labels, comments, pending, imported_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
             ON CONFLICT (task_id) DO UPDATE SET source = ?3, ref = ?4, kind = ?5, name = ?6, url = ?7, is_public = ?8, state = ?9,
             title = ?10, description = ?11, labels = ?12, comments = ?13, pending = ?14, imported_at = ?15",
        )
        .bind(s.task_id.as_str())
        .bind(s.project_id.as_str())
        .bind(&s.source)
        .bind(&s.reference)
        .bind(s.kind.as_str())
        .bind(&s.name)
        .bind(&s.url)
        .bind(s.is_public)
        .bind(s.state.as_str())
        // Not redacted: it is compared with the task's own text.
        .bind(&s.imported.title)
        .bind(&s.imported.description)
        .bind(json(&s.labels)?)
        .bind(json(&s.comments)?)
        .bind(json_opt(s.pending.as_ref())?)
        .bind(s.imported_at.0)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }
}

fn read(row: &SqliteRow) -> Result<IssueSourceRow, StoreError> {
    let c = Columns(row);
    Ok(IssueSourceRow {
        task_id: c.text("task_id")?,
        project_id: c.text("project_id")?,
        source: c.text("source")?,
        reference: c.text("ref")?,
        kind: c.name("kind")?,
        name: c.text("name")?,
        url: c.text_opt("url")?,
        is_public: c.flag("is_public")?,
        state: c.name("state")?,
        imported: TaskText { title: c.text("title")?, description: c.text("description")? },
        labels: c.json("labels")?,
        comments: c.json("comments")?,
        pending: c.json_opt("pending")?,
        imported_at: c.time("imported_at")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{count, is_refused, seeded, task};

    fn source(task: &str, reference: &str) -> IssueSourceRow {
        IssueSourceRow {
            task_id: task.into(),
            project_id: "p".into(),
            source: "github:/octo/app".to_owned(),
            reference: reference.to_owned(),
            kind: IssueKind::Github,
            name: format!("GitHub octo/app#{reference}"),
            url: Some("https://host/1".to_owned()),
            is_public: true,
            state: IssueState::Open,
            imported: TaskText { title: "A".to_owned(), description: "B".to_owned() },
            labels: vec!["bug".to_owned()],
            comments: Vec::new(),
            pending: None,
            imported_at: Timestamp(1),
        }
    }

    #[tokio::test]
    async fn source_is_rewritten_found_by_its_issue_and_goes_with_its_task() {
        let mut tx = seeded().await;
        tx.issue_sources_mut().put(&source("t", "1")).await.unwrap();
        let comment = IssueComment {
            author: "mona".to_owned(),
            body: "Yes".to_owned(),
            url: None,
            at: Some(Timestamp(2)),
        };
        let rewritten = IssueSourceRow {
            state: IssueState::Closed,
            comments: vec![comment],
            pending: Some(PendingText { title: Some("C".to_owned()), description: None }),
            imported_at: Timestamp(3),
            ..source("t", "1")
        };
        tx.issue_sources_mut().put(&rewritten).await.unwrap();
        assert_eq!(tx.issue_sources().get(&"t".into()).await.unwrap().as_ref(), Some(&rewritten));
        let found = tx.issue_sources().of_issue(&"p".into(), "github:/octo/app", "1").await.unwrap();
        assert_eq!(found.as_ref(), Some(&rewritten));
        assert_eq!(tx.issue_sources().of_issue(&"q".into(), "github:/octo/app", "1").await.unwrap(), None);
        let links = tx.issue_sources().links(&["t".into(), "u".into()]).await.unwrap();
        assert_eq!(links, HashMap::from([("t".into(), rewritten.link())]));
        assert!(rewritten.link().differs);
        let tasks = tx.issue_sources().tasks_of(&"p".into(), "github:/octo/app", &["1", "2"]).await.unwrap();
        assert_eq!(tasks, HashMap::from([("1".to_owned(), ("t".into(), 1))]));
        tx.tasks_mut().delete(&"t".into()).await.unwrap();
        assert_eq!(count(&mut tx, "issue_sources").await, 0);
    }

    #[tokio::test]
    async fn issue_is_one_task_of_a_project() {
        let mut tx = seeded().await;
        tx.tasks_mut().insert(&task("u", 2)).await.unwrap();
        tx.issue_sources_mut().put(&source("t", "1")).await.unwrap();
        assert!(is_refused(tx.issue_sources_mut().put(&source("u", "1")).await, "UNIQUE"));
        tx.issue_sources_mut().put(&source("u", "2")).await.unwrap();
    }
}

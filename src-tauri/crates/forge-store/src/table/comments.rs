//! `comments`: what was said on lines of a task's diff.

use std::borrow::Cow;

use forge_model::audit::Severity;
use forge_model::comment::{Anchor, CommentSource, CommentStatus, DiffSide};
use forge_model::ids::{CommentId, ReviewId, TaskId};
use forge_model::time::Timestamp;
use sqlx::sqlite::SqliteRow;

use crate::{
    StoreError, Tx,
    row::{Columns, json},
};

handles!(comments() -> Comments, comments_mut() -> CommentsMut);

/// A comment as stored; where its lines are now is found out when it is read.
#[derive(Debug, Clone, PartialEq)]
pub struct CommentRow {
    /// Identity.
    pub id: CommentId,
    /// The task.
    pub task_id: TaskId,
    /// The review whose work it refers to.
    pub review_id: Option<ReviewId>,
    /// Where it comes from.
    pub source: CommentSource,
    /// Who wrote it; empty for the person.
    pub author: String,
    /// Its status.
    pub status: CommentStatus,
    /// Its severity.
    pub severity: Option<Severity>,
    /// The file.
    pub path: String,
    /// Which version of it.
    pub side: DiffSide,
    /// The first line, from 1; `None` for the file as a whole.
    pub line: Option<u32>,
    /// The last line.
    pub last_line: Option<u32>,
    /// The lines, and some around them.
    pub anchor: Anchor,
    /// The commit that they were read from.
    pub at_commit: String,
    /// What was said.
    pub text: String,
    /// Its address on the code host.
    pub url: Option<String>,
    /// The host's own name for it.
    pub external_id: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Comments<'_> {
    /// One comment.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn get(&mut self, id: &CommentId) -> Result<Option<CommentRow>, StoreError> {
        let row = sqlx::query("SELECT * FROM comments WHERE id = ?1")
            .bind(id.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        row.as_ref().map(read).transpose()
    }

    /// All comments of a task, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn list(&mut self, task: &TaskId) -> Result<Vec<CommentRow>, StoreError> {
        let rows = sqlx::query("SELECT * FROM comments WHERE task_id = ?1 ORDER BY created_at, rowid")
            .bind(task.as_str())
            .fetch_all(&mut *self.conn)
            .await?;
        rows.iter().map(read).collect()
    }
}

impl CommentsMut<'_> {
    /// Inserts a comment, unless the task has one with the same `external_id`. Returns whether it was new.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn insert(&mut self, c: &CommentRow) -> Result<bool, StoreError> {
        let done = sqlx::query(
            "INSERT INTO comments (id, task_id, review_id, source, author, status, severity, path, side, line, last_line, anchor,
             at_commit, text, url, external_id, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
             ON CONFLICT (task_id, external_id) WHERE external_id IS NOT NULL DO NOTHING",
        )
        .bind(c.id.as_str())
        .bind(c.task_id.as_str())
        .bind(c.review_id.as_ref().map(ReviewId::as_str))
        .bind(c.source.as_str())
        .bind(&c.author)
        .bind(c.status.as_str())
        .bind(c.severity.map(Severity::as_str))
        .bind(&c.path)
        .bind(c.side.as_str())
        .bind(c.line)
        .bind(c.last_line)
        .bind(json(&c.anchor)?)
        .bind(&c.at_commit)
        .bind(text_of(self.tx, c))
        .bind(&c.url)
        .bind(&c.external_id)
        .bind(c.created_at.0)
        .bind(c.updated_at.0)
        .execute(self.tx.sqlite())
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Writes what was said and what became of it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn update(&mut self, c: &CommentRow) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE comments SET review_id = ?2, status = ?3, text = ?4, updated_at = ?5 WHERE id = ?1",
        )
        .bind(c.id.as_str())
        .bind(c.review_id.as_ref().map(ReviewId::as_str))
        .bind(c.status.as_str())
        .bind(text_of(self.tx, c))
        .bind(c.updated_at.0)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Removes a comment.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub async fn delete(&mut self, id: &CommentId) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM comments WHERE id = ?1").bind(id.as_str()).execute(self.tx.sqlite()).await?;
        Ok(())
    }
}

/// What was said, without secrets unless a person typed it here.
fn text_of<'c>(tx: &Tx, c: &'c CommentRow) -> Cow<'c, str> {
    match c.source {
        CommentSource::Person => Cow::Borrowed(&c.text),
        CommentSource::Auditor | CommentSource::Host => tx.text(&c.text),
    }
}

fn read(row: &SqliteRow) -> Result<CommentRow, StoreError> {
    let c = Columns(row);
    Ok(CommentRow {
        id: c.text("id")?,
        task_id: c.text("task_id")?,
        review_id: c.text_opt("review_id")?,
        source: c.name("source")?,
        author: c.text("author")?,
        status: c.name("status")?,
        severity: c.name_opt("severity")?,
        path: c.text("path")?,
        side: c.name("side")?,
        line: c.int_opt("line")?,
        last_line: c.int_opt("last_line")?,
        anchor: c.json("anchor")?,
        at_commit: c.text("at_commit")?,
        text: c.text("text")?,
        url: c.text_opt("url")?,
        external_id: c.text_opt("external_id")?,
        created_at: c.time("created_at")?,
        updated_at: c.time("updated_at")?,
    })
}

#[cfg(test)]
mod tests {
    use forge_model::redact::Redactor;

    use super::*;
    use crate::testing::{count, review, seeded, seeded_with};

    /// By its looks a token of a well-known format.
    const SECRET: &str = concat!("ghp_", "0123456789abcdefghijABCDEFGHIJ012345");

    fn comment(id: &str, source: CommentSource, created_at: i64) -> CommentRow {
        CommentRow {
            id: id.into(),
            task_id: "t".into(),
            review_id: None,
            source,
            author: "Ann".to_owned(),
            status: CommentStatus::Draft,
            severity: Some(Severity::Error),
            path: "src/a.rs".to_owned(),
            side: DiffSide::New,
            line: Some(3),
            last_line: Some(4),
            anchor: Anchor { before: vec!["{".to_owned()], lines: vec!["a".to_owned()], after: Vec::new() },
            at_commit: "c".to_owned(),
            text: "Why?".to_owned(),
            url: Some("https://host/1".to_owned()),
            external_id: None,
            created_at: Timestamp(created_at),
            updated_at: Timestamp(created_at),
        }
    }

    #[tokio::test]
    async fn comments_are_read_back_oldest_first() {
        let mut tx = seeded().await;
        let (late, early) =
            (comment("late", CommentSource::Person, 2), comment("early", CommentSource::Host, 1));
        for comment in [&late, &early] {
            assert!(tx.comments_mut().insert(comment).await.unwrap());
        }
        assert_eq!(tx.comments().list(&"t".into()).await.unwrap(), [early.clone(), late.clone()]);
        assert_eq!(tx.comments().get(&"late".into()).await.unwrap(), Some(late.clone()));
        tx.comments_mut().delete(&"late".into()).await.unwrap();
        assert_eq!(tx.comments().get(&"late".into()).await.unwrap(), None);
        assert_eq!(tx.comments().list(&"t".into()).await.unwrap(), [early]);
        tx.tasks_mut().delete(&"t".into()).await.unwrap();
        assert_eq!(count(&mut tx, "comments").await, 0);
    }

    #[tokio::test]
    async fn comment_that_the_host_named_before_is_left_as_it_is() {
        let mut tx = seeded().await;
        let named =
            CommentRow { external_id: Some("7".to_owned()), ..comment("one", CommentSource::Host, 1) };
        assert!(tx.comments_mut().insert(&named).await.unwrap());
        let again = CommentRow { id: "two".into(), text: "Other".to_owned(), ..named.clone() };
        assert!(!tx.comments_mut().insert(&again).await.unwrap());
        assert_eq!(tx.comments().list(&"t".into()).await.unwrap(), [named]);
    }

    #[tokio::test]
    async fn update_writes_text_status_and_review_of_one_comment() {
        let mut tx = seeded().await;
        tx.reviews_mut().insert(&review("r", 1), 1).await.unwrap();
        let other = comment("other", CommentSource::Person, 1);
        let mut changed = comment("changed", CommentSource::Person, 2);
        for comment in [&other, &changed] {
            tx.comments_mut().insert(comment).await.unwrap();
        }
        changed.text = "Because.".to_owned();
        changed.status = CommentStatus::Sent;
        changed.review_id = Some("r".into());
        changed.updated_at = Timestamp(9);
        tx.comments_mut().update(&changed).await.unwrap();
        assert_eq!(tx.comments().list(&"t".into()).await.unwrap(), [other, changed]);
    }

    #[tokio::test]
    async fn secrets_are_taken_out_of_what_others_wrote() {
        let mut tx = seeded_with(Redactor::new(&[], &[], &[])).await;
        for (id, source) in
            [("a", CommentSource::Person), ("b", CommentSource::Auditor), ("c", CommentSource::Host)]
        {
            let mut row = comment(id, source, 1);
            row.text = format!("It is {SECRET}.");
            tx.comments_mut().insert(&row).await.unwrap();
            tx.comments_mut().update(&row).await.unwrap();
        }
        let kept = tx.comments().list(&"t".into()).await.unwrap();
        let kept: Vec<_> = kept.iter().map(|comment| comment.text.contains(SECRET)).collect();
        assert_eq!(kept, [true, false, false]);
    }
}

//! `approvals`: questions of agents, and what people answered.

use forge_model::approval::{Approval, ApprovalStatus, AskingEntry};
use forge_model::ids::{ApprovalId, ExecutionId, TaskId};
use forge_model::time::Timestamp;
use sqlx::sqlite::SqliteRow;

use crate::{StoreError, row::Columns};

handles!(approvals() -> Approvals, approvals_mut() -> ApprovalsMut);

/// What every list starts with.
const SELECT: &str =
    "SELECT a.*, t.project_id, x.agent_id, r.task_id AS raced, e.name AS entry FROM approvals a
     JOIN tasks t ON t.id = a.task_id JOIN executions x ON x.id = a.execution_id
     LEFT JOIN race_entries e ON e.task_id = a.task_id LEFT JOIN races r ON r.id = e.race_id";

impl Approvals<'_> {
    /// One question.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn get(&mut self, id: &ApprovalId) -> Result<Option<Approval>, StoreError> {
        let row = sqlx::query(sqlx::AssertSqlSafe(format!("{SELECT} WHERE a.id = ?1")))
            .bind(id.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        row.as_ref().map(read).transpose()
    }

    /// A task's questions with those of its races' entries, or everybody's, oldest first; only those that wait for an
    /// answer, or all.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn list(
        &mut self,
        task: Option<&TaskId>,
        pending_only: bool,
    ) -> Result<Vec<Approval>, StoreError> {
        let rows = sqlx::query(sqlx::AssertSqlSafe(format!(
            "{SELECT} WHERE (?1 IS NULL OR a.task_id = ?1 OR r.task_id = ?1) AND (NOT ?2 OR a.status = 'pending') ORDER BY a.asked_at, a.id"
        )))
        .bind(task.map(TaskId::as_str))
        .bind(pending_only)
        .fetch_all(&mut *self.conn)
        .await?;
        rows.iter().map(read).collect()
    }

    /// How many questions of a run wait for an answer.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn pending(&mut self, execution: &ExecutionId) -> Result<u32, StoreError> {
        let row =
            sqlx::query("SELECT count(*) AS n FROM approvals WHERE execution_id = ?1 AND status = 'pending'")
                .bind(execution.as_str())
                .fetch_one(&mut *self.conn)
                .await?;
        Columns(&row).int("n")
    }
}

impl ApprovalsMut<'_> {
    /// Inserts a question; one that its run has asked already stays as it is. Whether it is new.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn insert(&mut self, a: &Approval) -> Result<bool, StoreError> {
        let done = sqlx::query(
            "INSERT INTO approvals (id, execution_id, task_id, ask, kind, title, detail, options, status, asked_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (execution_id, ask) DO NOTHING",
        )
        .bind(a.id.as_str())
        .bind(a.execution_id.as_str())
        .bind(a.task_id.as_str())
        .bind(&a.ask)
        .bind(a.kind.as_str())
        .bind(self.tx.text(&a.title))
        .bind(self.tx.json(&a.detail)?)
        .bind(self.tx.json(&a.options)?)
        .bind(a.status.as_str())
        .bind(a.asked_at.0)
        .execute(self.tx.sqlite())
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Writes an answer to a question that waits for one. False when it no longer does.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn answer(&mut self, a: &Approval) -> Result<bool, StoreError> {
        let done = sqlx::query(
            "UPDATE approvals SET status = 'answered', answer = ?2, note = ?3, answered_by = ?4, answered_at = ?5
             WHERE id = ?1 AND status = 'pending'",
        )
        .bind(a.id.as_str())
        .bind(&a.answer)
        .bind(&a.note)
        .bind(&a.answered_by)
        .bind(a.answered_at.map(|time| time.0))
        .execute(self.tx.sqlite())
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Ends a run's question, or all of them, that nobody answered. How many there were.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn expire(
        &mut self,
        execution: &ExecutionId,
        ask: Option<&str>,
        at: Timestamp,
    ) -> Result<u64, StoreError> {
        let done = sqlx::query(
            "UPDATE approvals SET status = 'expired', answered_at = ?3
             WHERE execution_id = ?1 AND status = 'pending' AND (?2 IS NULL OR ask = ?2)",
        )
        .bind(execution.as_str())
        .bind(ask)
        .bind(at.0)
        .execute(self.tx.sqlite())
        .await?;
        Ok(done.rows_affected())
    }
}

fn read(row: &SqliteRow) -> Result<Approval, StoreError> {
    let c = Columns(row);
    let raced = match (c.text_opt("raced")?, c.text_opt("entry")?) {
        (Some(task), Some(name)) => Some(AskingEntry { task_id: TaskId(task), name }),
        _ => None,
    };
    Ok(Approval {
        raced,
        id: c.text("id")?,
        project_id: c.text("project_id")?,
        task_id: c.text("task_id")?,
        execution_id: c.text("execution_id")?,
        agent_id: c.text("agent_id")?,
        kind: c.name("kind")?,
        ask: c.text("ask")?,
        title: c.text("title")?,
        detail: c.json("detail")?,
        options: c.json("options")?,
        status: c.name::<ApprovalStatus>("status")?,
        answer: c.text_opt("answer")?,
        note: c.text_opt("note")?,
        answered_by: c.text_opt("answered_by")?,
        asked_at: c.time("asked_at")?,
        answered_at: c.time_opt("answered_at")?,
    })
}

#[cfg(test)]
mod tests {
    use forge_model::approval::ApprovalKind;
    use serde_json::json;

    use super::*;
    use crate::testing::{run, seeded};

    fn question(id: &str, ask: &str, asked_at: i64) -> Approval {
        Approval {
            id: id.into(),
            project_id: "p".into(),
            task_id: "t".into(),
            raced: None,
            execution_id: "x".into(),
            agent_id: "a".into(),
            kind: ApprovalKind::Command,
            ask: ask.to_owned(),
            title: "Run it".to_owned(),
            detail: json!({ "command": "ls" }),
            options: Vec::new(),
            status: ApprovalStatus::Pending,
            answer: None,
            note: None,
            answered_by: None,
            asked_at: Timestamp(asked_at),
            answered_at: None,
        }
    }

    async fn asked() -> crate::Tx {
        let mut tx = seeded().await;
        tx.executions_mut().insert(&run("x", "t")).await.unwrap();
        for question in [question("two", "2", 9), question("one", "1", 8)] {
            assert!(tx.approvals_mut().insert(&question).await.unwrap());
        }
        tx
    }

    #[tokio::test]
    async fn question_of_a_run_is_asked_once_and_the_oldest_comes_first() {
        let mut tx = asked().await;
        assert!(!tx.approvals_mut().insert(&question("again", "1", 10)).await.unwrap());
        let all = [question("one", "1", 8), question("two", "2", 9)];
        assert_eq!(tx.approvals().list(Some(&"t".into()), true).await.unwrap(), all);
        assert_eq!(tx.approvals().list(None, true).await.unwrap(), all);
        assert_eq!(tx.approvals().list(Some(&"u".into()), false).await.unwrap(), []);
        assert_eq!(tx.approvals().pending(&"x".into()).await.unwrap(), 2);
    }

    #[tokio::test]
    async fn question_is_answered_once() {
        let mut tx = asked().await;
        let mut answered = question("one", "1", 8);
        answered.answer = Some("yes".to_owned());
        answered.answered_at = Some(Timestamp(11));
        assert!(tx.approvals_mut().answer(&answered).await.unwrap());
        assert!(!tx.approvals_mut().answer(&answered).await.unwrap());
        answered.status = ApprovalStatus::Answered;
        assert_eq!(tx.approvals().get(&"one".into()).await.unwrap(), Some(answered));
        assert_eq!(tx.approvals().list(None, true).await.unwrap(), [question("two", "2", 9)]);
        assert_eq!(tx.approvals_mut().expire(&"x".into(), None, Timestamp(12)).await.unwrap(), 1);
        let expired = tx.approvals().get(&"two".into()).await.unwrap().unwrap();
        assert_eq!((expired.status, expired.answered_at), (ApprovalStatus::Expired, Some(Timestamp(12))));
    }

    #[tokio::test]
    async fn one_question_of_a_run_expires_alone() {
        let mut tx = asked().await;
        assert_eq!(tx.approvals_mut().expire(&"x".into(), Some("2"), Timestamp(12)).await.unwrap(), 1);
        assert_eq!(tx.approvals().list(None, true).await.unwrap(), [question("one", "1", 8)]);
    }
}

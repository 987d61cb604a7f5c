//! `issue_reports`: what is to be written to the issues of tasks, in the order of the moves that it tells of. A row is
//! marked as asked before the code host is, so that after a kill it is looked for there before it is written again.

use forge_model::ids::{IssueReportId, TaskId};
use forge_model::issue::{LabelChange, ReportKind};
use forge_model::time::Timestamp;
use sqlx::sqlite::SqliteRow;

use crate::{
    StoreError,
    row::{Columns, json_opt},
};

handles!(issue_reports() -> IssueReports, issue_reports_mut() -> IssueReportsMut);

/// Something to be written to an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueReportRow {
    /// Identity.
    pub id: IssueReportId,
    /// The task that it tells of.
    pub task_id: TaskId,
    /// What it is.
    pub kind: ReportKind,
    /// Which labels change, when it is that.
    pub labels: Option<LabelChange>,
    /// When the task moved.
    pub created_at: Timestamp,
    /// When the code host was last asked to write it.
    pub asked_at: Option<Timestamp>,
    /// When it was written, or turned out to be needless.
    pub sent_at: Option<Timestamp>,
    /// When it is tried again.
    pub retry_at: Option<Timestamp>,
    /// Failures in a row.
    pub failures: u32,
    /// Why it could not be written.
    pub problem: Option<String>,
    /// Remedy.
    pub remedy: Option<String>,
}

impl IssueReports<'_> {
    /// The first one of each task that is still to be written, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn next(&mut self) -> Result<Vec<IssueReportRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT r.* FROM issue_reports r WHERE r.sent_at IS NULL AND NOT EXISTS (
               SELECT 1 FROM issue_reports e WHERE e.task_id = r.task_id AND e.sent_at IS NULL AND e.position < r.position)
             ORDER BY r.position",
        )
        .fetch_all(&mut *self.conn)
        .await?;
        rows.iter().map(read).collect()
    }

    /// What is still to be written to the issue of a task, in order.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn unsent(&mut self, task: &TaskId) -> Result<Vec<IssueReportRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM issue_reports WHERE task_id = ?1 AND sent_at IS NULL ORDER BY position",
        )
        .bind(task.as_str())
        .fetch_all(&mut *self.conn)
        .await?;
        rows.iter().map(read).collect()
    }

    /// Whether something of a kind was ever to be written for a task.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn has(&mut self, task: &TaskId, kind: ReportKind) -> Result<bool, StoreError> {
        let query = sqlx::query("SELECT 1 FROM issue_reports WHERE task_id = ?1 AND kind = ?2 LIMIT 1");
        let found = query.bind(task.as_str()).bind(kind.as_str()).fetch_optional(&mut *self.conn).await?;
        Ok(found.is_some())
    }
}

impl IssueReportsMut<'_> {
    /// Inserts or rewrites one. What is labelled anew takes the place of labels that were not written yet.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn put(&mut self, r: &IssueReportRow) -> Result<(), StoreError> {
        if r.labels.is_some() {
            sqlx::query(
                "DELETE FROM issue_reports WHERE task_id = ?1 AND kind = 'label' AND sent_at IS NULL AND id <> ?2",
            )
            .bind(r.task_id.as_str())
            .bind(r.id.as_str())
            .execute(self.tx.sqlite())
            .await?;
        }
        sqlx::query(
            "INSERT INTO issue_reports (id, task_id, kind, labels, created_at, asked_at, sent_at, retry_at, failures, problem,
             remedy)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
             ON CONFLICT (id) DO UPDATE SET asked_at = ?6, sent_at = ?7, retry_at = ?8, failures = ?9, problem = ?10,
             remedy = ?11",
        )
        .bind(r.id.as_str())
        .bind(r.task_id.as_str())
        .bind(r.kind.as_str())
        .bind(json_opt(r.labels.as_ref())?)
        .bind(r.created_at.0)
        .bind(r.asked_at.map(|time| time.0))
        .bind(r.sent_at.map(|time| time.0))
        .bind(r.retry_at.map(|time| time.0))
        .bind(r.failures)
        .bind(self.tx.text_opt(r.problem.as_ref()))
        .bind(self.tx.text_opt(r.remedy.as_ref()))
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }
}

fn read(row: &SqliteRow) -> Result<IssueReportRow, StoreError> {
    let c = Columns(row);
    Ok(IssueReportRow {
        id: c.text("id")?,
        task_id: c.text("task_id")?,
        kind: c.name("kind")?,
        labels: c.json_opt("labels")?,
        created_at: c.time("created_at")?,
        asked_at: c.time_opt("asked_at")?,
        sent_at: c.time_opt("sent_at")?,
        retry_at: c.time_opt("retry_at")?,
        failures: c.int("failures")?,
        problem: c.text_opt("problem")?,
        remedy: c.text_opt("remedy")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{count, seeded, task};

    fn report(id: &str, task: &str, kind: ReportKind) -> IssueReportRow {
        let change = LabelChange { add: Some(id.to_owned()), remove: Vec::new() };
        IssueReportRow {
            id: id.into(),
            task_id: task.into(),
            kind,
            labels: (kind == ReportKind::Label).then_some(change),
            created_at: Timestamp(1),
            asked_at: None,
            sent_at: None,
            retry_at: None,
            failures: 0,
            problem: None,
            remedy: None,
        }
    }

    #[tokio::test]
    async fn reports_of_a_task_follow_each_other_and_go_with_it() {
        let mut tx = seeded().await;
        tx.tasks_mut().insert(&task("u", 2)).await.unwrap();
        let all = [
            report("a", "t", ReportKind::Started),
            report("b", "t", ReportKind::Label),
            report("c", "u", ReportKind::Started),
        ];
        for row in &all {
            tx.issue_reports_mut().put(row).await.unwrap();
        }
        let [a, b, c] = all;
        assert_eq!(tx.issue_reports().next().await.unwrap(), [a.clone(), c.clone()]);
        let failed = IssueReportRow {
            asked_at: Some(Timestamp(2)),
            retry_at: Some(Timestamp(9)),
            failures: 1,
            problem: Some("No".to_owned()),
            remedy: Some("Do".to_owned()),
            ..a.clone()
        };
        tx.issue_reports_mut().put(&failed).await.unwrap();
        assert_eq!(tx.issue_reports().unsent(&"t".into()).await.unwrap(), [failed, b]);
        tx.issue_reports_mut().put(&IssueReportRow { sent_at: Some(Timestamp(3)), ..a }).await.unwrap();
        let newer = report("d", "t", ReportKind::Label);
        tx.issue_reports_mut().put(&newer).await.unwrap();
        assert_eq!(tx.issue_reports().next().await.unwrap(), [c, newer], "older labels are needless");
        assert!(tx.issue_reports().has(&"t".into(), ReportKind::Started).await.unwrap());
        assert!(!tx.issue_reports().has(&"t".into(), ReportKind::Done).await.unwrap());
        tx.tasks_mut().delete(&"t".into()).await.unwrap();
        assert_eq!(count(&mut tx, "issue_reports").await, 1);
    }
}

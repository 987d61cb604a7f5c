//! `pull_requests`: a task's pull request at the code host, as it was asked for and as the host said last.

use forge_model::ids::TaskId;
use forge_model::pull_request::{HostConfig, PullRequest};
use forge_model::time::Timestamp;
use sqlx::{SqliteConnection, sqlite::SqliteRow};

use crate::{
    StoreError,
    row::{Columns, json},
};

/// A pull request as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct PullRequestRow {
    /// The task.
    pub task_id: TaskId,
    /// Where it is.
    pub host: HostConfig,
    /// The branch at the remote.
    pub head: String,
    /// The branch that it goes into.
    pub base: String,
    /// The commit that was pushed last.
    pub pushed_commit: Option<String>,
    /// What the host said last; `None` while it is being made.
    pub pull_request: Option<PullRequest>,
    /// Ids of comments that the agent was told.
    pub told: Vec<String>,
    /// When the host last answered.
    pub checked_at: Option<Timestamp>,
    /// When it is asked again; `None` when it is not.
    pub next_check_at: Option<Timestamp>,
    /// Looks in a row that failed.
    pub failures: u32,
    /// Why the last look failed.
    pub trouble: Option<String>,
    /// When it was first asked for.
    pub created_at: Timestamp,
}

/// Inserts or rewrites a task's pull request.
///
/// # Errors
/// When it cannot be written.
pub async fn put(conn: &mut SqliteConnection, p: &PullRequestRow, now: Timestamp) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO pull_requests (task_id, host, head, base, pushed_commit, pull_request, told, checked_at, next_check_at, failures,
         trouble, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
         ON CONFLICT (task_id) DO UPDATE SET host = ?2, head = ?3, base = ?4, pushed_commit = ?5, pull_request = ?6, told = ?7,
         checked_at = ?8, next_check_at = ?9, failures = ?10, trouble = ?11, updated_at = ?13",
    )
    .bind(p.task_id.as_str())
    .bind(json(&p.host)?)
    .bind(&p.head)
    .bind(&p.base)
    .bind(&p.pushed_commit)
    .bind(p.pull_request.as_ref().map(json).transpose()?)
    .bind(json(&p.told)?)
    .bind(p.checked_at.map(|time| time.0))
    .bind(p.next_check_at.map(|time| time.0))
    .bind(p.failures)
    .bind(&p.trouble)
    .bind(p.created_at.0)
    .bind(now.0)
    .execute(conn)
    .await?;
    Ok(())
}

/// A task's pull request.
///
/// # Errors
/// When it cannot be read.
pub async fn get(conn: &mut SqliteConnection, task: &TaskId) -> Result<Option<PullRequestRow>, StoreError> {
    let row = sqlx::query("SELECT * FROM pull_requests WHERE task_id = ?1")
        .bind(task.as_str())
        .fetch_optional(conn)
        .await?;
    row.as_ref().map(read).transpose()
}

/// Those that the host is to be asked about, the next one first.
///
/// # Errors
/// When they cannot be read.
pub async fn watched(conn: &mut SqliteConnection) -> Result<Vec<PullRequestRow>, StoreError> {
    let rows =
        sqlx::query("SELECT * FROM pull_requests WHERE next_check_at IS NOT NULL ORDER BY next_check_at")
            .fetch_all(conn)
            .await?;
    rows.iter().map(read).collect()
}

fn read(row: &SqliteRow) -> Result<PullRequestRow, StoreError> {
    let c = Columns(row);
    Ok(PullRequestRow {
        task_id: c.text("task_id")?,
        host: c.json("host")?,
        head: c.text("head")?,
        base: c.text("base")?,
        pushed_commit: c.text_opt("pushed_commit")?,
        pull_request: c.json_opt("pull_request")?,
        told: c.json("told")?,
        checked_at: c.time_opt("checked_at")?,
        next_check_at: c.time_opt("next_check_at")?,
        failures: c.int("failures")?,
        trouble: c.text_opt("trouble")?,
        created_at: c.time("created_at")?,
    })
}

//! `merges`: what was intended and what came of it, so that a crash between the two can be settled.

use forge_model::ids::TaskId;
use forge_model::time::Timestamp;
use sqlx::{SqliteConnection, sqlite::SqliteRow};

use crate::{StoreError, row::Columns};

/// Where a merge is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeStatus {
    /// The commit is made; the target is about to move.
    Intended,
    /// The target holds it.
    Landed,
    /// There was nothing to merge.
    Nothing,
    /// It needs a hand.
    Conflict,
    /// It was given up.
    Failed,
}

impl MergeStatus {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Intended => "intended",
            Self::Landed => "landed",
            Self::Nothing => "nothing",
            Self::Conflict => "conflict",
            Self::Failed => "failed",
        }
    }
}

impl std::str::FromStr for MergeStatus {
    type Err = forge_model::UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Intended, Self::Landed, Self::Nothing, Self::Conflict, Self::Failed]
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| forge_model::UnknownName { set: "MergeStatus", name: text.to_owned() })
    }
}

/// A merge as stored.
#[derive(Debug, Clone)]
pub struct MergeRow {
    /// Identity.
    pub id: String,
    /// The task.
    pub task_id: TaskId,
    /// The branch to merge into.
    pub target: String,
    /// The task branch's commit.
    pub source_commit: String,
    /// The commit that the target is moved to.
    pub merge_commit: Option<String>,
    /// Where the target was.
    pub target_before: Option<String>,
    /// Where it is.
    pub status: MergeStatus,
    /// Why it ended so.
    pub reason: Option<String>,
    /// When it began.
    pub created_at: Timestamp,
}

/// Inserts or rewrites a merge.
///
/// # Errors
/// When it cannot be written.
pub async fn put(conn: &mut SqliteConnection, m: &MergeRow, now: Timestamp) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO merges (id, task_id, target, source_commit, merge_commit, target_before, status, reason, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (id) DO UPDATE SET source_commit = ?4, merge_commit = ?5, target_before = ?6, status = ?7, reason = ?8, updated_at = ?10",
    )
    .bind(&m.id)
    .bind(m.task_id.as_str())
    .bind(&m.target)
    .bind(&m.source_commit)
    .bind(&m.merge_commit)
    .bind(&m.target_before)
    .bind(m.status.as_str())
    .bind(&m.reason)
    .bind(m.created_at.0)
    .bind(now.0)
    .execute(conn)
    .await?;
    Ok(())
}

/// The latest merge of a task.
///
/// # Errors
/// When it cannot be read.
pub async fn last(conn: &mut SqliteConnection, task: &TaskId) -> Result<Option<MergeRow>, StoreError> {
    let row =
        sqlx::query("SELECT * FROM merges WHERE task_id = ?1 ORDER BY created_at DESC, rowid DESC LIMIT 1")
            .bind(task.as_str())
            .fetch_optional(conn)
            .await?;
    row.as_ref().map(read).transpose()
}

fn read(row: &SqliteRow) -> Result<MergeRow, StoreError> {
    let c = Columns(row);
    Ok(MergeRow {
        id: c.text("id")?,
        task_id: c.text("task_id")?,
        target: c.text("target")?,
        source_commit: c.text("source_commit")?,
        merge_commit: c.text_opt("merge_commit")?,
        target_before: c.text_opt("target_before")?,
        status: c.name("status")?,
        reason: c.text_opt("reason")?,
        created_at: c.time("created_at")?,
    })
}

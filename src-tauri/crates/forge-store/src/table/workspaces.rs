//! `workspaces`: the worktree records; kept after the worktree is gone.

use std::collections::HashMap;

use forge_model::ids::{ProjectId, TaskId, WorkspaceId};
use forge_model::time::Timestamp;
use forge_model::workspace::{Workspace, WorkspaceView};
use sqlx::{QueryBuilder, Row as _, Sqlite, sqlite::SqliteRow};

use crate::{
    StoreError,
    row::{Columns, push_list},
};

handles!(workspaces() -> Workspaces, workspaces_mut() -> WorkspacesMut);

impl Workspaces<'_> {
    /// The latest record of a task.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn last(&mut self, task: &TaskId) -> Result<Option<Workspace>, StoreError> {
        let row = sqlx::query(
            "SELECT * FROM workspaces WHERE task_id = ?1 ORDER BY created_at DESC, rowid DESC LIMIT 1",
        )
        .bind(task.as_str())
        .fetch_optional(&mut *self.conn)
        .await?;
        row.as_ref().map(read).transpose()
    }

    /// The latest records of many tasks.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn of_tasks(&mut self, tasks: &[TaskId]) -> Result<HashMap<TaskId, Workspace>, StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new("SELECT * FROM workspaces WHERE task_id IN ");
        push_list(&mut query, tasks)?;
        query.push(" ORDER BY created_at, rowid");
        let rows = query.build().fetch_all(&mut *self.conn).await?;
        rows.iter().map(|row| read(row).map(|w| (w.task_id.clone(), w))).collect()
    }

    /// Records whose worktree still exists, or should.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn present(&mut self) -> Result<Vec<Workspace>, StoreError> {
        let rows = sqlx::query("SELECT * FROM workspaces WHERE status <> 'cleaned' ORDER BY created_at")
            .fetch_all(&mut *self.conn)
            .await?;
        rows.iter().map(read).collect()
    }

    /// Records whose removal is due at `now`, and when the next one will be.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn due(&mut self, now: Timestamp) -> Result<(Vec<Workspace>, Option<Timestamp>), StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM workspaces WHERE status <> 'cleaned' AND cleanup_at IS NOT NULL ORDER BY cleanup_at",
        )
        .fetch_all(&mut *self.conn)
        .await?;
        let all: Vec<Workspace> = rows.iter().map(read).collect::<Result<_, _>>()?;
        let (due, later): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|w| w.cleanup_at.is_some_and(|at| at <= now));
        Ok((due, later.first().and_then(|w| w.cleanup_at)))
    }

    /// The space of a project's present worktrees as far as measured, and how many have not been.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn disk_of(&mut self, project: &ProjectId) -> Result<(u64, u32), StoreError> {
        let row = sqlx::query(
            "SELECT coalesce(sum(w.disk_bytes), 0), count(*) - count(w.disk_bytes) FROM workspaces w JOIN tasks t ON t.id = w.task_id
             WHERE w.status <> 'cleaned' AND t.project_id = ?1",
        )
        .bind(project.as_str())
        .fetch_one(&mut *self.conn)
        .await?;
        let bytes: i64 = row.get(0);
        Ok((u64::try_from(bytes).unwrap_or(0), row.get(1)))
    }

    /// The task of a project whose worktree changed last.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn latest_of(
        &mut self,
        project: &ProjectId,
    ) -> Result<Option<super::tasks::TaskRow>, StoreError> {
        let row = sqlx::query(
            "SELECT t.* FROM workspaces w JOIN tasks t ON t.id = w.task_id WHERE t.project_id = ?1
             ORDER BY w.updated_at DESC, w.rowid DESC LIMIT 1",
        )
        .bind(project.as_str())
        .fetch_optional(&mut *self.conn)
        .await?;
        row.as_ref().map(super::tasks::read).transpose()
    }

    /// Present worktrees with the task each belongs to, newest first. Those of a race's entries are told with the raced
    /// task's number and state.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn views(&mut self) -> Result<Vec<WorkspaceView>, StoreError> {
        let rows = sqlx::query(
            "SELECT w.*, t.project_id AS of_project, t.number AS of_number, t.title AS of_title, coalesce(raced.status, t.status) AS of_status
             FROM workspaces w JOIN tasks t ON t.id = w.task_id
             LEFT JOIN tasks raced ON t.execution_mode = 'race_entry' AND raced.id = t.parent_id WHERE w.status <> 'cleaned' ORDER BY w.created_at DESC, w.rowid DESC",
        )
        .fetch_all(&mut *self.conn)
        .await?;
        let view = |row: &SqliteRow| {
            let c = Columns(row);
            Ok(WorkspaceView {
                workspace: read(row)?,
                project_id: c.text("of_project")?,
                task_number: c.int("of_number")?,
                task_title: c.text("of_title")?,
                task_status: c.text("of_status")?,
            })
        };
        rows.iter().map(view).collect()
    }

    /// A first port that no present workspace has, from `from` up in blocks of `block`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn free_port_base(&mut self, from: u32, block: u32, blocks: u32) -> Result<u32, StoreError> {
        let rows = sqlx::query("SELECT DISTINCT port_base FROM workspaces WHERE status <> 'cleaned'")
            .fetch_all(&mut *self.conn)
            .await?;
        let taken: Vec<u32> = rows.iter().map(|row| row.get(0)).collect();
        let free = (0..blocks).map(|n| from + n * block).find(|base| !taken.contains(base));
        Ok(free.unwrap_or(from))
    }
}

impl WorkspacesMut<'_> {
    /// Inserts or rewrites a record.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn put(&mut self, w: &Workspace, now: Timestamp) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO workspaces (id, task_id, status, path, branch, base_commit, cleanup_at, disk_bytes, error, port_base, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
             ON CONFLICT (id) DO UPDATE SET status = ?3, path = ?4, branch = ?5, base_commit = ?6, cleanup_at = ?7, disk_bytes = ?8,
               error = ?9, updated_at = ?12, tries = CASE WHEN ?9 IS NULL THEN 0 ELSE tries END",
        )
        .bind(w.id.as_str())
        .bind(w.task_id.as_str())
        .bind(w.status.as_str())
        .bind(&w.path)
        .bind(&w.branch)
        .bind(&w.base_commit)
        .bind(w.cleanup_at.map(|time| time.0))
        .bind(w.disk_bytes.and_then(|bytes| i64::try_from(bytes).ok()))
        .bind(self.tx.text_opt(w.error.as_ref()))
        .bind(w.port_base)
        .bind(w.created_at.0)
        .bind(now.0)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Removes a record, because a person resets the workspace.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub async fn delete(&mut self, id: &WorkspaceId) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM workspaces WHERE id = ?1")
            .bind(id.as_str())
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }

    /// Counts a failed removal; how many there were in a row now.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn count_try(&mut self, id: &WorkspaceId) -> Result<u32, StoreError> {
        let row = sqlx::query("UPDATE workspaces SET tries = tries + 1 WHERE id = ?1 RETURNING tries")
            .bind(id.as_str())
            .fetch_optional(self.tx.sqlite())
            .await?;
        Ok(row.map_or(1, |row| row.get(0)))
    }

    /// Writes how much space a worktree takes; nothing else of the record, which others may change meanwhile.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_disk(&mut self, id: &WorkspaceId, bytes: u64) -> Result<(), StoreError> {
        sqlx::query("UPDATE workspaces SET disk_bytes = ?2 WHERE id = ?1 AND status <> 'cleaned'")
            .bind(id.as_str())
            .bind(i64::try_from(bytes).unwrap_or(i64::MAX))
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }
}

fn read(row: &SqliteRow) -> Result<Workspace, StoreError> {
    let c = Columns(row);
    Ok(Workspace {
        id: c.text("id")?,
        task_id: c.text("task_id")?,
        status: c.name("status")?,
        path: c.text("path")?,
        branch: c.text("branch")?,
        base_commit: c.text("base_commit")?,
        cleanup_at: c.time_opt("cleanup_at")?,
        disk_bytes: c.int_opt("disk_bytes")?,
        error: c.text_opt("error")?,
        lock: None,
        port_base: c.int("port_base")?,
        created_at: c.time("created_at")?,
        updated_at: c.time("updated_at")?,
    })
}

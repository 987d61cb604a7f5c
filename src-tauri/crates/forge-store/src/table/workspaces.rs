//! `workspaces`: the worktree records; kept after the worktree is gone.

use std::collections::HashMap;

use forge_model::ids::{MachineId, ProjectId, TaskId, WorkspaceId};
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

    /// The tasks whose worktree is on a machine, by number.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn tasks_on(&mut self, machine: &MachineId) -> Result<Vec<super::tasks::TaskRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM tasks WHERE id IN (SELECT task_id FROM workspaces WHERE machine_id = ?1 AND status <> 'cleaned')
             ORDER BY number, id",
        )
        .bind(machine.as_str())
        .fetch_all(&mut *self.conn)
        .await?;
        rows.iter().map(super::tasks::read).collect()
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
            "INSERT INTO workspaces (id, task_id, status, path, branch, base_commit, cleanup_at, disk_bytes, error, port_base, created_at, updated_at, machine_id)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
             ON CONFLICT (id) DO UPDATE SET status = ?3, path = ?4, branch = ?5, base_commit = ?6, cleanup_at = ?7, disk_bytes = ?8,
               error = ?9, updated_at = ?12, machine_id = ?13, tries = CASE WHEN ?9 IS NULL THEN 0 ELSE tries END",
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
        .bind(w.machine_id.as_ref().map(MachineId::as_str))
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
        machine_id: c.text_opt("machine_id")?,
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

#[cfg(test)]
mod tests {
    use forge_model::workspace::WorkspaceStatus;

    use super::*;
    use crate::testing::{entry, record, seeded, task};

    async fn put(tx: &mut crate::Tx, record: &Workspace) {
        tx.workspaces_mut().put(record, record.updated_at).await.unwrap();
    }

    #[tokio::test]
    async fn latest_record_of_a_task_counts_and_a_cleaned_one_is_not_present() {
        let mut tx = seeded().await;
        let (old, new) = (record("old", "t", 1), record("new", "t", 2));
        put(&mut tx, &new).await;
        put(&mut tx, &Workspace { status: WorkspaceStatus::Cleaned, ..old }).await;
        let new = Workspace { machine_id: Some("m".into()), ..new };
        put(&mut tx, &new).await;
        assert_eq!(tx.workspaces().last(&"t".into()).await.unwrap().as_ref(), Some(&new));
        let of_tasks = tx.workspaces().of_tasks(&["t".into()]).await.unwrap();
        assert_eq!(of_tasks, HashMap::from([("t".into(), new.clone())]));
        assert_eq!(tx.workspaces().present().await.unwrap(), [new]);
        let latest = tx.workspaces().latest_of(&"p".into()).await.unwrap();
        assert_eq!(latest.map(|task| task.id), Some("t".into()));
        assert_eq!(tx.workspaces().latest_of(&"q".into()).await.unwrap(), None);
        tx.workspaces_mut().delete(&"new".into()).await.unwrap();
        assert_eq!(tx.workspaces().present().await.unwrap(), []);
    }

    #[tokio::test]
    async fn removals_are_due_in_time_and_the_next_one_is_told() {
        let mut tx = seeded().await;
        for (id, at) in [("late", Some(30)), ("due", Some(10)), ("kept", None), ("next", Some(20))] {
            put(&mut tx, &Workspace { cleanup_at: at.map(Timestamp), ..record(id, "t", 1) }).await;
        }
        let (due, next) = tx.workspaces().due(Timestamp(10)).await.unwrap();
        assert_eq!(due.into_iter().map(|record| record.id.0).collect::<Vec<_>>(), ["due"]);
        assert_eq!(next, Some(Timestamp(20)));
    }

    #[tokio::test]
    async fn failed_removals_are_counted_until_one_succeeds() {
        let mut tx = seeded().await;
        let failed = Workspace { error: Some("busy".to_owned()), ..record("w", "t", 1) };
        put(&mut tx, &failed).await;
        for count in 1..=2 {
            assert_eq!(tx.workspaces_mut().count_try(&"w".into()).await.unwrap(), count);
        }
        put(&mut tx, &failed).await;
        assert_eq!(tx.workspaces_mut().count_try(&"w".into()).await.unwrap(), 3, "an error keeps the count");
        put(&mut tx, &record("w", "t", 1)).await;
        assert_eq!(tx.workspaces_mut().count_try(&"w".into()).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn space_is_summed_over_present_worktrees_of_a_project() {
        let mut tx = seeded().await;
        let cleaned = Workspace { status: WorkspaceStatus::Cleaned, ..record("cleaned", "t", 1) };
        for record in [record("measured", "t", 1), record("unmeasured", "t", 2), cleaned] {
            put(&mut tx, &record).await;
        }
        for id in ["measured", "cleaned"] {
            tx.workspaces_mut().set_disk(&id.into(), 100).await.unwrap();
        }
        assert_eq!(tx.workspaces().disk_of(&"p".into()).await.unwrap(), (100, 1));
        assert_eq!(tx.workspaces().disk_of(&"q".into()).await.unwrap(), (0, 0));
    }

    #[tokio::test]
    async fn ports_of_present_worktrees_are_not_given_again() {
        let mut tx = seeded().await;
        put(&mut tx, &record("w", "t", 1)).await;
        put(&mut tx, &Workspace { port_base: 4010, ..record("v", "t", 1) }).await;
        let gone = Workspace { port_base: 4020, status: WorkspaceStatus::Cleaned, ..record("u", "t", 1) };
        put(&mut tx, &gone).await;
        assert_eq!(tx.workspaces().free_port_base(4000, 10, 5).await.unwrap(), 4020);
        assert_eq!(tx.workspaces().free_port_base(4000, 10, 2).await.unwrap(), 4000, "none is free");
    }

    #[tokio::test]
    async fn entry_of_a_race_is_listed_with_the_number_and_state_of_its_task() {
        let mut tx = seeded().await;
        let mut entry = entry("e", 3);
        entry.status = "coding".to_owned();
        tx.tasks_mut().insert(&entry).await.unwrap();
        tx.tasks_mut().insert(&task("u", 2)).await.unwrap();
        put(&mut tx, &record("w", "u", 1)).await;
        put(&mut tx, &record("v", "e", 2)).await;
        let views = tx.workspaces().views().await.unwrap();
        let told: Vec<_> = views
            .iter()
            .map(|view| (view.workspace.id.as_str(), view.task_number, &*view.task_status))
            .collect();
        assert_eq!(told, [("v", 1, "todo"), ("w", 2, "todo")]);
    }
}

//! `terminals`: shells in the worktrees of tasks, those included that ended and were not closed.

use forge_model::ids::{TaskId, TerminalId, WorkspaceId};
use forge_model::terminal::Terminal;
use forge_model::time::Timestamp;
use sqlx::sqlite::SqliteRow;

use crate::{StoreError, row::Columns};

handles!(terminals() -> Terminals, terminals_mut() -> TerminalsMut);

/// One terminal as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalRow {
    /// What people see of it.
    pub terminal: Terminal,
    /// The worktree that it runs in.
    pub workspace_id: WorkspaceId,
    /// Characters in a line and lines, as it was opened.
    pub size: (u16, u16),
    /// Whether a keeper was given it: whoever finds it nowhere afterwards knows that it ended.
    pub spawned: bool,
}

/// How one ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalEnd {
    /// Why.
    pub reason: String,
    /// The exit code, if it exited with one.
    pub exit_code: Option<i32>,
}

const SELECT: &str =
    "SELECT m.*, t.project_id AS project_id FROM terminals m JOIN tasks t ON t.id = m.task_id";

const ORDER: &str = " ORDER BY m.opened_at, m.rowid";

impl Terminals<'_> {
    /// One terminal.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn get(&mut self, id: &TerminalId) -> Result<Option<TerminalRow>, StoreError> {
        let sql = [SELECT, " WHERE m.id = ?1"].concat();
        let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(id.as_str());
        query.fetch_optional(&mut *self.conn).await?.as_ref().map(read).transpose()
    }

    /// Those that run or are about to, of all tasks, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn active(&mut self) -> Result<Vec<TerminalRow>, StoreError> {
        let sql = [SELECT, " WHERE m.ended_at IS NULL", ORDER].concat();
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql)).fetch_all(&mut *self.conn).await?;
        rows.iter().map(read).collect()
    }

    /// Those of a task, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn of_task(&mut self, task: &TaskId) -> Result<Vec<TerminalRow>, StoreError> {
        let sql = [SELECT, " WHERE m.task_id = ?1", ORDER].concat();
        let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(task.as_str());
        query.fetch_all(&mut *self.conn).await?.iter().map(read).collect()
    }
}

impl TerminalsMut<'_> {
    /// Writes one down.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn insert(&mut self, row: &TerminalRow) -> Result<(), StoreError> {
        let terminal = &row.terminal;
        sqlx::query(
            "INSERT INTO terminals (id, task_id, workspace_id, title, columns, rows, spawned, opened_by, opened_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )
        .bind(terminal.id.as_str())
        .bind(terminal.task_id.as_str())
        .bind(row.workspace_id.as_str())
        .bind(&terminal.title)
        .bind(row.size.0)
        .bind(row.size.1)
        .bind(row.spawned)
        .bind(&terminal.opened_by)
        .bind(terminal.opened_at.0)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Notes that a keeper was given it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_spawned(&mut self, id: &TerminalId) -> Result<(), StoreError> {
        let query = sqlx::query("UPDATE terminals SET spawned = 1 WHERE id = ?1").bind(id.as_str());
        query.execute(self.tx.sqlite()).await?;
        Ok(())
    }

    /// Writes its end. Whether it had none: the first end counts.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn end(
        &mut self,
        id: &TerminalId,
        end: &TerminalEnd,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let reason = self.tx.text(&end.reason).into_owned();
        let done = sqlx::query(
            "UPDATE terminals SET reason = ?2, exit_code = ?3, ended_at = ?4 WHERE id = ?1 AND ended_at IS NULL",
        )
        .bind(id.as_str())
        .bind(reason)
        .bind(end.exit_code)
        .bind(now.0)
        .execute(self.tx.sqlite())
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Drops one that ended. Whether it was there.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn delete_ended(&mut self, id: &TerminalId) -> Result<bool, StoreError> {
        let sql = "DELETE FROM terminals WHERE id = ?1 AND ended_at IS NOT NULL";
        let done = sqlx::query(sql).bind(id.as_str()).execute(self.tx.sqlite()).await?;
        Ok(done.rows_affected() > 0)
    }
}

fn read(row: &SqliteRow) -> Result<TerminalRow, StoreError> {
    let c = Columns(row);
    let terminal = Terminal {
        id: c.text("id")?,
        task_id: c.text("task_id")?,
        project_id: c.text("project_id")?,
        title: c.text("title")?,
        opened_by: c.text("opened_by")?,
        opened_at: c.time("opened_at")?,
        ended_at: c.time_opt("ended_at")?,
        exit_code: c.int_opt("exit_code")?,
        reason: c.text_opt("reason")?,
    };
    let (workspace_id, size) = (c.text("workspace_id")?, (c.int("columns")?, c.int("rows")?));
    Ok(TerminalRow { terminal, workspace_id, size, spawned: c.flag("spawned")? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::seeded;

    fn row(id: &str, at: i64) -> TerminalRow {
        let terminal = Terminal {
            id: id.into(),
            task_id: "t".into(),
            project_id: "p".into(),
            title: format!("Terminal {at}"),
            opened_by: "user:board".to_owned(),
            opened_at: Timestamp(at),
            ended_at: None,
            exit_code: None,
            reason: None,
        };
        TerminalRow { terminal, workspace_id: "w".into(), size: (80, 24), spawned: false }
    }

    #[tokio::test]
    async fn terminal_is_read_back_ends_once_and_is_dropped_only_then() {
        let mut tx = seeded().await;
        for row in [row("a", 1), row("b", 2)] {
            tx.terminals_mut().insert(&row).await.unwrap();
        }
        assert_eq!(tx.terminals().get(&"a".into()).await.unwrap(), Some(row("a", 1)));
        tx.terminals_mut().set_spawned(&"a".into()).await.unwrap();
        assert!(!tx.terminals_mut().delete_ended(&"a".into()).await.unwrap(), "it runs");
        let end = |reason: &str| TerminalEnd { reason: reason.to_owned(), exit_code: Some(1) };
        assert!(tx.terminals_mut().end(&"a".into(), &end("first"), Timestamp(5)).await.unwrap());
        assert!(!tx.terminals_mut().end(&"a".into(), &end("second"), Timestamp(6)).await.unwrap());
        let ended = tx.terminals().of_task(&"t".into()).await.unwrap().remove(0);
        assert!(ended.spawned);
        assert_eq!(
            (ended.terminal.reason.as_deref(), ended.terminal.ended_at),
            (Some("first"), Some(Timestamp(5)))
        );
        let active = tx.terminals().active().await.unwrap();
        assert_eq!(active, [row("b", 2)]);
        assert!(tx.terminals_mut().delete_ended(&"a".into()).await.unwrap());
        tx.tasks_mut().delete(&"t".into()).await.unwrap();
        assert_eq!(tx.terminals().active().await.unwrap(), []);
    }
}

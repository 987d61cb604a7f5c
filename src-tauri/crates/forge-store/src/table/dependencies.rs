//! `task_dependencies`: what must be done before what.

use forge_model::ids::TaskId;
use sqlx::{Row as _, SqliteConnection};

use crate::StoreError;

/// Records that `task` waits for `prerequisite`.
///
/// # Errors
/// When it cannot be written.
pub async fn insert(
    conn: &mut SqliteConnection,
    task: &TaskId,
    prerequisite: &TaskId,
) -> Result<(), StoreError> {
    sqlx::query("INSERT OR IGNORE INTO task_dependencies (task_id, depends_on) VALUES (?1, ?2)")
        .bind(task.as_str())
        .bind(prerequisite.as_str())
        .execute(conn)
        .await?;
    Ok(())
}

/// Removes a dependency; says whether there was one.
///
/// # Errors
/// When it cannot be removed.
pub async fn delete(
    conn: &mut SqliteConnection,
    task: &TaskId,
    prerequisite: &TaskId,
) -> Result<bool, StoreError> {
    let done = sqlx::query("DELETE FROM task_dependencies WHERE task_id = ?1 AND depends_on = ?2")
        .bind(task.as_str())
        .bind(prerequisite.as_str())
        .execute(conn)
        .await?;
    Ok(done.rows_affected() > 0)
}

/// What a task waits for.
///
/// # Errors
/// When it cannot be read.
pub async fn of(conn: &mut SqliteConnection, task: &TaskId) -> Result<Vec<TaskId>, StoreError> {
    let rows = sqlx::query("SELECT depends_on FROM task_dependencies WHERE task_id = ?1 ORDER BY depends_on")
        .bind(task.as_str())
        .fetch_all(conn)
        .await?;
    Ok(rows.iter().map(|row| TaskId(row.get(0))).collect())
}

/// What waits for a task.
///
/// # Errors
/// When it cannot be read.
pub async fn dependents(conn: &mut SqliteConnection, task: &TaskId) -> Result<Vec<TaskId>, StoreError> {
    let rows = sqlx::query("SELECT task_id FROM task_dependencies WHERE depends_on = ?1 ORDER BY task_id")
        .bind(task.as_str())
        .fetch_all(conn)
        .await?;
    Ok(rows.iter().map(|row| TaskId(row.get(0))).collect())
}

/// The chain from `from` to `to` along prerequisites, both included, if there is one.
///
/// # Errors
/// When it cannot be read.
pub async fn path(
    conn: &mut SqliteConnection,
    from: &TaskId,
    to: &TaskId,
) -> Result<Option<Vec<TaskId>>, StoreError> {
    let row = sqlx::query(
        "WITH RECURSIVE walk (id, path) AS (
           SELECT ?1, ?1
           UNION
           SELECT d.depends_on, walk.path || ' ' || d.depends_on FROM task_dependencies d JOIN walk ON d.task_id = walk.id
           WHERE instr(walk.path, d.depends_on) = 0
         ) SELECT path FROM walk WHERE id = ?2 LIMIT 1",
    )
    .bind(from.as_str())
    .bind(to.as_str())
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| row.get::<String, _>(0).split(' ').map(TaskId::from).collect()))
}

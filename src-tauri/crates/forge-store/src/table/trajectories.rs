//! `trajectories`: the notes that finished tasks left.

use forge_model::ids::{ProjectId, TaskId};
use forge_model::trajectory::Trajectory;
use sqlx::{SqliteConnection, sqlite::SqliteRow};

use crate::{StoreError, Tx, row::Columns};

/// Writes a task's note in place of the one before.
///
/// # Errors
/// When it cannot be written.
pub async fn put(tx: &mut Tx, task: &TaskId, note: &Trajectory) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT OR REPLACE INTO trajectories (task_id, execution_id, agent_id, text, is_cut, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )
    .bind(task.as_str())
    .bind(note.execution_id.as_str())
    .bind(note.agent_id.as_str())
    .bind(tx.text(&note.text))
    .bind(note.is_cut)
    .bind(note.at.0)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// A task's note.
///
/// # Errors
/// When it cannot be read.
pub async fn get(conn: &mut SqliteConnection, task: &TaskId) -> Result<Option<Trajectory>, StoreError> {
    let row = sqlx::query("SELECT * FROM trajectories WHERE task_id = ?1")
        .bind(task.as_str())
        .fetch_optional(conn)
        .await?;
    row.as_ref().map(read).transpose()
}

/// The latest note of a project, with its task.
///
/// # Errors
/// When it cannot be read.
pub async fn last(
    conn: &mut SqliteConnection,
    project: &ProjectId,
) -> Result<Option<(TaskId, Trajectory)>, StoreError> {
    let row = sqlx::query(
        "SELECT n.* FROM trajectories n JOIN tasks t ON t.id = n.task_id WHERE t.project_id = ?1
         ORDER BY n.at DESC LIMIT 1",
    )
    .bind(project.as_str())
    .fetch_optional(conn)
    .await?;
    row.as_ref().map(|row| Ok((Columns(row).text("task_id")?, read(row)?))).transpose()
}

/// Notes that are not exported yet, each with its task.
///
/// # Errors
/// When they cannot be read.
pub async fn unexported(conn: &mut SqliteConnection) -> Result<Vec<(TaskId, Trajectory)>, StoreError> {
    let rows = sqlx::query("SELECT * FROM trajectories WHERE exported = 0").fetch_all(conn).await?;
    rows.iter().map(|row| Ok((Columns(row).text("task_id")?, read(row)?))).collect()
}

/// Writes down that a note is exported, if it is still the same.
///
/// # Errors
/// When it cannot be written.
pub async fn set_exported(
    conn: &mut SqliteConnection,
    task: &TaskId,
    note: &Trajectory,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE trajectories SET exported = 1 WHERE task_id = ?1 AND text = ?2")
        .bind(task.as_str())
        .bind(&note.text)
        .execute(conn)
        .await?;
    Ok(())
}

fn read(row: &SqliteRow) -> Result<Trajectory, StoreError> {
    let c = Columns(row);
    Ok(Trajectory {
        text: c.text("text")?,
        is_cut: c.flag("is_cut")?,
        execution_id: c.text("execution_id")?,
        agent_id: c.text("agent_id")?,
        at: c.time("at")?,
    })
}

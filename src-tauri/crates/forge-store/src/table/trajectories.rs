//! `trajectories`: the notes that finished tasks left.

use forge_model::ids::{ProjectId, TaskId};
use forge_model::trajectory::Trajectory;
use sqlx::sqlite::SqliteRow;

use crate::{StoreError, row::Columns};

handles!(trajectories() -> Trajectories, trajectories_mut() -> TrajectoriesMut);

impl Trajectories<'_> {
    /// A task's note.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn get(&mut self, task: &TaskId) -> Result<Option<Trajectory>, StoreError> {
        let row = sqlx::query("SELECT * FROM trajectories WHERE task_id = ?1")
            .bind(task.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        row.as_ref().map(read).transpose()
    }

    /// The latest note of a project, with its task.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn last(&mut self, project: &ProjectId) -> Result<Option<(TaskId, Trajectory)>, StoreError> {
        let row = sqlx::query(
            "SELECT n.* FROM trajectories n JOIN tasks t ON t.id = n.task_id WHERE t.project_id = ?1
             ORDER BY n.at DESC LIMIT 1",
        )
        .bind(project.as_str())
        .fetch_optional(&mut *self.conn)
        .await?;
        row.as_ref().map(|row| Ok((Columns(row).text("task_id")?, read(row)?))).transpose()
    }

    /// Notes that are not exported yet, each with its task.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn unexported(&mut self) -> Result<Vec<(TaskId, Trajectory)>, StoreError> {
        let rows =
            sqlx::query("SELECT * FROM trajectories WHERE exported = 0").fetch_all(&mut *self.conn).await?;
        rows.iter().map(|row| Ok((Columns(row).text("task_id")?, read(row)?))).collect()
    }
}

impl TrajectoriesMut<'_> {
    /// Writes a task's note in place of the one before.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn put(&mut self, task: &TaskId, note: &Trajectory) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT OR REPLACE INTO trajectories (task_id, execution_id, agent_id, text, is_cut, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )
        .bind(task.as_str())
        .bind(note.execution_id.as_str())
        .bind(note.agent_id.as_str())
        .bind(self.tx.text(&note.text))
        .bind(note.is_cut)
        .bind(note.at.0)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Writes down that a note is exported, if it is still the same.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_exported(&mut self, task: &TaskId, note: &Trajectory) -> Result<(), StoreError> {
        sqlx::query("UPDATE trajectories SET exported = 1 WHERE task_id = ?1 AND text = ?2")
            .bind(task.as_str())
            .bind(&note.text)
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }
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

#[cfg(test)]
mod tests {
    use forge_model::time::Timestamp;

    use super::*;
    use crate::testing::{run, seeded, task};

    fn note(text: &str, at: i64) -> Trajectory {
        Trajectory {
            text: text.to_owned(),
            is_cut: true,
            execution_id: "x".into(),
            agent_id: "a".into(),
            at: Timestamp(at),
        }
    }

    #[tokio::test]
    async fn note_is_replaced_and_exported_as_it_was_read() {
        let mut tx = seeded().await;
        tx.tasks_mut().insert(&task("u", 2)).await.unwrap();
        tx.executions_mut().insert(&run("x", "t")).await.unwrap();
        for (task, note) in [("t", note("one", 1)), ("u", note("other", 2)), ("t", note("two", 3))] {
            tx.trajectories_mut().put(&task.into(), &note).await.unwrap();
        }
        assert_eq!(tx.trajectories().get(&"t".into()).await.unwrap(), Some(note("two", 3)));
        assert_eq!(tx.trajectories().last(&"p".into()).await.unwrap(), Some(("t".into(), note("two", 3))));
        assert_eq!(tx.trajectories().last(&"q".into()).await.unwrap(), None);
        tx.trajectories_mut().set_exported(&"t".into(), &note("one", 1)).await.unwrap();
        assert_eq!(tx.trajectories().unexported().await.unwrap().len(), 2, "another text was exported");
        tx.trajectories_mut().set_exported(&"t".into(), &note("two", 3)).await.unwrap();
        assert_eq!(tx.trajectories().unexported().await.unwrap(), [("u".into(), note("other", 2))]);
    }
}

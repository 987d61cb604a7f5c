//! `task_dependencies`: what must be done before what.

use std::collections::HashMap;

use forge_model::ids::{ProjectId, TaskId};
use sqlx::{QueryBuilder, Row as _, Sqlite};

use crate::{StoreError, row::push_list};

handles!(dependencies() -> Dependencies, dependencies_mut() -> DependenciesMut);

impl Dependencies<'_> {
    /// What a task waits for.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn of(&mut self, task: &TaskId) -> Result<Vec<TaskId>, StoreError> {
        let rows =
            sqlx::query("SELECT depends_on FROM task_dependencies WHERE task_id = ?1 ORDER BY depends_on")
                .bind(task.as_str())
                .fetch_all(&mut *self.conn)
                .await?;
        Ok(rows.iter().map(|row| TaskId(row.get(0))).collect())
    }

    /// What waits for a task.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn dependents(&mut self, task: &TaskId) -> Result<Vec<TaskId>, StoreError> {
        let rows =
            sqlx::query("SELECT task_id FROM task_dependencies WHERE depends_on = ?1 ORDER BY task_id")
                .bind(task.as_str())
                .fetch_all(&mut *self.conn)
                .await?;
        Ok(rows.iter().map(|row| TaskId(row.get(0))).collect())
    }

    /// What many tasks wait for: per task its prerequisites with the state that each is in.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn of_tasks(
        &mut self,
        tasks: &[TaskId],
    ) -> Result<HashMap<TaskId, Vec<(TaskId, String)>>, StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT d.task_id, d.depends_on, t.status FROM task_dependencies d JOIN tasks t ON t.id = d.depends_on
             WHERE d.task_id IN ",
        );
        push_list(&mut query, tasks)?;
        query.push(" ORDER BY d.task_id, d.depends_on");
        let mut found: HashMap<TaskId, Vec<(TaskId, String)>> = HashMap::new();
        for row in query.build().fetch_all(&mut *self.conn).await? {
            found.entry(TaskId(row.get(0))).or_default().push((TaskId(row.get(1)), row.get(2)));
        }
        Ok(found)
    }

    /// Every dependency of a project, as (task, prerequisite).
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn of_project(&mut self, project: &ProjectId) -> Result<Vec<(TaskId, TaskId)>, StoreError> {
        let rows = sqlx::query(
            "SELECT d.task_id, d.depends_on FROM task_dependencies d JOIN tasks t ON t.id = d.task_id
             WHERE t.project_id = ?1 ORDER BY d.task_id, d.depends_on",
        )
        .bind(project.as_str())
        .fetch_all(&mut *self.conn)
        .await?;
        Ok(rows.iter().map(|row| (TaskId(row.get(0)), TaskId(row.get(1)))).collect())
    }
}

impl DependenciesMut<'_> {
    /// Records that `task` waits for `prerequisite`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn insert(&mut self, task: &TaskId, prerequisite: &TaskId) -> Result<(), StoreError> {
        // Only a repetition is ignored; `OR IGNORE` would ignore a task that depends on itself as well.
        sqlx::query(
            "INSERT INTO task_dependencies (task_id, depends_on) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        )
        .bind(task.as_str())
        .bind(prerequisite.as_str())
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Removes a dependency; says whether there was one.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub async fn delete(&mut self, task: &TaskId, prerequisite: &TaskId) -> Result<bool, StoreError> {
        let done = sqlx::query("DELETE FROM task_dependencies WHERE task_id = ?1 AND depends_on = ?2")
            .bind(task.as_str())
            .bind(prerequisite.as_str())
            .execute(self.tx.sqlite())
            .await?;
        Ok(done.rows_affected() > 0)
    }
}

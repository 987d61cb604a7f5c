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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tasks::TaskRow;
    use crate::testing::{count, seeded, task};

    fn ids<const N: usize>(names: [&str; N]) -> Vec<TaskId> {
        names.map(TaskId::from).to_vec()
    }

    #[tokio::test]
    async fn edges_are_read_from_both_ends_and_written_once() {
        let mut tx = seeded().await;
        for (id, number) in [("u", 2), ("v", 3)] {
            tx.tasks_mut().insert(&TaskRow { status: "doing".to_owned(), ..task(id, number) }).await.unwrap();
        }
        for (from, to) in [("t", "u"), ("t", "v"), ("t", "u"), ("u", "v")] {
            tx.dependencies_mut().insert(&from.into(), &to.into()).await.unwrap();
        }
        assert_eq!(tx.dependencies().of(&"t".into()).await.unwrap(), ids(["u", "v"]));
        assert_eq!(tx.dependencies().dependents(&"v".into()).await.unwrap(), ids(["t", "u"]));
        let all = tx.dependencies().of_project(&"p".into()).await.unwrap();
        let pairs =
            [("t", "u"), ("t", "v"), ("u", "v")].map(|(from, to)| (TaskId::from(from), TaskId::from(to)));
        assert_eq!(all, pairs);
        assert_eq!(tx.dependencies().of_project(&"q".into()).await.unwrap(), []);
        let of_u = tx.dependencies().of_tasks(&ids(["u", "v"])).await.unwrap();
        assert_eq!(of_u, HashMap::from([("u".into(), vec![("v".into(), "doing".to_owned())])]));
    }

    #[tokio::test]
    async fn edge_goes_once_and_with_either_task() {
        let mut tx = seeded().await;
        tx.tasks_mut().insert(&task("u", 2)).await.unwrap();
        tx.dependencies_mut().insert(&"t".into(), &"u".into()).await.unwrap();
        assert!(tx.dependencies_mut().delete(&"t".into(), &"u".into()).await.unwrap());
        assert!(!tx.dependencies_mut().delete(&"t".into(), &"u".into()).await.unwrap());
        tx.dependencies_mut().insert(&"t".into(), &"u".into()).await.unwrap();
        tx.tasks_mut().delete(&"u".into()).await.unwrap();
        assert_eq!(count(&mut tx, "task_dependencies").await, 0);
    }

    #[tokio::test]
    async fn task_does_not_depend_on_itself_or_on_nothing() {
        let mut tx = seeded().await;
        tx.dependencies_mut().insert(&"t".into(), &"t".into()).await.unwrap_err();
        tx.dependencies_mut().insert(&"t".into(), &"gone".into()).await.unwrap_err();
    }
}

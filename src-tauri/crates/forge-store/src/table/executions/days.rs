//! What the runs of a project have cost: on a day, and of each task.

use std::collections::HashSet;

use forge_model::ids::{ExecutionId, ProjectId, TaskId};
use forge_model::time::Timestamp;

use super::Executions;
use crate::{StoreError, row::Columns};

impl Executions<'_> {
    /// What the runs of a project that began at `since` or later have cost in micro-dollars, as far as that is known,
    /// without the run `but`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn cost_since(
        &mut self,
        project: &ProjectId,
        since: Timestamp,
        but: Option<&ExecutionId>,
    ) -> Result<u64, StoreError> {
        let row = sqlx::query(
            "SELECT coalesce(sum(json_extract(x.usage, '$.cost_micro_usd')), 0) AS n
             FROM executions x JOIN tasks t ON t.id = x.task_id
             WHERE x.started_at >= ?2 AND t.project_id = ?1 AND x.id IS NOT ?3",
        )
        .bind(project.as_str())
        .bind(since.0)
        .bind(but.map(ExecutionId::as_str))
        .fetch_one(&mut *self.conn)
        .await?;
        Columns(&row).int("n")
    }

    /// The tasks of a project whose runs have cost that much in micro-dollars; runs of an entry are its task's.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn tasks_that_cost(
        &mut self,
        project: &ProjectId,
        limit: u64,
    ) -> Result<HashSet<TaskId>, StoreError> {
        let rows = sqlx::query(
            "SELECT CASE WHEN t.execution_mode = 'race_entry' THEN coalesce(t.parent_id, t.id) ELSE t.id END AS whose
             FROM executions x JOIN tasks t ON t.id = x.task_id WHERE t.project_id = ?1
             GROUP BY whose HAVING coalesce(sum(json_extract(x.usage, '$.cost_micro_usd')), 0) >= ?2",
        )
        .bind(project.as_str())
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(&mut *self.conn)
        .await?;
        rows.iter().map(|row| Columns(row).text("whose")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{entry, run, seeded, task};

    #[tokio::test]
    async fn tasks_are_found_by_what_their_runs_and_those_of_their_entries_cost() {
        let mut tx = seeded().await;
        tx.tasks_mut().insert(&entry("e", 1)).await.unwrap();
        tx.tasks_mut().insert(&task("cheap", 2)).await.unwrap();
        for (id, task, cost) in [("x", "t", Some(30)), ("y", "e", Some(12)), ("z", "cheap", Some(41))] {
            let mut row = run(id, task);
            row.execution.usage.cost_micro_usd = cost;
            tx.executions_mut().insert(&row).await.unwrap();
        }
        let found = tx.executions().tasks_that_cost(&"p".into(), 42).await.unwrap();
        assert_eq!(found, HashSet::from(["t".into()]));
    }
}

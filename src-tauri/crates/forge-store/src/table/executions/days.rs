//! What runs of a day have cost, of a project and on each machine.

use std::collections::HashMap;

use forge_model::ids::{ExecutionId, MachineId, ProjectId};
use forge_model::time::Timestamp;
use sqlx::sqlite::SqliteRow;

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

    /// The runs on each machine that began at `since` or later, and what they have cost in micro-dollars, as far as that
    /// is known.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn on_machines_since(
        &mut self,
        since: Timestamp,
    ) -> Result<HashMap<MachineId, (u32, u64)>, StoreError> {
        let rows = sqlx::query(
            "SELECT machine_id, count(*) AS runs, coalesce(sum(json_extract(usage, '$.cost_micro_usd')), 0) AS cost
             FROM executions WHERE machine_id IS NOT NULL AND started_at >= ?1 GROUP BY machine_id",
        )
        .bind(since.0)
        .fetch_all(&mut *self.conn)
        .await?;
        let read = |row: &SqliteRow| {
            let c = Columns(row);
            Ok((c.text("machine_id")?, (c.int("runs")?, c.int("cost")?)))
        };
        rows.iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{run, seeded};

    #[tokio::test]
    async fn runs_of_a_day_and_their_cost_are_counted_for_each_machine() {
        let mut tx = seeded().await;
        for (id, machine, at, cost) in [
            ("early", Some("m"), 5, Some(100)),
            ("x", Some("m"), 10, Some(7)),
            ("y", Some("m"), 11, None),
            ("z", Some("n"), 12, Some(1)),
            ("here", None, 13, Some(1000)),
        ] {
            let mut row = run(id, "t");
            row.execution.machine_id = machine.map(Into::into);
            row.execution.started_at = Timestamp(at);
            row.execution.usage.cost_micro_usd = cost;
            tx.executions_mut().insert(&row).await.unwrap();
        }
        let today = tx.executions().on_machines_since(Timestamp(10)).await.unwrap();
        assert_eq!(today, HashMap::from([("m".into(), (2, 7)), ("n".into(), (1, 1))]));
    }
}

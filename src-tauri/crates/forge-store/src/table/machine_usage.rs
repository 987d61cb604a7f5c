//! `machine_usage`: the runs that began on each machine and what they have cost, by quarters of an hour. The database
//! itself counts them with the rows of runs, and keeps the count when a task is deleted with its runs.

use std::collections::HashMap;

use forge_model::ids::MachineId;
use forge_model::time::Timestamp;
use sqlx::sqlite::SqliteRow;

use crate::{StoreError, row::Columns};

handles!(machine_usage() -> MachineUsage);

/// The length of a row's time, in milliseconds.
const QUARTER: i64 = 900_000;

impl MachineUsage<'_> {
    /// The runs on each machine (or on one) that began on a day, and what they have cost in micro-dollars, as far as that
    /// is known. The day is told by when it begins and when the next one does.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn on_day(
        &mut self,
        (day, next): (Timestamp, Timestamp),
        machine: Option<&MachineId>,
    ) -> Result<HashMap<MachineId, (u32, u64)>, StoreError> {
        let which = if machine.is_some() { "machine_id = ?3 AND" } else { "" };
        let sql = format!(
            "SELECT machine_id, sum(runs) AS runs, sum(micro_usd) AS cost FROM machine_usage
             WHERE {which} quarter >= ?1 AND quarter < ?2 GROUP BY machine_id"
        );
        let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(day.0.div_euclid(QUARTER));
        let query = query.bind(next.0.div_euclid(QUARTER)).bind(machine.map(MachineId::as_str));
        let read = |row: &SqliteRow| {
            let c = Columns(row);
            Ok((c.text("machine_id")?, (c.int("runs")?, c.int("cost")?)))
        };
        query.fetch_all(&mut *self.conn).await?.iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{run, seeded};

    const DAY: i64 = 96 * QUARTER;

    #[tokio::test]
    async fn runs_of_a_day_and_their_cost_are_counted_for_each_machine_and_survive_their_task() {
        let mut tx = seeded().await;
        for (id, machine, at, cost) in [
            ("early", Some("m"), DAY - 1, Some(100)),
            ("x", Some("m"), DAY, Some(7)),
            ("y", Some("m"), DAY + 1, None),
            ("z", Some("n"), DAY + QUARTER, Some(1)),
            ("here", None, DAY + 3, Some(1000)),
        ] {
            let mut row = run(id, "t");
            row.execution.machine_id = machine.map(Into::into);
            row.execution.started_at = Timestamp(at);
            row.execution.usage.cost_micro_usd = cost;
            tx.executions_mut().insert(&row).await.unwrap();
            if id == "y" {
                // What a run costs is known later, and more than once.
                for cost in [20, 35] {
                    row.execution.usage.cost_micro_usd = Some(cost);
                    tx.executions_mut().set_used(&row.execution, None).await.unwrap();
                }
            }
        }
        let expected = HashMap::from([("m".into(), (2, 42)), ("n".into(), (1, 1))]);
        assert_eq!(
            tx.machine_usage().on_day((Timestamp(DAY), Timestamp(2 * DAY)), None).await.unwrap(),
            expected
        );
        tx.tasks_mut().delete(&"t".into()).await.unwrap();
        assert_eq!(
            tx.machine_usage().on_day((Timestamp(DAY), Timestamp(2 * DAY)), None).await.unwrap(),
            expected
        );
        let one =
            tx.machine_usage().on_day((Timestamp(DAY), Timestamp(2 * DAY)), Some(&"n".into())).await.unwrap();
        assert_eq!(one, HashMap::from([("n".into(), (1, 1))]));
    }

    #[tokio::test]
    async fn clock_that_was_days_ahead_erases_nothing_of_today() {
        let mut tx = seeded().await;
        for (id, day) in [("x", 1), ("ahead", 31), ("y", 1)] {
            let mut row = run(id, "t");
            row.execution.machine_id = Some("m".into());
            row.execution.started_at = Timestamp(day * DAY);
            tx.executions_mut().insert(&row).await.unwrap();
        }
        let today = tx.machine_usage().on_day((Timestamp(DAY), Timestamp(2 * DAY)), None).await.unwrap();
        assert_eq!(today, HashMap::from([("m".into(), (2, 0))]));
    }
}

//! `processes`: what runs on tasks' behalf, written when it starts and removed when it is gone.

use forge_model::ids::{MachineId, TaskId};
use forge_model::time::Timestamp;

use crate::{StoreError, row::Columns};

handles!(processes() -> Processes, processes_mut() -> ProcessesMut);

/// A process that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessRow {
    /// The mark in its environment and its descendants'.
    pub marker: String,
    /// The task.
    pub task_id: TaskId,
    /// The machine that it runs on; none for this computer.
    pub machine_id: Option<MachineId>,
    /// The group leader.
    pub pid: u32,
    /// Its start time in clock ticks since boot.
    pub start_time: u64,
    /// The boot it belongs to.
    pub boot_id: String,
    /// When it was started.
    pub started_at: Timestamp,
}

impl Processes<'_> {
    /// Every recorded process.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn list(&mut self) -> Result<Vec<ProcessRow>, StoreError> {
        let rows = sqlx::query("SELECT * FROM processes ORDER BY marker").fetch_all(&mut *self.conn).await?;
        rows.iter()
            .map(|row| {
                let c = Columns(row);
                Ok(ProcessRow {
                    marker: c.text("marker")?,
                    task_id: c.text("task_id")?,
                    machine_id: c.text_opt("machine_id")?,
                    pid: c.int("pid")?,
                    start_time: c.int::<i64>("start_time")?.cast_unsigned(),
                    boot_id: c.text("boot_id")?,
                    started_at: c.time("started_at")?,
                })
            })
            .collect()
    }
}

impl ProcessesMut<'_> {
    /// Records a process.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn insert(&mut self, p: &ProcessRow) -> Result<(), StoreError> {
        sqlx::query("INSERT OR REPLACE INTO processes (marker, task_id, pid, start_time, boot_id, started_at, machine_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")
            .bind(&p.marker)
            .bind(p.task_id.as_str())
            .bind(p.pid)
            .bind(p.start_time.cast_signed())
            .bind(&p.boot_id)
            .bind(p.started_at.0)
            .bind(p.machine_id.as_ref().map(MachineId::as_str))
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }

    /// Forgets a process that is gone.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn delete(&mut self, marker: &str) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM processes WHERE marker = ?1").bind(marker).execute(self.tx.sqlite()).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::seeded;

    #[tokio::test]
    async fn process_is_replaced_by_its_marker_and_forgotten() {
        let mut tx = seeded().await;
        let first = ProcessRow {
            marker: "m1".to_owned(),
            task_id: "t".into(),
            machine_id: None,
            pid: 4,
            start_time: u64::MAX,
            boot_id: "boot".to_owned(),
            started_at: Timestamp(6),
        };
        let second = ProcessRow { marker: "m2".to_owned(), machine_id: Some("m".into()), ..first.clone() };
        let again = ProcessRow { pid: 9, ..first.clone() };
        for row in [&second, &first, &again] {
            tx.processes_mut().insert(row).await.unwrap();
        }
        assert_eq!(tx.processes().list().await.unwrap(), [again, second.clone()]);
        tx.processes_mut().delete("m1").await.unwrap();
        assert_eq!(tx.processes().list().await.unwrap(), [second]);
    }
}

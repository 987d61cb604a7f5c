//! What is written down of the jobs of a task.

use std::{fmt, io, sync::Arc};

use async_trait::async_trait;
use forge_machines::{
    JobOver,
    job::{Allocation, JobRef, Ledger, Place},
};
use forge_model::ids::{MachineId, TaskId};
use forge_store::{Store, table::jobs::JobRow};

use crate::{Clock, IdSource, World};

/// The rows of the jobs of one task on one machine.
pub(super) struct Rows {
    // Not the engine: that has whoever asks these.
    store: Store,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    machine: MachineId,
    task: TaskId,
}

impl Rows {
    pub(super) fn new(world: &World, machine: &MachineId, task: &TaskId) -> Self {
        let config = &world.inner.config;
        Self {
            store: world.store().clone(),
            clock: Arc::clone(&config.clock),
            ids: Arc::clone(&config.ids),
            machine: machine.clone(),
            task: task.clone(),
        }
    }

    async fn change(&self, id: &str, change: impl FnOnce(&mut JobRow) + Send) -> io::Result<()> {
        let mut tx = self.store.write().await.map_err(io::Error::other)?;
        // One that was cleared up meanwhile is over.
        let Some(mut row) = tx.jobs().get(id).await.map_err(io::Error::other)? else { return Ok(()) };
        change(&mut row);
        tx.jobs_mut().put(&row).await.map_err(io::Error::other)?;
        tx.commit().await.map_err(io::Error::other)
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows")
            .field("machine", &self.machine)
            .field("task", &self.task)
            .finish_non_exhaustive()
    }
}

/// A job as the way into it knows it.
///
/// # Errors
/// When a later version wrote how it ended.
pub(crate) fn allocation(row: JobRow) -> io::Result<Allocation> {
    let over = row.over.map(serde_json::from_value::<JobOver>).transpose()?;
    let (job, pod) = (row.job.map(JobRef), row.pod);
    let place = row.node.map(|node| Place { node, pod });
    Ok(Allocation { id: row.id, job, place, over, server: row.server })
}

#[async_trait]
impl Ledger for Rows {
    async fn last(&self) -> io::Result<Option<Allocation>> {
        let mut conn = self.store.read().await.map_err(io::Error::other)?;
        let last = conn.jobs().last(&self.machine, &self.task).await.map_err(io::Error::other)?;
        last.map(allocation).transpose()
    }

    async fn intend(&self) -> io::Result<Allocation> {
        let row = JobRow {
            id: self.ids.new_id(),
            machine_id: self.machine.clone(),
            task_id: self.task.clone(),
            job: None,
            node: None,
            pod: None,
            server: None,
            over: None,
            created_at: self.clock.now(),
        };
        let mut tx = self.store.write().await.map_err(io::Error::other)?;
        tx.jobs_mut().put(&row).await.map_err(io::Error::other)?;
        tx.commit().await.map_err(io::Error::other)?;
        allocation(row)
    }

    async fn addressed(&self, id: &str, server: &str) -> io::Result<()> {
        self.change(id, |row| row.server = Some(server.to_owned())).await
    }

    async fn submitted(&self, id: &str, job: &JobRef) -> io::Result<()> {
        self.change(id, |row| row.job = Some(job.0.clone())).await
    }

    async fn began(&self, id: &str, place: &Place) -> io::Result<()> {
        let Place { node, pod } = place.clone();
        self.change(id, |row| (row.node, row.pod) = (Some(node), pod)).await
    }

    async fn over(&self, id: &str, over: &JobOver) -> io::Result<()> {
        let over = serde_json::to_value(over)?;
        self.change(id, |row| row.over = Some(over)).await
    }
}

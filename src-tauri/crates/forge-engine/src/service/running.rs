//! The services that this engine follows.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
};

use forge_model::ids::{ServiceId, TaskId};
use forge_model::time::Timestamp;
use forge_store::table::services::ServiceRow;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{World, core::sync::locked};

/// What this process keeps of services.
#[derive(Default)]
pub(super) struct Services {
    running: Mutex<HashMap<ServiceId, Arc<Running>>>,
    /// Rows were written that nobody has begun with.
    pub recorded: Notify,
}

/// Where a service is that is to be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing of it was started.
    New,
    /// The keeper has it.
    Kept,
    /// An earlier engine gave it to a keeper, which is gone.
    Lost,
}

/// One service that is followed.
#[derive(Debug)]
pub(super) struct Running {
    pub task: TaskId,
    pub port: u32,
    /// Ends its process, once its end is written.
    pub stop: CancellationToken,
    /// Fired when nothing of it runs, or it was left to the next engine.
    pub over: CancellationToken,
    used: AtomicI64,
}

impl Running {
    /// When it was used last: it printed something, or somebody was connected to it.
    pub(super) fn used(&self) -> Timestamp {
        Timestamp(self.used.load(Ordering::Relaxed))
    }

    /// It is used now.
    pub(super) fn use_at(&self, now: Timestamp) {
        self.used.fetch_max(now.0, Ordering::Relaxed);
    }
}

pub(super) fn services(world: &World) -> Arc<Services> {
    world.part::<Services>()
}

impl Services {
    /// Starts following a service; none when it is already followed.
    pub(super) fn follow(&self, row: &ServiceRow, now: Timestamp) -> Option<Arc<Running>> {
        let mut running = locked(&self.running);
        if running.contains_key(&row.service.id) {
            return None;
        }
        let followed = Arc::new(Running {
            task: row.service.task_id.clone(),
            port: row.service.port,
            stop: CancellationToken::new(),
            over: CancellationToken::new(),
            used: AtomicI64::new(now.0),
        });
        running.insert(row.service.id.clone(), Arc::clone(&followed));
        Some(followed)
    }

    pub(super) fn forget(&self, id: &ServiceId) {
        if let Some(one) = locked(&self.running).remove(id) {
            one.over.cancel();
        }
    }

    pub(super) fn get(&self, id: &ServiceId) -> Option<Arc<Running>> {
        locked(&self.running).get(id).cloned()
    }

    /// Those of a task.
    pub(super) fn of_task(&self, task: &TaskId) -> Vec<Arc<Running>> {
        locked(&self.running).values().filter(|one| one.task == *task).map(Arc::clone).collect()
    }

    /// Ends the processes of those that are followed, but run no more by their rows.
    pub(super) fn stop_others(&self, active: &[ServiceRow]) {
        for (id, running) in &*locked(&self.running) {
            if !active.iter().any(|row| row.service.id == *id) {
                running.stop.cancel();
            }
        }
    }

    /// Others of a task that have a port still, and are on their way out.
    pub(super) fn others_at(&self, id: &ServiceId, task: &TaskId, port: u32) -> Vec<Arc<Running>> {
        let running = locked(&self.running);
        let others =
            running.iter().filter(|(other, one)| *other != id && one.task == *task && one.port == port);
        let others = others.filter(|(_, one)| one.stop.is_cancelled());
        others.map(|(_, one)| Arc::clone(one)).collect()
    }
}

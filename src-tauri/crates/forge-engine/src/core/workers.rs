//! Workers run the steps of tasks: at most one per task. A hold stops a task's worker and keeps new ones off.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
};

use forge_model::{ids::TaskId, time::Timestamp};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    Work, World,
    core::{guarded::guarded, sync::locked},
};

#[derive(Debug, Default)]
pub(crate) struct Workers {
    tasks: Mutex<HashMap<TaskId, Entry>>,
    /// The tasks that are worked on where not all are.
    named: Mutex<HashSet<TaskId>>,
}

#[derive(Debug, Default)]
struct Entry {
    /// Cancels what the worker does now.
    running: Option<CancellationToken>,
    /// True once the worker is gone; replaced with each worker.
    gone: Option<watch::Receiver<bool>>,
    /// How many commands keep workers off, or wait for their turn to.
    holds: u32,
    /// Commands that hold the task take turns.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Whether somebody asked for a worker meanwhile.
    again: bool,
}

/// While it lives, no worker runs for the task and no other command holds it. When the last one goes, a
/// worker looks for work.
pub(crate) struct Hold {
    world: World,
    task: TaskId,
    turn: Option<tokio::sync::OwnedMutexGuard<()>>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.turn.take();
        let last = {
            let workers = self.world.part::<Workers>();
            let mut tasks = locked(&workers.tasks);
            let entry = tasks.entry(self.task.clone()).or_default();
            entry.holds = entry.holds.saturating_sub(1);
            entry.holds == 0
        };
        if last {
            kick(&self.world, &self.task);
        }
    }
}

/// Asks for the task's pending steps to be run. Cheap; does nothing when there are none.
pub(crate) fn kick(world: &World, task: &TaskId) {
    let workers = world.part::<Workers>();
    let mut tasks = locked(&workers.tasks);
    let entry = tasks.entry(task.clone()).or_default();
    if entry.running.is_some() || entry.holds > 0 {
        entry.again = true;
        return;
    }
    if world.inner.shutdown.is_cancelled() || world.inner.config.work == Work::Nothing {
        return;
    }
    let cancel = world.inner.shutdown.child_token();
    let (sender, receiver) = watch::channel(false);
    entry.running = Some(cancel.clone());
    entry.gone = Some(receiver);
    entry.again = false;
    let tracker = &world.inner.tracker;
    let (world, task) = (world.clone(), task.clone());
    tracker.spawn(async move {
        let work = async {
            if works_here(&world, &task).await {
                (world.features().work)(&world, &task, &cancel).await;
            }
        };
        // Whatever happens, the worker's place is free again.
        drop(guarded(work).await);
        let again = {
            let workers = world.part::<Workers>();
            let mut tasks = locked(&workers.tasks);
            let entry = tasks.entry(task.clone()).or_default();
            entry.running = None;
            let again = std::mem::take(&mut entry.again) && entry.holds == 0;
            if !again && entry.holds == 0 {
                tasks.remove(&task);
            }
            again
        };
        sender.send_replace(true);
        world.made_progress();
        if again {
            kick(&world, &task);
        } else {
            let look = async {
                if works_here(&world, &task).await {
                    (world.features().after_work)(&world, &task).await;
                }
            };
            drop(guarded(look).await);
        }
    });
}

/// Has pending work of a task and its parts done, in an engine that does only what it is told of
/// ([`crate::Work::Named`]).
pub(crate) fn work_on(world: &World, task: &TaskId) {
    locked(&world.part::<Workers>().named).insert(task.clone());
    kick(world, task);
}

/// Whether work of a task that a command is about is done here.
pub(crate) fn works_on_named(world: &World, task: &TaskId) -> bool {
    match world.inner.config.work {
        Work::Nothing => false,
        Work::Named => locked(&world.part::<Workers>().named).contains(task),
        Work::All => true,
    }
}

async fn works_here(world: &World, task: &TaskId) -> bool {
    if works_on_named(world, task) {
        return true;
    }
    let look = async {
        let mut conn = world.store().read().await?;
        works_on(world, &mut conn, task).await
    };
    look.await.unwrap_or_else(|error: crate::EngineError| {
        tracing::error!(%task, %error, "failed to see what a task is part of; its steps stay pending");
        false
    })
}

/// Whether work of a task is done here: parts and entries of a race go with the task that they are of.
pub(crate) async fn works_on(
    world: &World,
    conn: &mut forge_store::ReadConnection,
    task: &TaskId,
) -> crate::error::Result<bool> {
    let mut next = Some(task.clone());
    while let Some(id) = next {
        if works_on_named(world, &id) {
            return Ok(true);
        }
        next = conn.tasks().get(&id).await?.and_then(|row| row.parent_id);
    }
    Ok(false)
}

/// The tasks that are worked on where not all are, with everything that is of them: parts and entries of races, and theirs.
pub(crate) async fn named_with_theirs(
    world: &World,
    conn: &mut forge_store::ReadConnection,
) -> crate::error::Result<HashSet<TaskId>> {
    let named: Vec<TaskId> = locked(&world.part::<Workers>().named).iter().cloned().collect();
    Ok(conn.tasks().with_theirs(&named).await?)
}

/// Asks for them once their time has come.
pub(crate) fn kick_at(world: &World, task: &TaskId, at: Timestamp) {
    let (world, task) = (world.clone(), task.clone());
    super::guarded::in_background(&world.clone(), async move {
        if super::sleep::sleep_until(&world, at).await {
            kick(&world, &task);
        }
    });
}

/// Stops the task's worker, waits until what it ran is gone, and keeps workers off while the hold lives.
pub(crate) async fn hold(world: &World, task: &TaskId) -> Hold {
    let (gone, turn) = {
        let workers = world.part::<Workers>();
        let mut tasks = locked(&workers.tasks);
        let entry = tasks.entry(task.clone()).or_default();
        entry.holds += 1;
        let gone = entry.running.as_ref().map(|running| {
            running.cancel();
            entry.gone.clone()
        });
        (gone, Arc::clone(&entry.turn))
    };
    // From here on the count is given back when the hold is dropped, also if nobody waits for its turn.
    let mut hold = Hold { world: world.clone(), task: task.clone(), turn: None };
    hold.turn = Some(turn.lock_owned().await);
    if let Some(Some(mut gone)) = gone {
        // An error means the worker's sender is dropped: it is gone too.
        let _ = gone.wait_for(|gone| *gone).await;
    }
    hold
}

/// Whether a command keeps workers off the task, or a worker is at it.
pub(crate) fn is_attended(world: &World, task: &TaskId) -> bool {
    locked(&world.part::<Workers>().tasks)
        .get(task)
        .is_some_and(|entry| entry.running.is_some() || entry.again || entry.holds > 0)
}

/// Whether a worker is at the task's steps now.
pub(crate) fn is_working(world: &World, task: &TaskId) -> bool {
    locked(&world.part::<Workers>().tasks)
        .get(task)
        .is_some_and(|entry| entry.running.is_some() || entry.again)
}

/// Whether no worker is at any task.
#[cfg(test)]
pub(crate) fn are_idle(world: &World) -> bool {
    let workers = world.part::<Workers>();
    locked(&workers.tasks).values().all(|entry| entry.running.is_none() && !entry.again && entry.holds == 0)
}

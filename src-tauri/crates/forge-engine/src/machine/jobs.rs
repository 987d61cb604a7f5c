//! Jobs of tasks on clusters: how each is released.
//!
//! Invariants:
//! - A job is cancelled only after what its worktree holds was fetched, and its row goes only when it is over and nothing
//!   of it is left.
//! - A job that may still be at work, because its node failed, is left alone until the cluster knows its end.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use forge_machines::{
    Fault, JobEnd, JobOver, SlurmFault, Way,
    job::{Allocation, Cluster, JobRef, Look},
};
use forge_model::ids::{MachineId, TaskId};
use forge_model::machine::Machine;
use forge_store::table::jobs::JobRow;

use crate::{
    EngineError, World,
    core::{
        self,
        location::{asked::Asked, contacts, jobs::allocation, keeper_id::KeeperId},
        sync::locked,
    },
    error::Result,
};

use super::clearing::{clear_up_in_turn, unreachable, until_end};

/// From one attempt to release the jobs of a task to the next: at first, and at most. A cluster tells nobody when a job
/// that was cancelled is over.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How long a job that was written down may be on its way to the controller, in milliseconds.
const ON_ITS_WAY_MS: i64 = 180_000;

/// Releases the jobs of tasks that are not on a machine any more, and those that no row names: of tests, and of rows that
/// a restored database does not have. What such a job holds is fetched as that of any other, so it gets a row first.
pub(super) async fn sweep(world: &World, machine: &Machine) -> Result<()> {
    let cluster = contacts::cluster(world, machine).await?;
    let server = cluster.server().await.map_err(unreachable_by)?;
    let listed = cluster.list().await.map_err(unreachable_by)?;
    for job in listed.into_iter().filter(|job| !job.is_of_own_test()) {
        let mut tx = world.store().write().await?;
        if tx.jobs().get(&job.id).await?.is_none() {
            tracing::info!(job = %job.job, "found a job that no task has");
            let nobodys = JobRow {
                task_id: TaskId(job.id.clone()),
                id: job.id,
                machine_id: machine.id.clone(),
                job: Some(job.job.0),
                node: None,
                pod: None,
                server: server.clone(),
                over: None,
                created_at: world.now(),
            };
            tx.jobs_mut().put(&nobodys).await?;
            tx.commit().await?;
        }
    }
    for row in world.store().read().await?.jobs().on(&machine.id, None).await? {
        clear_up_later(world, machine, &row.task_id);
    }
    Ok(())
}

/// Tasks whose jobs are about to be released.
#[derive(Default)]
struct Releasing(Mutex<HashSet<KeeperId>>);

/// Releases the jobs that a task does not need any more, and tries that again until they are over.
pub(super) fn clear_up_later(world: &World, machine: &Machine, task: &TaskId) {
    let (world, machine, task) = (world.clone(), machine.clone(), task.clone());
    let id = KeeperId::of(&machine, &task);
    if !locked(&world.part::<Releasing>().0).insert(id.clone()) {
        return;
    }
    until_end(&world.clone(), async move {
        let mut pause = FIRST_PAUSE;
        loop {
            // Whoever asks from now on wants another look.
            locked(&world.part::<Releasing>().0).remove(&id);
            match clear_up(&world, &machine, &task).await {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) => tracing::warn!(%task, %error, "failed to release a job; trying again"),
            }
            if !locked(&world.part::<Releasing>().0).insert(id.clone()) {
                // Another one goes on with it.
                return Ok(());
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    });
}

/// Whether nothing is left to be released.
async fn clear_up(world: &World, machine: &Machine, task: &TaskId) -> Result<bool> {
    let id = KeeperId::of(machine, task);
    let _turn = contacts::turn(world, &id).await;
    // Read in turn: whoever submits one has written it down before, and waits.
    let mut conn = world.store().read().await?;
    let rows = conn.jobs().on(&machine.id, Some(task)).await?;
    let is_on_machine = conn.workspaces().tasks_on(&machine.id).await?.iter().any(|it| it.id == *task);
    let Some(machine) = conn.machines().get(&machine.id).await? else { return Ok(true) };
    drop(conn);
    let cluster = contacts::cluster(world, &machine).await?;
    let last = rows.len().saturating_sub(1);
    let mut is_clear = true;
    for (at, row) in rows.into_iter().enumerate() {
        let job = allocation(row).map_err(EngineError::io("read what is known of a job"))?;
        let is_needed = is_on_machine && at == last && job.over.is_none();
        if !is_needed && !release_in_turn(world, &*cluster, &machine, task, &job).await? {
            is_clear = false;
        }
    }
    if is_clear && !is_on_machine {
        contacts::forget_one(world, &id);
    }
    Ok(is_clear)
}

async fn release_in_turn(
    world: &World,
    cluster: &dyn Cluster,
    machine: &Machine,
    task: &TaskId,
    job: &Allocation,
) -> Result<bool> {
    let called = match &job.job {
        Some(called) => called.clone(),
        None => match cluster.find(&job.id).await.map_err(unreachable_by)? {
            // An engine that was killed submitted it.
            Some(called) => called,
            // A request may be on its way still.
            None if is_young(world, &job.id).await? => return Ok(false),
            None => {
                cluster.require_server(job.server.as_deref()).await.map_err(unreachable_by)?;
                return forget(world, &job.id).await;
            }
        },
    };
    match cluster.look(&called, job.known()).await.map_err(unreachable_by)? {
        Look::Ready { .. } => {
            let asked = contacts::asked(world, machine, task).await?;
            if !is_emptied(world, &asked).await? {
                return Ok(false);
            }
            give_back(world, &job.id, &called).await?;
            cluster.cancel(&called, job.known()).await.map_err(unreachable_by)?;
            Ok(false)
        }
        // Nothing is in one that never began.
        Look::Waiting { .. } if job.place.is_none() => {
            give_back(world, &job.id, &called).await?;
            cluster.cancel(&called, job.known()).await.map_err(unreachable_by)?;
            Ok(false)
        }
        Look::Waiting { .. } => Ok(false),
        Look::Over(over) if !over.is_certain() => Ok(false),
        Look::Over(over) => {
            let has_begun = job.place.is_some() || !over.node.is_empty();
            match left_behind(cluster.left(&job.id).await, has_begun).map_err(unreachable_by)? {
                LeftBehind::There(left) => {
                    let left = contacts::asked_behind(world, KeeperId::of(machine, task), left);
                    if !is_left_behind_kept(world, &left).await? {
                        return Ok(false);
                    }
                }
                LeftBehind::Nothing => {}
                LeftBehind::Unseen => return forget(world, &job.id).await,
            }
            if !cluster.remove(&called, &job.id).await.map_err(unreachable_by)? {
                return Ok(false);
            }
            forget(world, &job.id).await
        }
    }
}

/// What a job that is over left.
enum LeftBehind {
    /// Something that can be asked what it holds.
    There(Arc<dyn Way>),
    /// Nothing.
    Nothing,
    /// Nobody can see that, and the job never began as far as is known: nothing is removed there.
    Unseen,
}

/// What a job left, by what its cluster answered. It is asked of each one: that a job never began may only be forgotten.
fn left_behind(asked: Result<Option<Arc<dyn Way>>, Fault>, has_begun: bool) -> Result<LeftBehind, Fault> {
    match asked {
        Ok(Some(left)) => Ok(LeftBehind::There(left)),
        Ok(None) => Ok(LeftBehind::Nothing),
        Err(Fault::Slurm(SlurmFault::NotShared { .. })) if !has_begun => Ok(LeftBehind::Unseen),
        Err(fault) => Err(fault),
    }
}

/// Whether a job was written down just now.
async fn is_young(world: &World, id: &str) -> Result<bool> {
    let row = world.store().read().await?.jobs().get(id).await?;
    Ok(row.is_some_and(|row| world.now().since(row.created_at) < ON_ITS_WAY_MS))
}

/// Writes down that a job is about to be cancelled: nobody takes it up any more.
async fn give_back(world: &World, id: &str, called: &JobRef) -> Result<()> {
    let mut tx = world.store().write().await?;
    if let Some(row) = tx.jobs().get(id).await?.filter(|row| row.over.is_none()) {
        let over = JobOver { may_go_on: true, ..JobOver::new(called.clone(), JobEnd::Cancelled) };
        let over =
            serde_json::to_value(over).map_err(|error| EngineError::invalid("job", error.to_string()))?;
        tx.jobs_mut().put(&JobRow { job: Some(called.0.clone()), over: Some(over), ..row }).await?;
        tx.commit().await?;
    }
    Ok(())
}

/// Nothing of a job is left.
async fn forget(world: &World, id: &str) -> Result<bool> {
    let mut tx = world.store().write().await?;
    tx.jobs_mut().delete(id).await?;
    tx.commit().await?;
    Ok(true)
}

/// Whether nothing is left in a job that runs: what it has was fetched.
async fn is_emptied(world: &World, asked: &Asked) -> Result<bool> {
    match asked.link.connect().await {
        Ok(_) => {
            clear_up_in_turn(world, asked).await?;
            // Its repository may not be there at the moment: then what it holds has nowhere to go.
            Ok(asked.keeper.far_trees(false).await.map_err(EngineError::Transfer)?.is_empty())
        }
        Err(fault) if fault.is_of_place_without_keeper() => Ok(true),
        Err(fault) => Err(unreachable_by(fault)),
    }
}

/// Keeps what a job left as backups of its task. Whether nothing is left.
async fn is_left_behind_kept(world: &World, left: &Asked) -> Result<bool> {
    left.link.connect().await.map_err(unreachable_by)?;
    for tree in left.keeper.far_trees(false).await.map_err(EngineError::Transfer)? {
        core::location::left_there::keep_and_remove(world, left, &tree.task, &tree.project).await?;
    }
    Ok(left.keeper.far_trees(false).await.map_err(EngineError::Transfer)?.is_empty())
}

/// The jobs on a machine of which something is left.
pub(super) async fn left_on(world: &World, machine: &MachineId) -> Result<Vec<JobRow>> {
    Ok(world.store().read().await?.jobs().on(machine, None).await?)
}

fn unreachable_by(fault: Fault) -> EngineError {
    unreachable(std::io::Error::other(fault))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_that_nobody_sees_is_let_be_only_of_a_job_that_never_began() {
        let hidden = || SlurmFault::NotShared { folder: "/shared".to_owned(), place: "here".to_owned() };
        let silent = || SlurmFault::Controller { said: "it is down".to_owned() };
        assert!(matches!(left_behind(Err(hidden().into()), false), Ok(LeftBehind::Unseen)));
        assert!(left_behind(Err(hidden().into()), true).is_err());
        assert!(left_behind(Err(silent().into()), false).is_err(), "what it holds is not known");
        for has_begun in [false, true] {
            assert!(matches!(left_behind(Ok(None), has_begun), Ok(LeftBehind::Nothing)));
        }
    }
}

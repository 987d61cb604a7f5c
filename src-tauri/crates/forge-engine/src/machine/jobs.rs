//! Jobs of tasks on clusters: how each is released.
//!
//! Invariants:
//! - A job is cancelled only after what its worktree holds was fetched, and its row goes only when it is over and nothing
//!   of it is left.
//! - A job that may still be at work, because its node failed, is left alone until the cluster knows its end.

use std::time::Duration;

use forge_machines::{
    Fault, SlurmFault,
    slurm::{Allocation, Look, Slurm},
};
use forge_model::ids::{MachineId, TaskId};
use forge_model::machine::{Machine, MachineKind};
use forge_store::table::jobs::JobRow;

use crate::{
    EngineError, World,
    core::{
        self,
        location::{asked::Asked, contacts, jobs::allocation, keeper_id::KeeperId},
    },
    error::Result,
};

use super::clearing::{clear_up_in_turn, unreachable, until_end};

/// From one sweep to the next.
const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);

/// From one attempt to release the jobs of a task to the next: at first, and at most. A cluster tells nobody when a job
/// that was cancelled is over.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Sweeps now, and again and again until this engine ends.
pub(crate) fn keep_swept(world: &World) {
    core::guarded::keep_going(world, async |world: World| {
        loop {
            let swept = tokio::select! {
                swept = sweep_all(&world) => swept,
                () = world.inner.shutdown.cancelled() => return,
            };
            if let Err(error) = swept {
                tracing::warn!(%error, "failed to sweep jobs; trying again later");
            }
            if !core::sleep::pause(&world, SWEEP_EVERY).await {
                return;
            }
        }
    });
}

/// Sweeps a machine that a person tests: it may be one that was out of use.
pub(super) fn sweep_later(world: &World, machine: &Machine) {
    if machine.kind != MachineKind::Slurm {
        return;
    }
    let (world, machine) = (world.clone(), machine.clone());
    until_end(&world.clone(), async move { sweep(&world, &machine).await });
}

async fn sweep_all(world: &World) -> Result<()> {
    let machines = world.store().read().await?.machines().list().await?;
    for machine in machines.iter().filter(|machine| machine.kind == MachineKind::Slurm) {
        if let Err(error) = sweep(world, machine).await {
            tracing::warn!(machine = machine.name, %error, "failed to sweep the jobs of a machine");
        }
    }
    Ok(())
}

/// Releases the jobs of tasks that are not on a machine any more, and those that no row names: of tests, and of rows that
/// a restored database does not have.
async fn sweep(world: &World, machine: &Machine) -> Result<()> {
    for row in world.store().read().await?.jobs().on(&machine.id, None).await? {
        clear_up_later(world, machine, &row.task_id);
    }
    let slurm = contacts::cluster(world, machine).await?;
    for job in slurm.list().await.map_err(unreachable_by)? {
        if job.is_of_own_test() || world.store().read().await?.jobs().get(&job.id).await?.is_some() {
            continue;
        }
        let nobodys = Allocation { id: job.id, job: Some(job.job), over: None };
        let id = KeeperId { machine: machine.id.clone(), task: None };
        match release(world, &slurm, &id, &nobodys).await {
            Ok(_) => tracing::info!(job = job.job, "released a job that no task has"),
            Err(error) => tracing::warn!(job = job.job, %error, "failed to release a job that no task has"),
        }
    }
    Ok(())
}

/// Releases the jobs that a task does not need any more, and tries that again until they are over.
pub(super) fn clear_up_later(world: &World, machine: &Machine, task: &TaskId) {
    let (world, machine, task) = (world.clone(), machine.clone(), task.clone());
    until_end(&world.clone(), async move {
        let mut pause = FIRST_PAUSE;
        loop {
            match clear_up(&world, &machine, &task).await {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) => tracing::warn!(%task, %error, "failed to release a job; trying again"),
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
    let slurm = contacts::cluster(world, &machine).await?;
    let last = rows.len().saturating_sub(1);
    let mut is_clear = true;
    for (at, row) in rows.into_iter().enumerate() {
        let job = allocation(row).map_err(EngineError::io("read what is known of a job"))?;
        let is_needed = is_on_machine && at == last && job.over.is_none();
        if !is_needed && !release_in_turn(world, &slurm, &machine, task, &job).await? {
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
    slurm: &Slurm,
    machine: &Machine,
    task: &TaskId,
    job: &Allocation,
) -> Result<bool> {
    if job.over.is_none() && job.job.is_some() {
        let asked = contacts::asked(world, machine, task).await?;
        if !is_emptied(world, &asked).await? {
            return Ok(false);
        }
    }
    release(world, slurm, &KeeperId::of(machine, task), job).await
}

/// Whether nothing is left in a job that runs: what it has was fetched. One that has not begun or is over has no keeper
/// to be asked.
async fn is_emptied(world: &World, asked: &Asked) -> Result<bool> {
    match asked.link.connect().await {
        Ok(_) => {
            clear_up_in_turn(world, asked).await?;
            // Its repository may not be there at the moment: then what it holds has nowhere to go.
            Ok(asked.keeper.far_trees(false).await.map_err(EngineError::Transfer)?.is_empty())
        }
        Err(Fault::Slurm(SlurmFault::Waiting { .. } | SlurmFault::Over(_) | SlurmFault::NoJob)) => Ok(true),
        Err(fault) => Err(unreachable_by(fault)),
    }
}

/// Cancels a job and, once it is over, fetches what it left and removes that. Whether it is done.
async fn release(world: &World, slurm: &Slurm, id: &KeeperId, job: &Allocation) -> Result<bool> {
    let number = match job.job {
        Some(number) => Some(number),
        // An engine that was killed may have submitted it.
        None => slurm.find(&job.id).await.map_err(unreachable_by)?,
    };
    if let Some(number) = number {
        let is_over = match slurm.look(number).await.map_err(unreachable_by)? {
            Look::Over(over) => over.is_certain(),
            Look::Waiting { .. } | Look::Ready { .. } => {
                slurm.cancel(number).await.map_err(unreachable_by)?
            }
        };
        if !is_over {
            return Ok(false);
        }
        if slurm.sees(&job.id).await.map_err(unreachable_by)? {
            let left = contacts::asked_behind(world, id.clone(), slurm, &job.id);
            if !is_left_behind_kept(world, &left).await? {
                return Ok(false);
            }
            slurm.remove_folder(&job.id).await.map_err(unreachable_by)?;
        }
    }
    let mut tx = world.store().write().await?;
    tx.jobs_mut().delete(&job.id).await?;
    tx.commit().await?;
    Ok(true)
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

//! What follows when a machine can be reached again, or cannot be reached any more.

use std::{collections::HashSet, sync::Mutex};

use forge_keeper::Connector as _;
use forge_machines::{Fault, JobFault};
use forge_model::event::EventType;
use forge_model::ids::{MachineId, TaskId};
use forge_model::machine::{Machine, MachineKind};
use forge_model::task::WaitReason;
use forge_store::Tx;
use serde_json::json;

use crate::{
    World,
    core::{
        self,
        fleet::placement::{self, Candidate, WaitFor},
        lent_folders,
        location::{asked::Asked, contacts, keeper_id::KeeperId},
        sync::locked,
    },
    error::Result,
};

use super::{clearing::until_end, job_end, left_over, sweeping};

/// Keepers that somebody waits for on behalf of tasks.
#[derive(Default)]
struct Awaited(Mutex<HashSet<KeeperId>>);

/// At start: machines on which something may go on are asked, which tells them that this engine is there.
pub(crate) async fn ask_all(world: &World) -> Result<()> {
    let left = left_over::left_on_machines(world).await?;
    let mut conn = world.store().read().await?;
    for machine in conn.machines().list().await? {
        match machine.kind {
            MachineKind::Ssh if left.contains(machine.id.as_str()) => {
                left_over::clear_up_all_later(world, &machine.id);
            }
            MachineKind::Ssh if machine.tasks == 0 && machine.runs == 0 => {}
            MachineKind::Ssh => ask(world, &machine, None),
            MachineKind::Container | MachineKind::Slurm | MachineKind::Kubernetes => {
                for workspace in conn.workspaces().present().await? {
                    let is_here = workspace.machine_id.as_ref() == Some(&machine.id);
                    if is_here && lent_folders::is_there(&workspace) {
                        ask(world, &machine, Some(&workspace.task_id));
                    }
                }
            }
        }
    }
    drop(conn);
    sweeping::keep_swept(world);
    Ok(())
}

/// Asks a machine, or the container or job of a task on it. What comes of it is told by the contact itself.
fn ask(world: &World, machine: &Machine, task: Option<&TaskId>) {
    let (world, machine) = (world.clone(), machine.clone());
    // Of a machine that is asked for all, it does not matter which task it is.
    let task = task.cloned().unwrap_or_else(|| TaskId(String::new()));
    until_end(&world.clone(), async move {
        let _ = contacts::asked(&world, &machine, &task).await?.link.connect().await;
        Ok(())
    });
}

/// Tells the tasks on a machine, and clears up there what is nobody's any more.
pub(crate) async fn changed(world: &World, keeper: &KeeperId, is_live: bool) -> Result<()> {
    let asked = contacts::known(world, keeper);
    let fault = asked.as_ref().and_then(Asked::fault);
    tell_tasks(world, keeper, is_live, fault.as_ref()).await?;
    match (asked, fault) {
        (Some(asked), _) if is_live => {
            let world = world.clone();
            until_end(&world.clone(), async move { left_over::clear_up(&world, &asked).await });
        }
        (_, Some(Fault::Job(fault))) => job_end::ended_later(world, keeper, &fault),
        _ => {}
    }
    Ok(())
}

/// Has somebody wait for a machine that tasks wait for, and wakes these when it can be reached. That they wait is
/// committed.
pub(crate) fn reconnect_later(world: &World, machine: &MachineId) {
    let away: Vec<Asked> =
        contacts::all_known(world, machine).into_iter().filter(Asked::is_unreachable).collect();
    if away.is_empty() {
        // It was reached since it was looked at.
        core::scheduler::wake_waiting(world);
    }
    for asked in away {
        if !locked(&world.part::<Awaited>().0).insert(asked.id.clone()) {
            continue;
        }
        let world = world.clone();
        until_end(&world.clone(), async move {
            tokio::select! {
                () = asked.link.reachable() => {}
                // It is reached by another way now, if at all.
                () = asked.over.cancelled() => {}
            }
            locked(&world.part::<Awaited>().0).remove(&asked.id);
            core::scheduler::wake_waiting(&world);
            Ok(())
        });
    }
}

/// Writes on the tasks that are at work there that they wait for the machine, or has them look again.
async fn tell_tasks(world: &World, keeper: &KeeperId, is_live: bool, fault: Option<&Fault>) -> Result<()> {
    let mut tx = world.store().write().await?;
    let Some(found) = tx.machines().get(&keeper.machine).await? else { return Ok(()) };
    let found = match &keeper.task {
        Some(task) => contacts::with_contact_of(world, found, task),
        None => contacts::with_contact(world, found),
    };
    let found = Candidate::from(found);
    let name = [found.machine.name.clone()];
    let mut told = placement::waiting(&name, std::slice::from_ref(&found), WaitFor::Unreachable);
    if let Some(Fault::Job(JobFault::Waiting { .. })) = fault {
        // It can be reached: its place in the cluster is what is missing.
        told.reason = WaitReason::JobPending;
    }
    let mut changed = Vec::new();
    let on_machine = tx.workspaces().tasks_on(&keeper.machine).await?;
    for mut task in on_machine.into_iter().filter(|task| keeper.serves(&task.id)) {
        let reason = task.waiting.as_ref().map(|waiting| waiting.reason);
        let changes = match is_live {
            true => is_told_here(reason),
            // Why it cannot be reached may be known only later.
            false if is_told_here(reason) => {
                task.waiting.as_ref().is_some_and(|waiting| waiting.message != told.message)
            }
            false => reason.is_none() && is_at_work(&mut tx, &task.id).await?,
        };
        if changes {
            task.waiting = (!is_live).then(|| told.clone());
            let facts = json!({ "waiting": task.waiting.as_ref().map(|waiting| waiting.reason) });
            tx.tasks_mut().update(&mut task, world.now()).await?;
            world.emit(&mut tx, EventType::TaskUpdated, &task, task.id.as_str(), &facts).await?;
            changed.push(task.id);
        }
    }
    tx.commit().await?;
    if is_live {
        // Those that waited before they began.
        changed.iter().for_each(|task| core::workers::kick(world, task));
    }
    Ok(())
}

/// Whether it is the contact with its machine that a task was told to wait for.
const fn is_told_here(reason: Option<WaitReason>) -> bool {
    matches!(reason, Some(WaitReason::MachineUnreachable | WaitReason::JobPending))
}

/// Whether a program of a task runs, or a step of it is open.
async fn is_at_work(tx: &mut Tx, task: &TaskId) -> Result<bool> {
    let runs = !tx.executions().open(Some(std::slice::from_ref(task))).await?.is_empty();
    Ok(runs || !tx.steps().open(task).await?.is_empty())
}

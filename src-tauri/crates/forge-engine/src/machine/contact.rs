//! What follows when a machine can be reached again, or cannot be reached any more.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, Mutex},
};

use forge_agents::marker_of;
use forge_keeper::{Connector as _, TransferError};
use forge_model::event::EventType;
use forge_model::ids::{MachineId, TaskId};
use forge_model::task::WaitReason;
use forge_store::Tx;
use serde_json::{Value, json};

use crate::{
    EngineError, World,
    core::{
        self,
        guarded::in_background,
        location::{
            contacts::{self, Asked},
            left_there,
        },
        sync::locked,
    },
    error::Result,
};

use super::placement::{self, Candidate, WaitFor};

/// The setting of Forge as a whole that names the machines on which something is left of tasks that are not there any
/// more.
const LEFT_ON: &str = "left_on_machines";

/// Whose turn it is to clear up on a machine.
#[derive(Default)]
struct Turns(Mutex<HashMap<MachineId, Arc<tokio::sync::Mutex<()>>>>);

/// Machines that somebody waits for on behalf of tasks.
#[derive(Default)]
struct Awaited(Mutex<HashSet<MachineId>>);

/// At start: machines on which something may go on are asked, which tells them that this engine is there.
pub(crate) async fn ask_all(world: &World) -> Result<()> {
    let left = read_left(core::app_settings::app_setting(world, LEFT_ON).await?);
    for machine in world.store().read().await?.machines().list().await? {
        if left.contains(machine.id.as_str()) {
            clear_up_later(world, &machine.id);
            continue;
        }
        if machine.tasks == 0 && machine.runs == 0 {
            continue;
        }
        let world = world.clone();
        until_end(&world.clone(), async move {
            // What comes of it is told by the contact itself.
            let _ = contacts::asked(&world, &machine).await?.ssh.connect().await;
            Ok(())
        });
    }
    Ok(())
}

/// Tells the tasks on a machine, and clears up there what is nobody's any more.
pub(crate) async fn changed(world: &World, machine: &MachineId, is_live: bool) -> Result<()> {
    tell_tasks(world, machine, is_live).await?;
    if is_live && let Some(asked) = contacts::known(world, machine) {
        let (world, machine) = (world.clone(), machine.clone());
        until_end(&world.clone(), async move { clear_up(&world, &machine, &asked).await });
    }
    Ok(())
}

/// Clears up on a machine as soon as it can be reached, also by a later engine.
pub(crate) fn clear_up_later(world: &World, machine: &MachineId) {
    let (world, machine) = (world.clone(), machine.clone());
    until_end(&world.clone(), async move {
        let found = world.store().read().await?.machines().get(&machine).await?;
        let Some(found) = found else { return Ok(()) };
        note_left(&world, |left| left.insert(machine.0.clone())).await?;
        let asked = contacts::asked(&world, &found).await?;
        asked.ssh.reachable().await;
        clear_up(&world, &machine, &asked).await
    });
}

/// Has somebody wait for a machine that tasks wait for, and wakes these when it can be reached.
pub(crate) fn reconnect_later(world: &World, machine: &MachineId) {
    if !locked(&world.part::<Awaited>().0).insert(machine.clone()) {
        return;
    }
    let (world, machine) = (world.clone(), machine.clone());
    until_end(&world.clone(), async move {
        if let Some(asked) = contacts::known(&world, &machine) {
            asked.ssh.reachable().await;
        }
        locked(&world.part::<Awaited>().0).remove(&machine);
        // Behind whoever is about to write that a task waits.
        drop(world.store().write().await?);
        core::scheduler::wake_waiting(&world);
        Ok(())
    });
}

/// Does something about a machine beside everything else, until this engine ends.
fn until_end(world: &World, act: impl Future<Output = Result<()>> + Send + 'static) {
    let ends = world.inner.shutdown.clone();
    in_background(world, async move {
        let acted = tokio::select! {
            acted = act => acted,
            () = ends.cancelled() => return,
        };
        if let Err(error) = acted {
            tracing::warn!(%error, "failed on a machine; the next contact tries again");
        }
    });
}

/// Changes the list of machines on which something is left.
async fn note_left(world: &World, change: impl FnOnce(&mut BTreeSet<String>) -> bool) -> Result<()> {
    let mut tx = world.store().write().await?;
    let mut left = read_left(tx.app_settings().get(LEFT_ON).await?);
    if change(&mut left) {
        tx.app_settings_mut().put(LEFT_ON, &json!(left)).await?;
        tx.commit().await?;
    }
    Ok(())
}

fn read_left(noted: Option<Value>) -> BTreeSet<String> {
    noted.and_then(|noted| serde_json::from_value(noted).ok()).unwrap_or_default()
}

/// Writes on the tasks that are at work there that they wait for the machine, or has them look again.
async fn tell_tasks(world: &World, machine: &MachineId, is_live: bool) -> Result<()> {
    let mut tx = world.store().write().await?;
    let Some(found) = tx.machines().get(machine).await? else { return Ok(()) };
    let found = Candidate::from(contacts::with_contact(world, found));
    let name = [found.machine.name.clone()];
    let told = placement::waiting(&name, std::slice::from_ref(&found), WaitFor::Unreachable);
    let mut changed = Vec::new();
    for mut task in tx.workspaces().tasks_on(machine).await? {
        let reason = task.waiting.as_ref().map(|waiting| waiting.reason);
        let changes = match is_live {
            true => reason == Some(WaitReason::MachineUnreachable),
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

/// Whether a program of a task runs, or a step of it is open.
async fn is_at_work(tx: &mut Tx, task: &TaskId) -> Result<bool> {
    let runs = !tx.executions().open(Some(std::slice::from_ref(task))).await?.is_empty();
    Ok(runs || !tx.steps().open(task).await?.is_empty())
}

/// Ends there what no row names, and removes the copies of worktrees that are not there any more. What a copy holds that
/// was not fetched is kept as a backup first.
async fn clear_up(world: &World, machine: &MachineId, asked: &Asked) -> Result<()> {
    let turns = world.part::<Turns>();
    let turn = Arc::clone(locked(&turns.0).entry(machine.clone()).or_default());
    // One at a time: what another one fetches just then is not fetched twice.
    let _turn = turn.lock().await;
    let kept = asked.keeper.runs().await.map_err(unreachable)?;
    let trees = asked.keeper.far_trees(false).await.map_err(EngineError::Transfer)?;
    // Read afterwards: whoever starts something there has written it down before.
    let named = names_on(world, machine).await?;
    for run in kept.iter().filter(|run| !named.runs.contains(&run.id)) {
        asked.keeper.forget(&run.id).await.map_err(unreachable)?;
    }
    for tree in trees.into_iter().filter(|tree| !named.tasks.contains(&TaskId(tree.task.clone()))) {
        left_there::keep_and_remove(world, asked, &tree.task, &tree.project).await?;
    }
    note_left(world, |left| left.remove(machine.as_str())).await
}

/// What the rows say is on a machine.
struct Named {
    /// Names of programs as its keeper has them.
    runs: HashSet<String>,
    tasks: HashSet<TaskId>,
}

async fn names_on(world: &World, machine: &MachineId) -> Result<Named> {
    let mut conn = world.store().read().await?;
    let mut runs: HashSet<String> = HashSet::new();
    for row in conn.executions().open(None).await? {
        if row.execution.machine_id.as_ref() == Some(machine) {
            let id = row.execution.id;
            runs.extend((1..=2).map(|process| forge_agents::kept_id(id.as_str(), process)));
            runs.insert(marker_of(id.as_str()).0);
        }
    }
    let processes = conn.processes().list().await?;
    runs.extend(
        processes.into_iter().filter(|it| it.machine_id.as_ref() == Some(machine)).map(|it| it.marker),
    );
    let tasks = conn.workspaces().tasks_on(machine).await?.into_iter().map(|task| task.id).collect();
    Ok(Named { runs, tasks })
}

fn unreachable(error: std::io::Error) -> EngineError {
    EngineError::Transfer(TransferError::Unreachable(error))
}

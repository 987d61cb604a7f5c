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
use serde_json::json;

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

/// At start: machines on which something may go on are asked, which tells them that this engine is there.
pub(crate) async fn ask_all(world: &World) -> Result<()> {
    let left = left_on(world).await?;
    for machine in world.store().read().await?.machines().list().await? {
        if left.contains(machine.id.as_str()) {
            clear_up_later(world, &machine.id);
            continue;
        }
        if machine.tasks == 0 && machine.runs == 0 {
            continue;
        }
        let world = world.clone();
        in_background(&world.clone(), async move {
            let connect = async {
                match contacts::asked(&world, &machine).await {
                    // The contact that is made is told by itself.
                    Ok(asked) => drop(asked.ssh.connect().await),
                    Err(error) => {
                        tracing::warn!(machine = %machine.id, %error, "failed to look for a machine");
                    }
                }
            };
            tokio::select! {
                () = connect => {}
                () = world.inner.shutdown.cancelled() => {}
            }
        });
    }
    Ok(())
}

/// Tells the tasks on a machine, and clears up there what is nobody's any more.
pub(crate) async fn changed(world: &World, machine: &MachineId, is_live: bool) -> Result<()> {
    tell_tasks(world, machine, is_live).await?;
    // A contact that lasts shows what is left there.
    if is_live {
        clear_up_later(world, machine);
    }
    Ok(())
}

/// Clears up on a machine as soon as it can be reached, also by a later engine.
pub(crate) fn clear_up_later(world: &World, machine: &MachineId) {
    let (world, machine) = (world.clone(), machine.clone());
    in_background(&world.clone(), async move {
        let cleared = tokio::select! {
            cleared = clear_up_when_reachable(&world, &machine) => cleared,
            () = world.inner.shutdown.cancelled() => return,
        };
        if let Err(error) = cleared {
            tracing::warn!(%machine, %error, "failed to clear up on a machine; the next contact tries again");
        }
    });
}

async fn clear_up_when_reachable(world: &World, machine: &MachineId) -> Result<()> {
    let Some(found) = world.store().read().await?.machines().get(machine).await? else { return Ok(()) };
    note_left(world, |left| {
        left.insert(machine.0.clone());
    })
    .await?;
    let asked = contacts::asked(world, &found).await?;
    asked.ssh.reachable().await;
    clear_up(world, machine, &asked).await
}

/// Writes down the machines on which something is left.
async fn note_left(world: &World, change: impl FnOnce(&mut BTreeSet<String>)) -> Result<()> {
    let mut left = left_on(world).await?;
    let before = left.clone();
    change(&mut left);
    if left != before {
        core::app_settings::set_app_setting(world, LEFT_ON, &json!(left)).await?;
    }
    Ok(())
}

async fn left_on(world: &World) -> Result<BTreeSet<String>> {
    let noted = core::app_settings::app_setting(world, LEFT_ON).await?;
    Ok(noted.and_then(|noted| serde_json::from_value(noted).ok()).unwrap_or_default())
}

/// Writes on the tasks whose programs run there that they wait for the machine, or that they do not any more.
async fn tell_tasks(world: &World, machine: &MachineId, is_live: bool) -> Result<()> {
    let mut tx = world.store().write().await?;
    let Some(found) = tx.machines().get(machine).await? else { return Ok(()) };
    let found = Candidate::from(contacts::with_contact(world, found));
    for mut task in tx.workspaces().tasks_on(machine).await? {
        let waits = task.waiting.as_ref().is_some_and(|it| it.reason == WaitReason::MachineUnreachable);
        let runs = !tx.executions().open(Some(std::slice::from_ref(&task.id))).await?.is_empty();
        if is_live == waits && (is_live || (runs && task.waiting.is_none())) || !is_live && runs && !waits {
            let name = [found.machine.name.clone()];
            let told = placement::waiting(&name, std::slice::from_ref(&found), WaitFor::Unreachable);
            task.waiting = (!is_live).then_some(told);
            let facts = json!({ "waiting": task.waiting.as_ref().map(|waiting| waiting.reason) });
            tx.tasks_mut().update(&mut task, world.now()).await?;
            world.emit(&mut tx, EventType::TaskUpdated, &task, task.id.as_str(), &facts).await?;
        }
    }
    Ok(tx.commit().await?)
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
    note_left(world, |left| {
        left.remove(machine.as_str());
    })
    .await
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

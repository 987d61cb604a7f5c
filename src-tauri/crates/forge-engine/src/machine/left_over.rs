//! What is left on machines of tasks that are not there any more: it is cleared up as soon as they can be reached.

use std::collections::BTreeSet;

use forge_keeper::Connector as _;
use forge_model::ids::{MachineId, TaskId};
use forge_model::machine::MachineKind;
use serde_json::{Value, json};

use crate::{
    World,
    core::{
        self,
        location::{asked::Asked, contacts},
    },
    error::Result,
};

use super::{
    clearing::{clear_up_in_turn, until_end},
    containers, jobs,
};

/// The setting of Forge as a whole that names the machines on which something is left of tasks that are not there any
/// more.
const LEFT_ON: &str = "left_on_machines";

/// The machines on which something is left.
pub(super) async fn left_on_machines(world: &World) -> Result<BTreeSet<String>> {
    Ok(read_left(core::app_settings::app_setting(world, LEFT_ON).await?))
}

/// Clears up what a machine has of a task, as soon as it can be reached, also by a later engine.
pub(crate) async fn clear_up_later(world: &World, machine: &MachineId, task: &TaskId) -> Result<()> {
    let found = world.store().read().await?.machines().get(machine).await?;
    match found {
        Some(found) if found.kind == MachineKind::Container => {
            let (world, task) = (world.clone(), task.clone());
            until_end(&world.clone(), async move { containers::clear_up(&world, &found, &task).await });
        }
        Some(found) if found.kind.is_of_jobs() => jobs::clear_up_later(world, &found, task),
        _ => clear_up_all_later(world, machine),
    }
    Ok(())
}

/// The same for all that the keeper of a machine has of any task.
pub(super) fn clear_up_all_later(world: &World, machine: &MachineId) {
    let (world, machine) = (world.clone(), machine.clone());
    until_end(&world.clone(), async move {
        let found = world.store().read().await?.machines().get(&machine).await?;
        let Some(found) = found else { return Ok(()) };
        note_left(&world, |left| left.insert(machine.0.clone())).await?;
        let asked = contacts::asked(&world, &found, &TaskId(String::new())).await?;
        asked.link.reachable().await;
        clear_up(&world, &asked).await
    });
}

/// Ends there what no row names, and removes the copies of worktrees that are not there any more. What a copy holds that
/// was not fetched is kept as a backup first.
pub(super) async fn clear_up(world: &World, asked: &Asked) -> Result<()> {
    // One at a time: what another one fetches just then is not fetched twice.
    let _turn = contacts::turn(world, &asked.id).await;
    if asked.over.is_cancelled() {
        return Ok(());
    }
    clear_up_in_turn(world, asked).await?;
    note_left(world, |left| left.remove(asked.id.machine.as_str())).await
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

//! Containers of tasks: each is removed with its task's worktree, and those that no task has any more are swept.
//!
//! Invariant: a container goes only after what its worktree holds was fetched.

use forge_machines::{
    Fault,
    container::{Listed, Look, Opening},
};
use forge_model::ids::{MachineId, TaskId};
use forge_model::machine::Machine;

use crate::{
    EngineError, World,
    core::location::{contacts, keeper_id::KeeperId},
    error::Result,
};

use super::clearing::{clear_up_in_turn, unreachable};

/// Removes the containers of a machine that no task has, those of machines that are gone, and what tests left. Keepers
/// that no container was made with go, too.
pub(super) async fn sweep(world: &World, machine: &Machine) -> Result<()> {
    let opening = contacts::opening(world, machine).await?;
    let containers = opening.containers().await.map_err(unreachable_by)?;
    let listed = containers.list().await.map_err(unreachable_by)?;
    for container in listed.iter().filter(|listed| !listed.is_of_own_test()) {
        if let Err(error) = sweep_one(world, machine, &opening, container).await {
            tracing::warn!(container = container.name, %error, "failed to remove a container; it is kept for now");
        }
    }
    if let Err(fault) = containers.sweep_keepers().await {
        tracing::warn!(%fault, "failed to remove keepers of earlier versions");
    }
    Ok(())
}

async fn sweep_one(world: &World, machine: &Machine, opening: &Opening, listed: &Listed) -> Result<()> {
    if listed.is_of_test() {
        let containers = opening.containers().await.map_err(unreachable_by)?;
        return containers.release_named(&listed.name).await.map_err(unreachable_by);
    }
    let of = MachineId(listed.machine.clone());
    if of != machine.id && world.store().read().await?.machines().get(&of).await?.is_some() {
        // That machine's own sweep sees it.
        return Ok(());
    }
    let id = KeeperId { machine: of, task: Some(TaskId(listed.task.clone())) };
    // Of a machine that is gone, this one has the program that runs it.
    clear_up_named(world, opening, id, &listed.name).await
}

/// Removes the container of a task that is not on its machine any more, after what it holds was fetched.
pub(super) async fn clear_up(world: &World, machine: &Machine, task: &TaskId) -> Result<()> {
    let opening = contacts::opening(world, machine).await?;
    let containers = opening.containers().await.map_err(unreachable_by)?;
    let name = containers.name(task.as_str());
    clear_up_named(world, &opening, KeeperId::of(machine, task), &name).await
}

async fn clear_up_named(world: &World, opening: &Opening, id: KeeperId, name: &str) -> Result<()> {
    let Some(task) = id.task.clone() else { return Ok(()) };
    let _turn = contacts::turn(world, &id).await;
    // Read in turn: whoever makes one has written it down before, and waits.
    let on_machine = world.store().read().await?.workspaces().tasks_on(&id.machine).await?;
    if on_machine.iter().any(|it| it.id == task) {
        return Ok(());
    }
    let containers = opening.containers().await.map_err(unreachable_by)?;
    match containers.look_at_named(name).await.map_err(unreachable_by)? {
        Look::Gone { .. } => {}
        // Nothing ever ran in it.
        Look::Pending => containers.release_named(name).await.map_err(unreachable_by)?,
        Look::Ready | Look::Stopped { .. } => {
            let container = opening.of_name(name.to_owned(), task.as_str());
            let asked = contacts::asked_in(world, id.clone(), container);
            asked.link.connect().await.map_err(unreachable_by)?;
            clear_up_in_turn(world, &asked).await?;
            let left = asked.keeper.far_trees(false).await.map_err(EngineError::Transfer)?;
            if !left.is_empty() {
                // Its repository is not there at the moment, and what it holds has nowhere to go.
                return Ok(());
            }
            containers.release_named(name).await.map_err(unreachable_by)?;
            tracing::info!(%task, container = name, "removed the container of a task");
        }
    }
    contacts::forget_one(world, &id);
    Ok(())
}

fn unreachable_by(fault: Fault) -> EngineError {
    unreachable(std::io::Error::other(fault))
}

//! The machine of a task: chosen when its worktree is made, and kept for as long as that is there.

use forge_model::agent::Profile;
use forge_model::ids::MachineId;
use forge_model::machine::required;
use forge_model::task::Waiting;
use forge_model::workspace::WorkspaceStatus;
use forge_store::ReadConnection;
use forge_store::table::tasks::TaskRow;

use crate::{
    World,
    core::{self, context::ProjectContext, lent_folders, location::contacts},
    error::Result,
};

use super::{
    contact,
    placement::{self, Candidate, Placement},
};

/// Where the worktree of a task is to be made: on this computer, on a machine, or nowhere yet.
pub(crate) type Place = std::result::Result<Option<MachineId>, Waiting>;

/// What keeps an agent from starting on a task because of its machine.
pub(crate) async fn obstacle(
    world: &World,
    conn: &mut ReadConnection,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<Option<Waiting>> {
    Ok(place(world, conn, context, task).await?.err())
}

/// Where a task's worktree is, or is to be made. A task that has one stays with it, and waits until the machine can be
/// reached and has a place; that the machine is draining does not matter to it.
pub(crate) async fn place(
    world: &World,
    conn: &mut ReadConnection,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<Place> {
    let workspace = conn.workspaces().last(&task.id).await?;
    let workspace = workspace.filter(|it| it.status != WorkspaceStatus::Cleaned);
    let stays_on = workspace.as_ref().and_then(|it| it.machine_id.clone());
    let is_made = workspace.as_ref().is_some_and(|it| it.status != WorkspaceStatus::Creating);
    if is_made && stays_on.is_none() {
        return Ok(Ok(None));
    }
    let required = match &stays_on {
        // A machine's name is one of its labels.
        Some(_) => Vec::new(),
        None => required_of(conn, context, task).await?,
    };
    if stays_on.is_none() && required.is_empty() {
        return Ok(Ok(None));
    }
    let mut candidates = Vec::new();
    for machine in conn.machines().list().await? {
        let others = conn.slots().taken_on(&machine.id, &task.id).await?;
        let is_its_own = stays_on.as_ref() == Some(&machine.id);
        let machine = match &workspace {
            // With what is lent to its container, the worktree would be gone. Any other time it is made again.
            Some(workspace) if is_its_own && lent_folders::is_there(workspace) => {
                contacts::with_contact_of(world, machine, &task.id)
            }
            _ => contacts::with_contact(world, machine),
        };
        candidates.push(Candidate { runs: others, ..Candidate::from(machine) });
    }
    let required = match &stays_on {
        Some(id) => {
            candidates.retain(|it| it.machine.id == *id);
            candidates.iter_mut().for_each(|it| it.machine.draining = false);
            candidates.iter().map(|it| it.machine.name.clone()).collect()
        }
        None => required,
    };
    Ok(match placement::choose(&required, &candidates) {
        Placement::On(id) => Ok(Some(id)),
        // Its machine was removed, which is told by whoever needs it.
        Placement::Local => Ok(stays_on),
        Placement::Wait(wait) => {
            let away = candidates.iter().filter(|it| it.is_unreachable && it.machine.has_labels(&required));
            away.for_each(|it| contact::reconnect_later(world, &it.machine.id));
            Err(placement::waiting(&required, &candidates, wait))
        }
    })
}

/// The labels that a task requires of its machine.
async fn required_of(
    conn: &mut ReadConnection,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<Vec<String>> {
    let agent = core::scheduler::agent_for(conn, context, task).await?;
    let of_agent = agent.and_then(|agent| Profile::of(&agent).machines);
    let of_project = &context.settings.machines;
    Ok(required::effective(task.machines.as_deref(), of_agent.as_deref(), of_project).to_vec())
}

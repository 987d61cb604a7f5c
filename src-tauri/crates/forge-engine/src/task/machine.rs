//! Going on without a machine that cannot be reached.

use forge_model::event::EventType;
use forge_model::ids::TaskId;
use forge_model::workspace::{Workspace, WorkspaceStatus};
use serde_json::json;

use crate::{ConflictCode, EngineError, World, core, error::Result, machine};

/// Gives up the machine that a task is on. Its worktree here is as it was when it was last fetched; what the machine
/// has beyond that is kept as a backup when it can be reached again. The next run may be anywhere.
pub(crate) async fn give_up_machine(world: &World, id: &TaskId) -> Result<()> {
    let mut tx = world.store().write().await?;
    let (mut task, _) = core::load::load(world, &mut tx, id, None).await?;
    let Some(workspace) = tx.workspaces().last(id).await?.filter(|it| it.machine_id.is_some()) else {
        let message = "the task is on no machine yet: change the labels that it requires";
        return Err(EngineError::conflict(ConflictCode::NothingRunning, message));
    };
    let facts = json!({ "machine_id": workspace.machine_id, "given_up": true });
    // It is made ready anew, for wherever its programs run next.
    let status = match workspace.status {
        WorkspaceStatus::Active => WorkspaceStatus::Creating,
        other => other,
    };
    let gone = workspace.machine_id.clone();
    let freed = Workspace { machine_id: None, status, ..workspace };
    tx.workspaces_mut().put(&freed, world.now()).await?;
    task.waiting = None;
    tx.tasks_mut().update(&mut task, world.now()).await?;
    world.emit(&mut tx, EventType::TaskUpdated, &task, id.as_str(), &facts).await?;
    tx.commit().await?;
    // Not before: whoever waits for the machine asks where it is to go on.
    core::location::given_up::give_up(world, id);
    core::workers::kick(world, id);
    if let Some(gone) = gone {
        machine::contact::clear_up_later(world, &gone, id).await?;
    }
    Ok(())
}

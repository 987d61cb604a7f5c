//! A task goes on without the machine that it is on.

use forge_model::actor::Cause;
use forge_model::event::EventType;
use forge_model::execution::{Execution, ExecutionError};
use forge_model::ids::TaskId;
use forge_model::task::AnnotationType;
use forge_model::workspace::{Workspace, WorkspaceStatus};
use forge_store::Tx;
use serde_json::json;

use crate::{
    ConflictCode, EngineError, World,
    core::{self, block_reason::BlockReason},
    error::Result,
};

use super::left_over;

/// Has a task leave its machine, whose end is told by `why` where a person did not decide it. Its worktree here is as it
/// was when it was last fetched; what the machine has beyond that is kept as a backup when it can be reached again. The
/// next run may be anywhere.
pub(crate) async fn leave(world: &World, id: &TaskId, why: Option<ExecutionError>) -> Result<()> {
    let mut tx = world.store().write().await?;
    let (mut task, context) = core::load::load(world, &mut tx, id, None).await?;
    let Some(workspace) = tx.workspaces().last(id).await?.filter(|it| it.machine_id.is_some()) else {
        let message = "the task is on no machine yet: change the labels that it requires";
        return Err(EngineError::conflict(ConflictCode::NothingRunning, message));
    };
    let facts = json!({ "machine_id": workspace.machine_id, "given_up": why.is_none() });
    let is_told = match &why {
        Some(why) => tell_runs(&mut tx, &workspace, why).await?,
        None => true,
    };
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
    if let Some(why) = why.filter(|why| !is_told && !core::location::given_up::is_bad_luck(why)) {
        // A check or a set-up command would come to the same end in the next one, again and again.
        let message = format!("{} {}", why.message, why.remedy);
        let trouble = BlockReason::new(AnnotationType::EnvironmentNotReady, message);
        core::transition::block(world, &mut tx, &context, &mut task, trouble, Cause::Workflow).await?;
    }
    tx.commit().await?;
    // Not before: whoever waits for the machine asks where it is to go on.
    core::location::given_up::give_up(world, id);
    core::workers::kick(world, id);
    if let Some(gone) = gone {
        left_over::clear_up_later(world, &gone, id).await?;
    }
    Ok(())
}

/// Writes in the runs on the machine why they end, so that whoever ends them tells it, a later engine included. Whether
/// there are any.
async fn tell_runs(tx: &mut Tx, workspace: &Workspace, why: &ExecutionError) -> Result<bool> {
    let mut is_told = false;
    for row in tx.executions().open(Some(std::slice::from_ref(&workspace.task_id))).await? {
        if row.execution.machine_id == workspace.machine_id {
            let run = Execution { error: Some(why.clone()), ..row.execution };
            tx.executions_mut().update(&run).await?;
            is_told = true;
        }
    }
    Ok(is_told)
}

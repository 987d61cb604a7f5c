//! The steps that remove the worktree of a closed task, now or later. Uncommitted content is kept at a backup ref
//! first, and a failure never undoes the merge.

use forge_model::event::EventType;
use forge_model::workflow::CleanupPolicy;
use forge_model::workspace::{Workspace, WorkspaceStatus};
use forge_store::table::tasks::TaskRow;
use serde_json::json;

use crate::{
    World,
    core::world::{
        features::require_idle,
        step::{End, Stepping},
    },
    error::{Result, whole},
    workspace::removal::{
        Goes, cleanup_delay_ms, plan_cleanup, put_off, remove_workspace, unless_unfinished,
    },
};

/// Removes the worktree now, or as the state's own policy says.
pub(crate) async fn clean_up_now(world: &World, s: &Stepping) -> Result<End> {
    match s.context.workflow.state(&s.task.status).and_then(|state| state.cleanup.clone()) {
        Some(CleanupPolicy::Keep) => Ok(End::skipped("the state keeps its worktree")),
        Some(CleanupPolicy::Delayed(delay)) => schedule(world, s, i64::from(delay.seconds) * 1000).await,
        Some(CleanupPolicy::Immediate) | None => {
            let Some(workspace) = present_workspace(world, &s.task).await? else {
                return Ok(End::skipped("no workspace"));
            };
            // Nobody was asked: whoever closed the task may have done so by approving its work.
            if let Err(busy) = require_idle(world, std::slice::from_ref(&s.task.id), false).await {
                let reason = whole(&busy);
                put_off(world, &s.task, workspace, reason.clone()).await?;
                return Ok(End::Ok(Some(format!("kept for now: {reason}"))));
            }
            match remove_workspace(world, &s.context, &s.task, workspace, Goes::ForReuse).await? {
                Ok(()) => Ok(End::ok()),
                Err(reason) => Ok(End::Ok(Some(format!("kept for now: {reason}")))),
            }
        }
    }
}

/// Has the worktree removed later: by the state's own policy, else after the engine's delay.
pub(crate) async fn schedule_cleanup(world: &World, s: &Stepping) -> Result<End> {
    let Some(state) = s.context.workflow.state(&s.task.status) else {
        return Ok(End::skipped("the workflow has no such state"));
    };
    match state.cleanup {
        Some(CleanupPolicy::Keep) => Ok(End::skipped("the state keeps its worktree")),
        Some(CleanupPolicy::Immediate) => clean_up_now(world, s).await,
        Some(CleanupPolicy::Delayed(_)) | None => schedule(world, s, cleanup_delay_ms(world, state)).await,
    }
}

async fn schedule(world: &World, s: &Stepping, delay_ms: i64) -> Result<End> {
    let Some(mut workspace) = present_workspace(world, &s.task).await? else {
        return Ok(End::skipped("no workspace"));
    };
    let at = world.now().plus_ms(delay_ms);
    workspace.status = unless_unfinished(workspace.status, WorkspaceStatus::Scheduled);
    (workspace.cleanup_at, workspace.error) = (Some(at), None);
    let mut tx = world.store().write().await?;
    tx.workspaces_mut().put(&workspace, world.now()).await?;
    world
        .emit(&mut tx, EventType::TaskUpdated, &s.task, workspace.id.as_str(), &json!({ "cleanup_at": at }))
        .await?;
    tx.commit().await?;
    plan_cleanup(world, at);
    Ok(End::Ok(Some(format!("at {at}"))))
}

async fn present_workspace(world: &World, task: &TaskRow) -> Result<Option<Workspace>> {
    let mut conn = world.store().read().await?;
    Ok(conn.workspaces().last(&task.id).await?.filter(|w| w.status != WorkspaceStatus::Cleaned))
}

//! Waiting until a task is idle: the next to act is an agent, a person, or a wait.

use forge_model::ids::TaskId;
use forge_model::task::WaitReason;
use forge_model::transition::StepKind;

use crate::{World, core, error::Result, hook::is_blocking, run};

/// Waits until the next to act on a task is an agent, a person, or a wait.
pub(crate) async fn wait_until_idle(world: &World, id: &TaskId) -> Result<()> {
    if !core::workers::works_on_named(world, id) {
        // It would wait for itself.
        return Ok(());
    }
    let mut progress = world.progress();
    loop {
        progress.borrow_and_update();
        if is_idle(world, id).await? || agent_acts(world, id).await? {
            return Ok(());
        }
        tokio::select! {
            changed = progress.changed() => if changed.is_err() { return Ok(()) },
            () = world.inner.shutdown.cancelled() => return Ok(()),
        }
    }
}

/// Waits until a gate that a task was moved into is entered: the work is committed and its review has begun, or
/// something else became of the move.
pub(crate) async fn enter_gate(world: &World, id: &TaskId) -> Result<()> {
    if !core::workers::works_on_named(world, id) {
        return Ok(());
    }
    let mut progress = world.progress();
    loop {
        progress.borrow_and_update();
        let open = world.store().read().await?.steps().open(id).await?;
        let captures = open.iter().any(|step| step.kind == StepKind::Capture);
        if !captures || is_idle(world, id).await? {
            return Ok(());
        }
        tokio::select! {
            changed = progress.changed() => if changed.is_err() { return Ok(()) },
            () = world.inner.shutdown.cancelled() => return Ok(()),
        }
    }
}

/// Whether an agent is at work and nothing but hooks run beside it.
async fn agent_acts(world: &World, id: &TaskId) -> Result<bool> {
    if !run::running::is_running(world, id) {
        return Ok(false);
    }
    let open = world.store().read().await?.steps().open(id).await?;
    Ok(!open.is_empty() && open.iter().all(|step| step.kind == StepKind::Hook && !is_blocking(step)))
}

async fn is_idle(world: &World, id: &TaskId) -> Result<bool> {
    let mut conn = world.store().read().await?;
    if core::workers::is_working(world, id) {
        // A step that stands in line for the worktree may do so for long, and says so.
        let task = conn.tasks().get(id).await?;
        let waiting = task.and_then(|task| task.waiting);
        return Ok(waiting.is_some_and(|waiting| waiting.reason == WaitReason::WorkspaceLocked));
    }
    let Some(next) = conn.steps().next(id).await? else { return Ok(true) };
    if next.not_before.is_some_and(|at| at > world.now()) {
        return Ok(true);
    }
    let task = conn.tasks().get(id).await?;
    Ok(task.is_none_or(|task| task.waiting.is_some()))
}

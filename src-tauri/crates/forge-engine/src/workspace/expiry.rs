//! Worktrees whose delay after their task's end is over: they are removed when both the wall clock and the observed time
//! say so.

use std::path::PathBuf;

use forge_model::time::Timestamp;
use forge_model::workflow::State;
use forge_model::workspace::{Workspace, WorkspaceStatus};
use forge_store::table::{tasks, workspaces};

use super::cleanup::{self, Goes, RETRY_MS};
use crate::{Engine, core, error::Result};

/// When a worktree whose delay is not over is looked at again at the latest.
const LONGEST_NAP_MS: i64 = 60 * 60 * 1000;

/// Looks for worktrees whose time has come at `at`, and from then on whenever the next one is due.
pub(crate) fn plan_cleanup(engine: &Engine, at: Timestamp) {
    core::guarded::keep_going(engine, move |engine| async move {
        if core::sleep::sleep_until(&engine, at).await {
            match clean_up_due(&engine).await {
                Ok(Some(next)) => plan_cleanup(&engine, next),
                Ok(None) => {}
                Err(error) => {
                    tracing::error!(%error, "failed to look for worktrees to remove; trying again");
                    plan_cleanup(&engine, engine.now().plus_ms(RETRY_MS));
                }
            }
        }
    });
}

/// Removes the worktrees that are due; when the next one is. A worktree that cannot be dealt with keeps no other.
async fn clean_up_due(engine: &Engine) -> Result<Option<Timestamp>> {
    let (due, mut next) = {
        let mut conn = engine.store().read().await?;
        workspaces::due(&mut conn, engine.now()).await?
    };
    for found in due {
        let again = match clean_up_one(engine, &found).await {
            Ok(None) => continue,
            Ok(Some(again)) => again,
            Err(error) => {
                let task = &found.task_id;
                tracing::error!(%task, %error, "failed to look at a worktree that is due; trying again");
                engine.now().plus_ms(RETRY_MS)
            }
        };
        next = Some(next.map_or(again, |next| next.min(again)));
    }
    Ok(next)
}

/// Removes a worktree that is due, if it still is; when it is to be looked at again, if nothing else plans that.
async fn clean_up_one(engine: &Engine, found: &Workspace) -> Result<Option<Timestamp>> {
    // The task's own steps may be at its worktree, too: one at a time, and on what is there then.
    let _hold = core::workers::hold(engine, &found.task_id).await;
    let (task, context, workspace) = {
        let mut conn = engine.store().read().await?;
        let Some(task) = tasks::get(&mut conn, &found.task_id).await? else { return Ok(None) };
        let context = core::context::context_of(engine, &mut conn, &task).await?;
        (task, context, workspaces::last(&mut conn, &found.task_id).await?)
    };
    let still_due = |w: &Workspace| {
        w.id == found.id
            && w.status != WorkspaceStatus::Cleaned
            && w.cleanup_at.is_some_and(|at| at <= engine.now())
    };
    let Some(workspace) = workspace.filter(still_due) else { return Ok(None) };
    // A task that was opened again needs its worktree.
    let Some(state) = context.workflow.state(&task.status).filter(|state| state.is_terminal()) else {
        return Ok(None);
    };
    // A removal that was tried before has waited already.
    if workspace.error.is_none()
        && let Some(again) = waits_for_observed_time(engine, state, &workspace, task.status_since).await?
    {
        return Ok(Some(again));
    }
    if let Err(reason) = cleanup::remove_workspace(engine, &context, &task, workspace, Goes::ForReuse).await?
    {
        tracing::info!(task = %task.id, %reason, "a worktree's removal is tried again later");
    }
    Ok(None)
}

/// When a worktree is to be looked at again that is due by the wall clock, but whose delay has not passed by the time
/// that was observed: the wall clock has jumped.
async fn waits_for_observed_time(
    engine: &Engine,
    state: &State,
    workspace: &Workspace,
    closed: Timestamp,
) -> Result<Option<Timestamp>> {
    // What was planned counts where the setting was changed since.
    let planned = workspace.cleanup_at.map(|due| due.since(closed).max(0));
    let delay = cleanup::cleanup_delay_ms(engine, state).min(planned.unwrap_or(i64::MAX));
    // Both clocks drift apart a little.
    let drift = delay / 100 + 1000;
    let left = match engine.observed_age(closed).await? {
        Some(age) => delay - drift - age,
        None => delay,
    };
    Ok((left > 0).then(|| engine.now().plus_ms(left.clamp(1000, LONGEST_NAP_MS))))
}

/// The folders below the workspace root that belong to tasks, or did.
pub(crate) fn task_folders(root: &std::path::Path) -> Vec<PathBuf> {
    let folders = |path: &std::path::Path| {
        std::fs::read_dir(path)
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.is_dir())
            .collect::<Vec<_>>()
    };
    folders(root).iter().flat_map(|project| folders(project)).collect()
}

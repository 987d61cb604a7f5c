//! Settling what an earlier process left: its children are ended, its locks released, its runs marked
//! lost, and everything that was pending goes on.

use std::{path::PathBuf, time::Duration};

use forge_exec::{Marker, sweep};
use forge_git::Trash;
use forge_model::execution::{Execution, ExecutionStatus};
use forge_model::time::Timestamp;
use forge_model::transition::StepKind;
use forge_model::workflow::State;
use forge_model::workspace::{Workspace, WorkspaceStatus};
use forge_store::Tx;
use forge_store::table::{executions, limits, processes, slots, steps, tasks, tasks::TaskRow, workspaces};

use crate::{
    Engine, Work, core,
    error::Result,
    fix, knowledge, project, pull_request, race, read,
    review::{self, audit::audits},
    run, storage,
    validate::is_of_validation,
    workspace::{
        self,
        cleanup::{Goes, RETRY_MS},
    },
};

/// From the gentle signal to the kill of what a dead engine left running.
const ORPHAN_GRACE: Duration = Duration::from_secs(2);

/// When a worktree whose delay is not over is looked at again at the latest.
const LONGEST_NAP_MS: i64 = 60 * 60 * 1000;

/// Runs once at start, before anything else may happen.
pub(crate) async fn recover(engine: &Engine) -> Result<()> {
    if engine.inner.config.work == Work::Nothing {
        // What is left of runs is settled by an engine that goes on with them. Of checks nothing goes on.
        return end_orphans(engine, is_of_validation).await;
    }
    end_orphans(engine, |_| true).await?;
    return_withdrawn(engine);
    let mut tx = engine.store().write().await?;
    for workspace in workspaces::present(&mut tx).await? {
        workspace::lock::release_stale_lock(&workspace);
    }
    for row in executions::open(&mut tx, None).await? {
        let Some(task) = tasks::get(&mut tx, &row.execution.task_id).await? else { continue };
        tracing::info!(execution = %row.execution.id, task = %task.id, "a run was cut short by the end of an earlier process");
        lose_run(engine, &mut tx, &task, row.execution).await?;
    }
    tx.commit().await?;
    fix::settle_fixes(engine).await?;
    storage::observed_time::observe_time(engine).await?;
    engine.point("recovery.settled");
    if engine.inner.config.work == Work::Named {
        read::exports::keep_exporting(engine);
        return Ok(());
    }
    let open = steps::tasks_with_open(&mut *engine.store().read().await?).await?;
    for task in open {
        engine.kick(&task);
    }
    for (_, until) in limits::list(&mut *engine.store().read().await?).await? {
        if until > engine.now() {
            core::scheduler::wake_at(engine, until);
        }
    }
    core::runner::wake_waiting(engine);
    core::watchdog::keep_watch(engine);
    pull_request::hosts::watch_pull_requests(engine);
    plan_cleanup(engine, engine.now());
    sweep_trash(engine);
    project::repository::watch_repositories(engine).await?;
    race::left::plan_forgetting(engine).await?;
    workspace::pool::trim_all_pools(engine).await?;
    review::count_all_unmerged(engine);
    storage::retention::keep_retention(engine);
    storage::database_backups::keep_database_copied(engine);
    workspace::orphans::log_orphans(engine);
    knowledge::command::settle_lessons(engine);
    read::exports::keep_exporting(engine);
    Ok(())
}

/// Writes down that a run was cut short by no fault of its own; it goes on in another one.
pub(crate) async fn lose_run(engine: &Engine, tx: &mut Tx, task: &TaskRow, mut run: Execution) -> Result<()> {
    run.status = ExecutionStatus::Lost;
    run.finished_at = Some(engine.now());
    executions::update(tx, &run).await?;
    slots::release(tx, &task.id).await?;
    let follows = if audits(run.role) { StepKind::Advance } else { StepKind::Restart };
    run::append_work_steps(tx, task, &run.id, &[follows]).await
}

/// Ends every process that an earlier engine recorded and that is meant, by the mark that it and its descendants
/// carry.
async fn end_orphans(engine: &Engine, is_meant: fn(&str) -> bool) -> Result<()> {
    let left = processes::list(&mut *engine.store().read().await?).await?;
    for process in left.into_iter().filter(|process| is_meant(&process.marker)) {
        let ended = sweep(&Marker(process.marker.clone()), ORPHAN_GRACE).await;
        if ended > 0 {
            tracing::warn!(marker = %process.marker, ended, "ended processes that an earlier engine left running");
        }
        let mut tx = engine.store().write().await?;
        processes::delete(&mut tx, &process.marker).await?;
        tx.commit().await?;
    }
    Ok(())
}

/// Puts back worktrees that were on their way out when an earlier process was killed.
fn return_withdrawn(engine: &Engine) {
    for folder in task_folders(&engine.inner.config.workspace_root) {
        match forge_git::return_withdrawn(&folder) {
            Ok(back) => {
                for path in back {
                    tracing::info!(path = %path.display(), "put back a worktree whose removal was cut short");
                }
            }
            Err(error) => {
                tracing::error!(folder = %folder.display(), %error, "failed to put a worktree back");
            }
        }
    }
}

/// Deletes worktrees that were set aside but not deleted.
fn sweep_trash(engine: &Engine) {
    let root = engine.inner.config.workspace_root.clone();
    engine.in_background(async move {
        for folder in task_folders(&root) {
            match Trash::left_in(&folder) {
                Ok(left) => {
                    for trash in left {
                        if let Err(error) = trash.delete().await {
                            tracing::warn!(%error, "failed to delete a removed worktree");
                        }
                    }
                }
                Err(error) => tracing::warn!(%error, "failed to look for removed worktrees"),
            }
        }
    });
}

/// Looks for worktrees whose time has come at `at`, and from then on whenever the next one is due.
pub(crate) fn plan_cleanup(engine: &Engine, at: Timestamp) {
    core::panics::keep_going(engine, move |engine| async move {
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
    if let Err(reason) =
        workspace::cleanup::remove_workspace(engine, &context, &task, workspace, Goes::ForReuse).await?
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
    let delay = workspace::cleanup::cleanup_delay_ms(engine, state).min(planned.unwrap_or(i64::MAX));
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

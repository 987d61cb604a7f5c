//! Settling what an earlier process left: its children are ended, its locks released, its runs marked
//! lost, and everything that was pending goes on.

use crate::{fix, knowledge, project, pull_request, race, read, review, run, storage, workspace};
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
    Engine, Work,
    error::Result,
    review::audit::audits,
    validate::is_of_validation,
    workspace::cleanup::{Goes, RETRY_MS},
};

/// From the gentle signal to the kill of what a dead engine left running.
const ORPHAN_GRACE: Duration = Duration::from_secs(2);

/// When a worktree whose delay is not over is looked at again at the latest.
const LONGEST_NAP_MS: i64 = 60 * 60 * 1000;

impl Engine {
    /// Runs once at start, before anything else may happen.
    pub(crate) async fn recover(&self) -> Result<()> {
        if self.inner.config.work == Work::Nothing {
            // What is left of runs is settled by an engine that goes on with them. Of checks nothing goes on.
            return self.end_orphans(is_of_validation).await;
        }
        self.end_orphans(|_| true).await?;
        self.return_withdrawn();
        let mut tx = self.store().write().await?;
        for workspace in workspaces::present(&mut tx).await? {
            workspace::lock::release_stale_lock(&workspace);
        }
        for row in executions::open(&mut tx, None).await? {
            let Some(task) = tasks::get(&mut tx, &row.execution.task_id).await? else { continue };
            tracing::info!(execution = %row.execution.id, task = %task.id, "a run was cut short by the end of an earlier process");
            self.lose_run(&mut tx, &task, row.execution).await?;
        }
        tx.commit().await?;
        fix::settle_fixes(self).await?;
        storage::observed_time::observe_time(self).await?;
        self.point("recovery.settled");
        if self.inner.config.work == Work::Named {
            read::exports::keep_exporting(self);
            return Ok(());
        }
        let open = steps::tasks_with_open(&mut *self.store().read().await?).await?;
        for task in open {
            self.kick(&task);
        }
        for (_, until) in limits::list(&mut *self.store().read().await?).await? {
            if until > self.now() {
                self.wake_at(until);
            }
        }
        self.wake_waiting();
        self.keep_watch();
        pull_request::hosts::watch_pull_requests(self);
        self.plan_cleanup(self.now());
        self.sweep_trash();
        project::repository::watch_repositories(self).await?;
        race::left::plan_forgetting(self).await?;
        workspace::pool::trim_all_pools(self).await?;
        review::count_all_unmerged(self);
        storage::retention::keep_retention(self);
        storage::database_backups::keep_database_copied(self);
        workspace::orphans::log_orphans(self);
        knowledge::command::settle_lessons(self);
        read::exports::keep_exporting(self);
        Ok(())
    }

    /// Writes down that a run was cut short by no fault of its own; it goes on in another one.
    pub(crate) async fn lose_run(&self, tx: &mut Tx, task: &TaskRow, mut run: Execution) -> Result<()> {
        run.status = ExecutionStatus::Lost;
        run.finished_at = Some(self.now());
        executions::update(tx, &run).await?;
        slots::release(tx, &task.id).await?;
        let follows = if audits(run.role) { StepKind::Advance } else { StepKind::Restart };
        run::append_work_steps(tx, task, &run.id, &[follows]).await
    }

    /// Ends every process that an earlier engine recorded and that is meant, by the mark that it and its descendants
    /// carry.
    async fn end_orphans(&self, is_meant: fn(&str) -> bool) -> Result<()> {
        let left = processes::list(&mut *self.store().read().await?).await?;
        for process in left.into_iter().filter(|process| is_meant(&process.marker)) {
            let ended = sweep(&Marker(process.marker.clone()), ORPHAN_GRACE).await;
            if ended > 0 {
                tracing::warn!(marker = %process.marker, ended, "ended processes that an earlier engine left running");
            }
            let mut tx = self.store().write().await?;
            processes::delete(&mut tx, &process.marker).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    /// Puts back worktrees that were on their way out when an earlier process was killed.
    fn return_withdrawn(&self) {
        for folder in task_folders(&self.inner.config.workspace_root) {
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
    fn sweep_trash(&self) {
        let root = self.inner.config.workspace_root.clone();
        self.in_background(async move {
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
    pub(crate) fn plan_cleanup(&self, at: Timestamp) {
        self.keep_going(move |engine| async move {
            if engine.sleep_until(at).await {
                match engine.clean_up_due().await {
                    Ok(Some(next)) => engine.plan_cleanup(next),
                    Ok(None) => {}
                    Err(error) => {
                        tracing::error!(%error, "failed to look for worktrees to remove; trying again");
                        engine.plan_cleanup(engine.now().plus_ms(RETRY_MS));
                    }
                }
            }
        });
    }

    /// Removes the worktrees that are due; when the next one is. A worktree that cannot be dealt with keeps no other.
    async fn clean_up_due(&self) -> Result<Option<Timestamp>> {
        let (due, mut next) = {
            let mut conn = self.store().read().await?;
            workspaces::due(&mut conn, self.now()).await?
        };
        for found in due {
            let again = match self.clean_up_one(&found).await {
                Ok(None) => continue,
                Ok(Some(again)) => again,
                Err(error) => {
                    let task = &found.task_id;
                    tracing::error!(%task, %error, "failed to look at a worktree that is due; trying again");
                    self.now().plus_ms(RETRY_MS)
                }
            };
            next = Some(next.map_or(again, |next| next.min(again)));
        }
        Ok(next)
    }

    /// Removes a worktree that is due, if it still is; when it is to be looked at again, if nothing else plans that.
    async fn clean_up_one(&self, found: &Workspace) -> Result<Option<Timestamp>> {
        // The task's own steps may be at its worktree, too: one at a time, and on what is there then.
        let _hold = self.hold(&found.task_id).await;
        let (task, context, workspace) = {
            let mut conn = self.store().read().await?;
            let Some(task) = tasks::get(&mut conn, &found.task_id).await? else { return Ok(None) };
            let context = self.context_of(&mut conn, &task).await?;
            (task, context, workspaces::last(&mut conn, &found.task_id).await?)
        };
        let still_due = |w: &Workspace| {
            w.id == found.id
                && w.status != WorkspaceStatus::Cleaned
                && w.cleanup_at.is_some_and(|at| at <= self.now())
        };
        let Some(workspace) = workspace.filter(still_due) else { return Ok(None) };
        // A task that was opened again needs its worktree.
        let Some(state) = context.workflow.state(&task.status).filter(|state| state.is_terminal()) else {
            return Ok(None);
        };
        // A removal that was tried before has waited already.
        if workspace.error.is_none()
            && let Some(again) = self.waits_for_observed_time(state, &workspace, task.status_since).await?
        {
            return Ok(Some(again));
        }
        if let Err(reason) =
            workspace::cleanup::remove_workspace(self, &context, &task, workspace, Goes::ForReuse).await?
        {
            tracing::info!(task = %task.id, %reason, "a worktree's removal is tried again later");
        }
        Ok(None)
    }

    /// When a worktree is to be looked at again that is due by the wall clock, but whose delay has not passed by the time
    /// that was observed: the wall clock has jumped.
    async fn waits_for_observed_time(
        &self,
        state: &State,
        workspace: &Workspace,
        closed: Timestamp,
    ) -> Result<Option<Timestamp>> {
        // What was planned counts where the setting was changed since.
        let planned = workspace.cleanup_at.map(|due| due.since(closed).max(0));
        let delay = workspace::cleanup::cleanup_delay_ms(self, state).min(planned.unwrap_or(i64::MAX));
        // Both clocks drift apart a little.
        let drift = delay / 100 + 1000;
        let left = match self.observed_age(closed).await? {
            Some(age) => delay - drift - age,
            None => delay,
        };
        Ok((left > 0).then(|| self.now().plus_ms(left.clamp(1000, LONGEST_NAP_MS))))
    }
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

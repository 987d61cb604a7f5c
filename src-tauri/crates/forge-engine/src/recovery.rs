//! Recovery at start: runs that went on meanwhile are gone on with; other processes of an earlier engine are ended,
//! its locks are released, its open runs are recorded as lost, and every task with pending steps gets a worker.
//!
//! Runs once, before any command. It may be killed and run again.

use std::time::Duration;

use forge_exec::{Marker, sweep};
use forge_git::Trash;
use tokio_util::sync::CancellationToken;

use crate::{Work, World, core, error::Result, export, project, pull_request, run, storage, workspace};

/// From the gentle signal to the kill of what a dead engine left running.
const ORPHAN_GRACE: Duration = Duration::from_secs(2);

/// Runs once at start, before anything else may happen.
pub(crate) async fn recover(world: &World) -> Result<()> {
    if world.inner.config.work == Work::Nothing {
        // What is left of runs is settled by an engine that goes on with them. Of checks nothing goes on.
        let is_owned = |marker: &str| world.features().moments.owns_process.iter().any(|owns| owns(marker));
        return end_orphans(world, is_owned).await;
    }
    let adoptable = run::adopted::Adoptable::find(world).await?;
    end_orphans(world, |marker| !adoptable.has_marker(marker)).await?;
    return_withdrawn(world);
    let mut tx = world.store().write().await?;
    for workspace in tx.workspaces().present().await? {
        core::worktree_lock::release_stale_lock(&workspace);
    }
    for row in tx.executions().open(None).await? {
        let Some(task) = tx.tasks().get(&row.execution.task_id).await? else { continue };
        if adoptable.has(&row.execution.id) {
            continue;
        }
        tracing::info!(execution = %row.execution.id, task = %task.id, "a run was cut short by the end of an earlier process");
        run::lost::lose_run(world, &mut tx, &task, row.execution).await?;
    }
    tx.commit().await?;
    for recover in &world.features().moments.recover {
        recover(world).await?;
    }
    recover_lendings(world, &adoptable).await?;
    core::observed_time::observe_time(world).await?;
    adoptable.adopt(world).await?;
    world.point("recovery.settled");
    if world.inner.config.work == Work::Named {
        // Nobody goes on with the tasks that were given them, unless their run lasts; each asks for its place again.
        let mut tx = world.store().write().await?;
        tx.slots_mut().release_before_their_run().await?;
        tx.commit().await?;
        export::keep_exporting(world);
        return Ok(());
    }
    let open = world.store().read().await?.steps().tasks_with_open().await?;
    for task in open {
        core::workers::kick(world, &task);
    }
    for (_, until) in world.store().read().await?.limits().list().await? {
        if until > world.now() {
            core::scheduler::wake_at(world, until);
        }
    }
    core::scheduler::wake_waiting(world);
    core::watchdog::keep_watch(world);
    pull_request::watch::watch_pull_requests(world);
    workspace::removal::plan_cleanup(world, world.now());
    sweep_trash(world);
    project::repository::watch_repositories(world).await?;
    for resume in &world.features().moments.resume {
        resume(world).await?;
    }
    workspace::pool::trim_all_pools(world).await?;
    workspace::unmerged::count_all_unmerged(world);
    storage::retention::keep_retention(world);
    storage::database_backups::keep_database_copied(world);
    workspace::orphans::log_orphans(world);
    export::keep_exporting(world);
    Ok(())
}

/// Ends every process that an earlier engine recorded and that is meant, by the mark that it and its descendants
/// carry.
async fn end_orphans(world: &World, is_meant: impl Fn(&str) -> bool) -> Result<()> {
    let left = world.store().read().await?.processes().list().await?;
    for process in left.into_iter().filter(|process| is_meant(&process.marker)) {
        // On another machine, what no row names is ended as soon as that can be reached.
        let ended = match &process.machine_id {
            None => sweep(&Marker(process.marker.clone()), ORPHAN_GRACE).await,
            Some(_) => 0,
        };
        if ended > 0 {
            tracing::warn!(marker = %process.marker, ended, "ended processes that an earlier engine left running");
        }
        let mut tx = world.store().write().await?;
        tx.processes_mut().delete(&process.marker).await?;
        tx.commit().await?;
    }
    Ok(())
}

/// Takes back the git directories that were lent to programs of which nothing runs any more.
async fn recover_lendings(world: &World, adoptable: &run::adopted::Adoptable) -> Result<()> {
    let mut conn = world.store().read().await?;
    for workspace in conn.workspaces().present().await? {
        // Another machine is not waited for here: the task's next step does that.
        if workspace.machine_id.is_some() {
            continue;
        }
        let open = conn.executions().open(Some(std::slice::from_ref(&workspace.task_id))).await?;
        if open.iter().any(|row| adoptable.has(&row.execution.id)) {
            continue;
        }
        let Some(task) = conn.tasks().get(&workspace.task_id).await? else { continue };
        let context = core::contexts::context_of(world, &mut conn, &task).await?;
        // The task's next step tries it again, and its error is seen there.
        let never = CancellationToken::new();
        if let Err(error) = core::confinement::recover_left(world, &context, &workspace, &never).await {
            tracing::error!(task = %task.id, %error, "failed to take back a git directory that was lent");
        }
    }
    Ok(())
}

/// Puts back worktrees that were on their way out when an earlier process was killed.
fn return_withdrawn(world: &World) {
    for folder in workspace::folders::task_folders(&world.inner.config.workspace_root) {
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
fn sweep_trash(world: &World) {
    let root = world.inner.config.workspace_root.clone();
    core::guarded::in_background(world, async move {
        for folder in workspace::folders::task_folders(&root) {
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

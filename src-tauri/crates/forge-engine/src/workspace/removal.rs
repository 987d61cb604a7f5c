//! Removing a worktree. What nobody else holds is kept first.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use forge_git::{Repo, Withdrawn};
use forge_model::event::EventType;
use forge_model::time::Timestamp;
use forge_model::workflow::{CleanupPolicy, State};
use forge_model::workspace::{Workspace, WorkspaceStatus};
use forge_store::table::tasks::TaskRow;
use serde_json::json;

use crate::{
    ConflictCode, EngineError, World,
    core::{
        self,
        context::{ProjectContext, backup_prefix},
        prerequisites::is_done,
        sync::locked,
        world::features::require_idle,
    },
    error::{Result, whole},
    machine,
    workspace::{
        self,
        pool::{Slots, slots_of},
    },
};

/// When a failed removal is tried again at first, and at the longest, in milliseconds.
pub(crate) const RETRY_MS: i64 = 5 * 60 * 1000;

const LONGEST_RETRY_MS: i64 = 6 * 60 * 60 * 1000;

/// Where a worktree goes that is not needed any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goes {
    /// To the finished ones that wait for the next task, if the project keeps such.
    ForReuse,
    /// Away.
    Away,
}

/// How long a worktree is kept once its task is in a state, in milliseconds.
pub(crate) fn cleanup_delay_ms(world: &World, state: &State) -> i64 {
    match &state.cleanup {
        Some(CleanupPolicy::Delayed(delay)) => i64::from(delay.seconds) * 1000,
        Some(CleanupPolicy::Immediate | CleanupPolicy::Keep) => 0,
        None => i64::try_from(world.inner.config.cleanup_delay.as_millis()).unwrap_or(i64::MAX),
    }
}

/// Removes a worktree after keeping what is uncommitted. The inner error is a reason to keep it, which
/// is recorded on the workspace and tried again later.
pub(crate) async fn remove_workspace(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
    workspace: Workspace,
    goes: Goes,
) -> Result<std::result::Result<(), String>> {
    match back_up_and_remove(world, context, task, &workspace, goes).await {
        Ok(pooled) => {
            removed(world, context, task, workspace, pooled).await?;
            Ok(Ok(()))
        }
        Err(error) => kept_for_now(world, task, workspace, whole(&error)).await.map(Err),
    }
}

async fn removed(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
    mut workspace: Workspace,
    pooled: bool,
) -> Result<()> {
    let mut tx = world.store().write().await?;
    if pooled {
        // Its space is not gone: what is told of the whole must not dip in between.
        let mut places = tx.projects().places(&task.project_id).await?;
        places.slots += 1;
        places.slots_bytes += workspace.disk_bytes.unwrap_or_default();
        tx.projects_mut().set_places(&task.project_id, places).await?;
    }
    workspace.status = WorkspaceStatus::Cleaned;
    (workspace.cleanup_at, workspace.error, workspace.disk_bytes) = (None, None, None);
    tx.workspaces_mut().put(&workspace, world.now()).await?;
    let facts = json!({ "kept_for_reuse": pooled });
    world.emit(&mut tx, EventType::WorkspaceCleaned, task, workspace.id.as_str(), &facts).await?;
    tx.commit().await?;
    if let Some(machine) = &workspace.machine_id {
        core::location::left_there::note_last_known(world, &workspace).await;
        core::confinement::forget_transfers(&workspace).await?;
        machine::left_over::clear_up_later(world, machine, &workspace.task_id).await?;
    }
    super::disk::measure_slots_later(world, &context.project.id);
    Ok(())
}

async fn kept_for_now(
    world: &World,
    task: &TaskRow,
    mut workspace: Workspace,
    reason: String,
) -> Result<String> {
    tracing::warn!(task = %task.id, path = %workspace.path, %reason, "worktree is kept for now");
    let mut tx = world.store().write().await?;
    let now = world.now();
    let tries = tx.workspaces_mut().count_try(&workspace.id).await?;
    let again = now.plus_ms(retry_after_ms(tries));
    workspace.status = unless_unfinished(workspace.status, WorkspaceStatus::Error);
    workspace.error = Some(reason.clone());
    workspace.cleanup_at = Some(again);
    tx.workspaces_mut().put(&workspace, now).await?;
    let facts = json!({ "reason": reason, "again_at": again });
    world.emit(&mut tx, EventType::WorkspaceError, task, workspace.id.as_str(), &facts).await?;
    tx.commit().await?;
    plan_cleanup(world, again);
    Ok(reason)
}

/// Says whether the worktree waits for the next task now.
async fn back_up_and_remove(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
    workspace: &Workspace,
    goes: Goes,
) -> Result<bool> {
    let worktree = core::repository::worktree(world, context, workspace).await?;
    let (repo, path) = (worktree.repo(), worktree.path());
    if !path.exists() {
        let _left = core::world::features::leave_worktree(world, workspace).await?;
        // Perhaps removed by a try that did not live to say so.
        worktree.keep_record_of_lost(&backup_prefix(task)).await?;
        repo.forget_worktree(path).await?;
        delete_merged_branch(context, task, repo, workspace).await;
        return Ok(false);
    }
    let _lock = core::worktree_lock::lock_workspace_now(
        world,
        &task.id,
        workspace,
        &format!("cleanup-{}", workspace.id),
    )?;
    let _left = core::world::features::leave_worktree(world, workspace).await?;
    require_nobody_in(path).await?;
    core::location::require_reachable(world, workspace)?;
    if !core::confinement::recover_left(world, context, workspace, &world.inner.shutdown.child_token())
        .await?
    {
        return Err(core::location::stopping());
    }
    super::nested::mend_dot_git(world, context, task, workspace).await?;
    // Only a worktree of this repository can be withdrawn: a `.git` that leads elsewhere would have another repository
    // looked into and written to.
    let mut withdrawn = repo.withdraw_worktree(path).await?;
    world.point("cleanup.withdrawn");
    let message = format!("Backup of task #{} before its worktree was removed", task.number);
    back_up_withdrawn(&withdrawn, &backup_prefix(task), &message).await?;
    world.point("cleanup.backed_up");
    let pooled = match (goes, slots_of(&context.settings)) {
        (Goes::ForReuse, Slots::Kept { most, .. }) => {
            repo.pool_worktree(&mut withdrawn, &workspace::folders::pool_folder(world, context), most).await?
        }
        _ => false,
    };
    if !pooled {
        let trash = repo.remove_worktree(withdrawn).await?;
        core::guarded::in_background(world, async move {
            if let Err(error) = trash.delete().await {
                tracing::warn!(%error, "failed to delete a removed worktree; the next start tries again");
            }
        });
    }
    world.point("cleanup.removed");
    delete_merged_branch(context, task, repo, workspace).await;
    Ok(pooled)
}

/// Keeps what only a worktree that is to go holds, under the next numbers of a prefix: what is uncommitted and the
/// commits that no branch holds. Of one without files that is what is staged, and commits.
pub(crate) async fn back_up_withdrawn(withdrawn: &Withdrawn, prefix: &str, message: &str) -> Result<()> {
    if withdrawn.holds_nothing() {
        withdrawn.worktree().keep_record(prefix).await?;
        return Ok(());
    }
    let backup = withdrawn.worktree().back_up(prefix, message).await?;
    let unsaved = backup.map(|backup| backup.skipped).unwrap_or_default();
    if unsaved.is_empty() {
        return Ok(());
    }
    let message = format!("could not back up these files, move them first: {}", unsaved.join(", "));
    Err(EngineError::conflict(ConflictCode::InUse, message))
}

/// Deletes the branch of a task that is done, when the project asks for it and nothing is lost by it: the
/// target has all of it, and it is checked out nowhere. A failure leaves a branch too many, no more.
async fn delete_merged_branch(context: &ProjectContext, task: &TaskRow, repo: &Repo, workspace: &Workspace) {
    if !context.settings.delete_merged_branches || !is_done(context, task) {
        return;
    }
    let branch = &workspace.branch;
    let deleted = async {
        let Some(tip) = repo.resolve(&format!("refs/heads/{branch}")).await? else { return Ok(false) };
        let target = format!("refs/heads/{}", context.target_branch(task));
        if repo.is_checked_out(branch).await? || !repo.is_contained(&tip, &target).await? {
            return Ok(false);
        }
        repo.delete_branch(branch, &tip).await.map(|()| true)
    };
    match deleted.await {
        Ok(deleted) => {
            tracing::info!(task = %task.id, %branch, deleted, "looked whether a branch may go");
        }
        Err::<_, forge_git::GitError>(error) => {
            tracing::warn!(task = %task.id, %branch, %error, "failed to delete a merged branch");
        }
    }
}

/// Refuses while a program works in a folder that is to go.
pub(crate) async fn require_nobody_in(folder: &Path) -> Result<()> {
    let folder = folder.to_owned();
    let found = tokio::task::spawn_blocking(move || forge_exec::working_in(&folder)).await;
    match found.map_err(|error| EngineError::io("look for running programs")(std::io::Error::other(error)))? {
        Some(process) => {
            let message = format!("{process} is using it: stop it first");
            Err(EngineError::conflict(ConflictCode::InUse, message))
        }
        None => Ok(()),
    }
}

/// The next status of a record. One that was never made ready stays so: whoever needs it makes it to the end.
pub(crate) fn unless_unfinished(now: WorkspaceStatus, next: WorkspaceStatus) -> WorkspaceStatus {
    if now == WorkspaceStatus::Creating { now } else { next }
}

/// How long until a removal that failed so often in a row is tried again.
pub(crate) fn retry_after_ms(tries: u32) -> i64 {
    let doubled = tries.saturating_sub(1).min(16);
    (RETRY_MS << doubled).min(LONGEST_RETRY_MS)
}

/// When a worktree whose delay is not over is looked at again at the latest.
const LONGEST_NAP_MS: i64 = 60 * 60 * 1000;

/// When worktrees are looked at next. A later time waits for nobody: whoever looks then finds when the next one is due.
#[derive(Default)]
struct Planned(Mutex<Option<Timestamp>>);

/// Looks for worktrees whose time has come at `at`, and from then on whenever the next one is due.
pub(crate) fn plan_cleanup(world: &World, at: Timestamp) {
    let planned = world.part::<Planned>();
    {
        let mut next = locked(&planned.0);
        if next.is_some_and(|next| next <= at) {
            return;
        }
        *next = Some(at);
    }
    core::guarded::keep_going(world, move |world| {
        let planned = Arc::clone(&planned);
        async move {
            if !core::sleep::sleep_until(&world, at).await {
                return;
            }
            {
                let mut next = locked(&planned.0);
                // An earlier one was planned since, and has planned what follows.
                if *next != Some(at) {
                    return;
                }
                *next = None;
            }
            match clean_up_due(&world).await {
                Ok(Some(next)) => plan_cleanup(&world, next),
                Ok(None) => {}
                Err(error) => {
                    tracing::error!(%error, "failed to look for worktrees to remove; trying again");
                    plan_cleanup(&world, world.now().plus_ms(RETRY_MS));
                }
            }
        }
    });
}

/// Removes the worktrees that are due; when the next one is. A worktree that cannot be dealt with keeps no other.
async fn clean_up_due(world: &World) -> Result<Option<Timestamp>> {
    let (due, mut next) = {
        let mut conn = world.store().read().await?;
        conn.workspaces().due(world.now()).await?
    };
    for found in due {
        let again = match clean_up_one(world, &found).await {
            Ok(None) => continue,
            Ok(Some(again)) => again,
            Err(error) => {
                let task = &found.task_id;
                tracing::error!(%task, %error, "failed to look at a worktree that is due; trying again");
                world.now().plus_ms(RETRY_MS)
            }
        };
        next = Some(next.map_or(again, |next| next.min(again)));
    }
    Ok(next)
}

/// Removes a worktree that is due, if it still is; when it is to be looked at again, if nothing else plans that.
async fn clean_up_one(world: &World, found: &Workspace) -> Result<Option<Timestamp>> {
    // Before it is held: whoever holds a task cuts short what the task does now.
    let Some(Due { task, workspace, .. }) = still_due(world, found).await? else { return Ok(None) };
    if let Err(busy) = require_idle(world, std::slice::from_ref(&task.id), false).await {
        put_off(world, &task, workspace, whole(&busy)).await?;
        return Ok(None);
    }
    // The task's own steps may be at its worktree, too: one at a time, and on what is there then.
    let _hold = core::workers::hold(world, &found.task_id).await;
    let Some(Due { task, context, state, workspace }) = still_due(world, found).await? else {
        return Ok(None);
    };
    // A removal that was tried before has waited already.
    if workspace.error.is_none()
        && let Some(again) = waits_for_observed_time(world, &state, &workspace, task.status_since).await?
    {
        return Ok(Some(again));
    }
    if let Err(busy) = require_idle(world, std::slice::from_ref(&task.id), false).await {
        put_off(world, &task, workspace, whole(&busy)).await?;
        return Ok(None);
    }
    if let Err(reason) = remove_workspace(world, &context, &task, workspace, Goes::ForReuse).await? {
        tracing::info!(task = %task.id, %reason, "a worktree's removal is tried again later");
    }
    Ok(None)
}

/// A worktree that is due, its closed task, and the state that the task is in.
struct Due {
    task: TaskRow,
    context: Arc<ProjectContext>,
    state: State,
    workspace: Workspace,
}

/// What there is now of a worktree that was found due; none when it is not due any more.
async fn still_due(world: &World, found: &Workspace) -> Result<Option<Due>> {
    let mut conn = world.store().read().await?;
    let Some(task) = conn.tasks().get(&found.task_id).await? else { return Ok(None) };
    let context = core::contexts::context_of(world, &mut conn, &task).await?;
    let is_due = |w: &Workspace| {
        w.id == found.id
            && w.status != WorkspaceStatus::Cleaned
            && w.cleanup_at.is_some_and(|at| at <= world.now())
    };
    let Some(workspace) = conn.workspaces().last(&found.task_id).await?.filter(is_due) else {
        return Ok(None);
    };
    // A task that was opened again needs its worktree.
    let state = context.workflow.state(&task.status).filter(|state| state.is_terminal()).cloned();
    Ok(state.map(|state| Due { task, context, state, workspace }))
}

/// Puts off the removal of a worktree in which something runs for a person. The reason is told with the worktree.
pub(crate) async fn put_off(
    world: &World,
    task: &TaskRow,
    mut workspace: Workspace,
    reason: String,
) -> Result<()> {
    tracing::info!(task = %task.id, %reason, "a worktree's removal is put off");
    let (now, is_told) = (world.now(), workspace.error.as_ref() == Some(&reason));
    let again = now.plus_ms(RETRY_MS);
    workspace.status = unless_unfinished(workspace.status, WorkspaceStatus::Scheduled);
    (workspace.cleanup_at, workspace.error) = (Some(again), Some(reason));
    let mut tx = world.store().write().await?;
    tx.workspaces_mut().put(&workspace, now).await?;
    if !is_told {
        let facts = json!({ "cleanup_at": again });
        world.emit(&mut tx, EventType::TaskUpdated, task, workspace.id.as_str(), &facts).await?;
    }
    tx.commit().await?;
    plan_cleanup(world, again);
    Ok(())
}

/// When a worktree is to be looked at again that is due by the wall clock, but whose delay has not passed by the time
/// that was observed: the wall clock has jumped.
async fn waits_for_observed_time(
    world: &World,
    state: &State,
    workspace: &Workspace,
    closed: Timestamp,
) -> Result<Option<Timestamp>> {
    // What was planned counts where the setting was changed since.
    let planned = workspace.cleanup_at.map(|due| due.since(closed).max(0));
    let delay = cleanup_delay_ms(world, state).min(planned.unwrap_or(i64::MAX));
    // Both clocks drift apart a little.
    let drift = delay / 100 + 1000;
    let left = match core::observed_time::observed_age(world, closed).await? {
        Some(age) => delay - drift - age,
        None => delay,
    };
    Ok((left > 0).then(|| world.now().plus_ms(left.clamp(1000, LONGEST_NAP_MS))))
}

#[cfg(test)]
mod tests {
    use super::retry_after_ms;

    #[test]
    fn a_failed_removal_is_tried_again_later_and_later() {
        let minutes = |tries| retry_after_ms(tries) / 60_000;
        let waits: Vec<i64> = (1..=9).map(minutes).collect();
        assert_eq!(waits, [5, 10, 20, 40, 80, 160, 320, 360, 360]);
        assert_eq!(minutes(u32::MAX), 360);
    }
}

//! Resetting a task's worktree, and restoring what was kept of earlier ones.

use std::path::Path;

use forge_git::Repo;
use forge_model::actor::{Actor, Cause};
use forge_model::event::EventType;
use forge_model::ids::TaskId;
use forge_model::offer::Verb;
use forge_model::task::AnnotationType;
use forge_model::workspace::{Workspace, WorkspaceStatus};
use forge_store::Tx;
use forge_store::table::tasks::TaskRow;
use serde_json::Value;

use crate::{
    ConflictCode, EngineError, World,
    core::{
        self,
        block_reason::BlockReason,
        context::{ProjectContext, backup_prefix, task_branch},
        lineage::is_ordered,
        moves::Move,
        prerequisites::is_done,
        retry_budget,
        world::{cx::Cx, features::require_idle},
    },
    error::Result,
    read::view::offers_of,
    run, trust,
    workspace::{self, removal::Goes},
};

/// A fresh worktree from the default branch. What was there is kept: uncommitted content and the old
/// branch as backup refs. The task stays blocked until a person starts it.
pub(crate) async fn reset_workspace(
    world: &World,
    actor: Actor,
    id: &TaskId,
    end_terminals: bool,
) -> Result<Workspace> {
    require_reset_offered(world, id).await?;
    require_idle(world, std::slice::from_ref(id), end_terminals).await?;
    core::location::require_machine_of(world, id).await?;
    let _hold = core::workers::hold(world, id).await;
    require_idle(world, std::slice::from_ref(id), end_terminals).await?;
    run::running::stop_run(world, id).await;
    require_reset_offered(world, id).await?;
    let (task, context, old) = {
        let mut conn = world.store().read().await?;
        let (task, context) = core::load::load_own(world, &mut conn, id, None).await?;
        let old = conn.workspaces().last(id).await?;
        (task, context, old)
    };
    let repo = core::repository::repo(world, &context).await?;
    set_work_aside(world, &repo, &context, &task).await?;
    let mut tx = world.store().write().await?;
    if let Some(old) = &old {
        tx.workspaces_mut().delete(&old.id).await?;
    }
    tx.commit().await?;
    world.point("reset.forgotten");
    let workspace = workspace::fresh_workspace(world, &repo, &context, &task).await?;
    world.point("reset.made");
    let mut tx = world.store().write().await?;
    let (mut task, context) = core::load::load_own(world, &mut tx, id, None).await?;
    task.review_passed_at = None;
    forget_work(world, &mut tx, &context, &mut task).await?;
    retry_budget::start_over(&mut tx, &mut task).await?;
    let trouble =
        BlockReason::new(AnnotationType::Manual, "The workspace was reset. Claim the task to start.");
    let annotation = trouble.annotation(&task.status, world.now());
    let is_blocked = context.workflow.blocked().is_some_and(|state| state.name == task.status);
    if is_blocked {
        task.error_annotation = Some(annotation);
        tx.tasks_mut().update(&mut task, world.now()).await?;
        world.emit(&mut tx, EventType::TaskUpdated, &task, id.as_str(), &Value::Null).await?;
    } else if let Some(blocked) = context.workflow.blocked().map(|state| state.name.clone()) {
        let mut mv = Move::by(&blocked, "reset", actor);
        mv.annotation = Some(annotation);
        core::transition::apply(world, &mut tx, &context, &mut task, mv).await?;
    }
    tx.commit().await?;
    workspace::unmerged::count_unmerged(world, id).await;
    Ok(workspace)
}

/// A task's backups, newest last.
pub(crate) async fn backups(
    world: &World,
    id: &TaskId,
) -> Result<Vec<forge_model::workspace::WorkspaceBackup>> {
    let (task, context) = {
        let mut conn = world.store().read().await?;
        core::load::load_own(world, &mut conn, id, None).await?
    };
    let backups = core::repository::repo(world, &context).await?.backups(&backup_prefix(&task)).await?;
    Ok(backups
        .into_iter()
        .map(|backup| forge_model::workspace::WorkspaceBackup {
            task_id: id.clone(),
            ref_name: backup.ref_name,
            commit: backup.commit,
            files: backup.files,
            at: forge_model::time::Timestamp(backup.at_ms),
        })
        .collect())
}

/// Puts a backup's content back into the worktree as uncommitted changes: one of the task's own, or of a folder of the
/// project that belonged to no task.
pub(crate) async fn restore_backup(world: &World, id: &TaskId, commit: &str) -> Result<()> {
    let (context, workspace) = {
        let mut conn = world.store().read().await?;
        let (_, context) = core::load::load_own(world, &mut conn, id, None).await?;
        (context, conn.workspaces().last(id).await?)
    };
    let mut known = backups(world, id).await?;
    known.extend(workspace::backups::folder_backups(world, &context.project.id).await?);
    if !known.iter().any(|backup| backup.commit == commit) {
        return Err(EngineError::not_found("backup", commit));
    }
    let workspace = workspace.filter(|w| Path::new(&w.path).is_dir());
    let workspace = workspace.ok_or_else(|| {
        EngineError::conflict(ConflictCode::WorkspaceMissing, "the task has no worktree to restore into")
    })?;
    let _lock =
        core::worktree_lock::lock_workspace_now(world, id, &workspace, &format!("restore-{}", workspace.id))?;
    let worktree = core::repository::worktree(world, &context, &workspace).await?;
    let restored = worktree.restore_backup(commit).await;
    trust::accepted::keep_own_changes(world, &context, worktree.repo()).await?;
    match restored {
        Err(forge_git::GitError::RestoreInTheWay { files }) => Err(EngineError::Conflict {
            code: ConflictCode::BackupInTheWay,
            message: format!("local changes are in the way: {}", files.join(", ")),
            details: serde_json::json!({ "files": files }),
        }),
        other => Ok(other?),
    }
}

/// Removes a task's worktree and branch. What they held is kept: uncommitted content and the branch's commits as
/// backup refs. Done again after a kill, it finds what is done.
pub(crate) async fn set_work_aside(
    world: &World,
    repo: &Repo,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<()> {
    let old = world.store().read().await?.workspaces().last(&task.id).await?;
    if let Some(old) = old.filter(|w| w.status != WorkspaceStatus::Cleaned)
        && let Err(reason) =
            workspace::removal::remove_workspace(world, context, task, old, Goes::Away).await?
    {
        return Err(EngineError::conflict(
            ConflictCode::InUse,
            format!("could not remove the old worktree: {reason}"),
        ));
    }
    world.point("reset.removed");
    let branch = task_branch(task);
    if let Some(tip) = repo.resolve(&format!("refs/heads/{branch}")).await? {
        repo.next_number(&backup_prefix(task), &tip).await?;
        repo.delete_branch(&branch, &tip).await?;
    }
    Ok(())
}

/// Forgets what only the work that was set aside had: its size, its fixes, the race that it came from, and that
/// ordered subtasks are done in it.
pub(crate) async fn forget_work(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
) -> Result<()> {
    task.diff_stat = None;
    for tell in &world.features().moments.on_work_set_aside {
        tell(&mut Cx::of(world, tx), task).await?;
    }
    let Some(initial) = context.workflow.initial().map(|initial| initial.name.clone()) else {
        return Ok(());
    };
    for mut part in tx.tasks().children(&task.id).await? {
        if is_ordered(&part) && is_done(context, &part) {
            let mv = Move::by(&initial, "restart", Actor::System { cause: Cause::Workflow });
            core::transition::apply(world, tx, context, &mut part, mv).await?;
        }
    }
    Ok(())
}

/// Refuses while nothing is wrong that a fresh worktree would mend.
async fn require_reset_offered(world: &World, id: &TaskId) -> Result<()> {
    let mut conn = world.store().read().await?;
    let (task, context) = core::load::load_own(world, &mut conn, id, None).await?;
    let mut held = conn.roles().of_tasks(std::slice::from_ref(id)).await?;
    let offers = offers_of(&context, &task, &held.remove(id).unwrap_or_default());
    if offers.iter().any(|offer| offer.verb == Verb::ResetWorkspace) {
        return Ok(());
    }
    Err(EngineError::NotOffered { verb: Verb::ResetWorkspace.to_string(), offers })
}

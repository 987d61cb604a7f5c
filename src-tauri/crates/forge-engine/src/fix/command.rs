//! What people and reviewers do with drafted fixes: apply, roll back, reject.
//!
//! Applying is a commit on the task's branch whose name is recorded before the branch moves, so that a kill leaves
//! either nothing or something that the next start recognises. A durable step runs the failed check again.

use forge_model::review::Review;
use std::path::Path;

use forge_git::{GitError, Landing, Way};
use forge_model::actor::Actor;
use forge_model::event::EventType;
use forge_model::execution::{Execution, ExecutionRole};
use forge_model::fix::{FixProposal, FixStatus, Fixes};
use forge_model::ids::{ProjectId, TaskId};
use forge_model::review::ReviewStatus;
use forge_model::transition::StepKind;
use forge_model::workspace::{Workspace, WorkspaceStatus};
use forge_store::Tx;
use forge_store::table::{steps::StepRow, tasks::TaskRow};
use serde_json::json;

use crate::{
    ConflictCode, EngineError, World,
    core::{self, context::ProjectContext, worktree_lock::WorkspaceHold, world::cx::Cx},
    error::Result,
    fix::proposal::{FORGE, export_fixes, is_half_applied, write_fix},
    guarded, review,
};

/// What a fix is done to.
pub(crate) struct Fixing<'f> {
    pub context: &'f ProjectContext,
    pub task: &'f TaskRow,
    pub workspace: &'f Workspace,
}

/// What was drafted for a task.
pub(crate) async fn fixes(world: &World, id: &TaskId) -> Result<Fixes> {
    // Somebody may have changed the file by hand since.
    super::superseded::supersede_fixes(world, id).await;
    let mut conn = world.store().read().await?;
    core::load::load(world, &mut conn, id, None).await?;
    Ok(Fixes { proposals: conn.fixes().of_task(id).await?, drafts: conn.fixes().drafts_of(id).await? })
}

/// The proposals of a project, oldest first.
pub(crate) async fn fixes_of_project(world: &World, id: &ProjectId) -> Result<Vec<FixProposal>> {
    let mut conn = world.store().read().await?;
    core::contexts::context(world, &mut conn, id).await?;
    Ok(conn.fixes().of_project(id).await?)
}

/// The task that a fix was drafted for. Tasks whose files were the same when the same was drafted share its name.
pub(crate) async fn task_of_fix(world: &World, fix: &str, task: Option<&TaskId>) -> Result<TaskId> {
    let tasks = world.store().read().await?.fixes().tasks_of(fix).await?;
    match tasks.as_slice() {
        all if task.is_some() => {
            all.iter().find(|id| Some(*id) == task).cloned().ok_or_else(|| EngineError::not_found("fix", fix))
        }
        [] => Err(EngineError::not_found("fix", fix)),
        [only] => Ok(only.clone()),
        several => {
            let names: Vec<&str> = several.iter().map(TaskId::as_str).collect();
            let message = format!("several tasks have this fix: choose one of {}", names.join(", "));
            Err(EngineError::invalid("task_id", message))
        }
    }
}

/// Applies a drafted fix as a commit of its own and has the failing step run again: green, it is verified; else it is
/// rolled back by itself. A fix of an entry of a race that nobody won makes that entry the winner first. What a reviewer at work on the task asks for is applied once they have sent the work back: the
/// files stay as they are while somebody judges them.
pub(crate) async fn apply_fix(world: &World, actor: Actor, id: &TaskId, fix: &str) -> Result<FixProposal> {
    if let Some(wanted) = want_fix(world, &actor, id, fix).await? {
        return Ok(wanted);
    }
    for take in &world.features().moments.takes_fix {
        if let Some(taken) = take(world, &actor, id, fix).await? {
            return Ok(taken);
        }
    }
    let (task, context, workspace, fix, _lock) = take_up(world, id, fix, &[FixStatus::Drafted]).await?;
    let of = Fixing { context: &context, task: &task, workspace: &workspace };
    let fix = land_fix(world, &of, fix, actor, true).await?;
    review::look_at_changed_work(world, id).await?;
    core::workers::kick(world, id);
    Ok(fix)
}

/// Takes an applied fix back by a commit of its own.
pub(crate) async fn rollback_fix(world: &World, actor: Actor, id: &TaskId, fix: &str) -> Result<FixProposal> {
    let statuses = [FixStatus::Applied, FixStatus::Verified];
    let (task, context, workspace, fix, _lock) = take_up(world, id, fix, &statuses).await?;
    let of = Fixing { context: &context, task: &task, workspace: &workspace };
    let fix = take_back_fix(world, &of, fix, Some(actor), "rolled back by a person").await?;
    review::look_at_changed_work(world, id).await?;
    Ok(fix)
}

/// Puts a drafted fix aside.
pub(crate) async fn reject_fix(world: &World, actor: Actor, id: &TaskId, fix: &str) -> Result<FixProposal> {
    let mut tx = world.store().write().await?;
    let (task, context) = core::load::load_own(world, &mut tx, id, None).await?;
    let mut fix = tx.fixes().get(id, fix).await?.ok_or_else(|| EngineError::not_found("fix", fix))?;
    require(&fix, &[FixStatus::Drafted])?;
    fix.decided_by = Some(actor);
    write_fix(&mut Cx::of(world, &mut tx), &task, &mut fix, FixStatus::Rejected).await?;
    tx.commit().await?;
    export_fixes(world, &context, None).await;
    Ok(fix)
}

/// Writes down that the reviewer of a task asks for a fix; nothing when the one who asks is not judging it now.
async fn want_fix(world: &World, actor: &Actor, id: &TaskId, fix: &str) -> Result<Option<FixProposal>> {
    let Actor::Agent { id: agent } = actor else { return Ok(None) };
    let mut tx = world.store().write().await?;
    let (task, _) = core::load::load_own(world, &mut tx, id, None).await?;
    let open = tx.executions().open(Some(std::slice::from_ref(id))).await?;
    let judges = |run: &Execution| run.role == ExecutionRole::Reviewer && run.agent_id == *agent;
    if !open.iter().any(|row| judges(&row.execution)) {
        return Ok(None);
    }
    let found = tx.fixes().get(id, fix).await?;
    let mut fix = found.ok_or_else(|| EngineError::not_found("fix", fix))?;
    require(&fix, &[FixStatus::Drafted])?;
    (fix.wanted_by, fix.updated_at) = (Some(actor.clone()), world.now());
    tx.fixes_mut().update(&fix).await?;
    world.emit(&mut tx, EventType::TaskUpdated, &task, &fix.fix_id, &json!({ "fix_id": fix.fix_id })).await?;
    tx.commit().await?;
    Ok(Some(fix))
}

/// Everything that changing the branch of a task needs, when nobody else is at it and the fix is in one of the
/// `statuses`: what was decided is told first, since waiting would not help.
async fn take_up(
    world: &World,
    id: &TaskId,
    fix: &str,
    statuses: &[FixStatus],
) -> Result<(TaskRow, std::sync::Arc<ProjectContext>, Workspace, FixProposal, WorkspaceHold)> {
    let mut conn = world.store().read().await?;
    let (task, context) = core::load::load_own(world, &mut conn, id, None).await?;
    let found = conn.fixes().get(id, fix).await?;
    let found = found.ok_or_else(|| EngineError::not_found("fix", fix))?;
    require(&found, statuses)?;
    let workspace = conn.workspaces().last(id).await?;
    let present = workspace.filter(|it| it.status == WorkspaceStatus::Active && Path::new(&it.path).is_dir());
    let Some(workspace) = present else {
        return Err(EngineError::conflict(
            ConflictCode::WorkspaceMissing,
            "the task has no worktree to change",
        ));
    };
    let runs = !conn.executions().open(Some(std::slice::from_ref(id))).await?.is_empty();
    if runs || conn.steps().any_open(id).await? {
        return Err(blocked("the task is in progress: wait until it finishes, or stop it first"));
    }
    let review = conn.reviews().last(id).await?;
    let undecided = |status| matches!(status, ReviewStatus::Running | ReviewStatus::AwaitingHuman);
    if review.is_some_and(|review| undecided(review.status)) {
        return Err(blocked("a review is open: send the task back first"));
    }
    drop(conn);
    let holder = format!("fix-{}", found.fix_id.get(..10).unwrap_or(&found.fix_id));
    let lock = core::worktree_lock::lock_workspace_now(world, id, &workspace, &holder)?;
    Ok((task, context, workspace, found, lock))
}

/// Applies a fix on the task's branch. The caller has the worktree's lock. After a panic it is seen what came of it.
pub(crate) async fn land_fix(
    world: &World,
    of: &Fixing<'_>,
    fix: FixProposal,
    actor: Actor,
    verify: bool,
) -> Result<FixProposal> {
    let panic = match guarded(intend_and_land(world, of, fix.clone(), actor, verify)).await {
        Ok(landed) => return landed,
        Err(panic) => panic,
    };
    let stored = async || world.store().read().await?.fixes().get(&fix.task_id, &fix.fix_id).await;
    if let Some(half) = stored().await?.filter(is_half_applied) {
        recover_half_applied(world, &half).await?;
    }
    let settled = stored().await?.filter(|fix| fix.status == FixStatus::Applied);
    settled.ok_or(EngineError::Panicked(panic))
}

async fn intend_and_land(
    world: &World,
    of: &Fixing<'_>,
    mut fix: FixProposal,
    actor: Actor,
    verify: bool,
) -> Result<FixProposal> {
    let repo = core::repository::repo(world, of.context).await?;
    let head = head_of(world, of).await?;
    let path = file_of(&fix)?;
    if repo.version_at(&head, &path).await? != repo.version_at(&fix.base_commit, &path).await? {
        super::superseded::supersede(world, of.context, of.task, &fix.fix_id, None).await?;
        let message = format!("{path} changed since the fix was drafted");
        return Err(EngineError::conflict(ConflictCode::FixOutdated, message));
    }
    let message = format!("Fix `{}` in {path}\n\nDrafted fix {}", fix.gate.command, fix.fix_id);
    let commit = repo.patched(&head, &path, (&fix.patch, Way::Forward), &message, FORGE).await;
    if matches!(commit, Err(GitError::PatchRefused { .. })) {
        super::superseded::supersede(world, of.context, of.task, &fix.fix_id, None).await?;
    }
    let commit = commit.map_err(refusal)?;
    fix.applied_commit = Some(commit.clone());
    let mut tx = world.store().write().await?;
    let stored = tx.fixes().get(&fix.task_id, &fix.fix_id).await?;
    let stored = stored.ok_or_else(|| EngineError::not_found("fix", &fix.fix_id))?;
    require(&stored, &[FixStatus::Drafted])?;
    tx.fixes_mut().update(&fix).await?;
    tx.commit().await?;
    world.point("fix.intended");
    if let Err(error) = land_on(world, of, &commit, &head).await {
        fix.applied_commit = None;
        let mut tx = world.store().write().await?;
        tx.fixes_mut().update(&fix).await?;
        tx.commit().await?;
        return Err(error);
    }
    world.point("fix.landed");
    let mut tx = world.store().write().await?;
    fix.decided_by = Some(actor);
    write_fix(&mut Cx::of(world, &mut tx), of.task, &mut fix, FixStatus::Applied).await?;
    if verify {
        queue_verification(&mut tx, of.task, &fix).await?;
    }
    tx.commit().await?;
    export_fixes(world, of.context, None).await;
    Ok(fix)
}

/// Takes an applied fix back. The caller has the worktree's lock. Done again after a kill, it finds it done.
pub(crate) async fn take_back_fix(
    world: &World,
    of: &Fixing<'_>,
    mut fix: FixProposal,
    actor: Option<Actor>,
    reason: &str,
) -> Result<FixProposal> {
    let repo = core::repository::repo(world, of.context).await?;
    let head = head_of(world, of).await?;
    let path = file_of(&fix)?;
    let Some(applied) = fix.applied_commit.clone() else {
        return Err(EngineError::conflict(ConflictCode::FixDecided, "the fix was not applied"));
    };
    let now = repo.version_at(&head, &path).await?;
    if now == repo.version_at(&applied, &path).await? {
        let message = format!("Roll back a fix in {path}\n\nDrafted fix {}: {reason}", fix.fix_id);
        let commit = repo.patched(&head, &path, (&fix.patch, Way::Back), &message, FORGE).await;
        land_on(world, of, &commit.map_err(refusal)?, &head).await?;
    } else if now != repo.version_at(&fix.base_commit, &path).await? {
        let message = format!("{path} changed since the fix was applied");
        return Err(EngineError::conflict(ConflictCode::FixOutdated, message));
    }
    world.point("fix.taken_back");
    let mut tx = world.store().write().await?;
    fix.decided_by = actor.or(fix.decided_by);
    fix.reason = Some(reason.to_owned());
    write_fix(&mut Cx::of(world, &mut tx), of.task, &mut fix, FixStatus::RolledBack).await?;
    tx.commit().await?;
    export_fixes(world, of.context, None).await;
    Ok(fix)
}

/// The commit of the task's branch, which its worktree must be on.
async fn head_of(world: &World, of: &Fixing<'_>) -> Result<String> {
    let worktree = core::repository::worktree(world, of.context, of.workspace).await?;
    let head = worktree.head().await?;
    let branch = worktree.repo().resolve(&format!("refs/heads/{}", of.workspace.branch)).await?;
    if branch.as_ref() == Some(&head) {
        return Ok(head);
    }
    Err(blocked(&format!("the worktree is not on {}", of.workspace.branch)))
}

async fn land_on(world: &World, of: &Fixing<'_>, commit: &str, head: &str) -> Result<()> {
    let repo = core::repository::repo(world, of.context).await?;
    match repo.land(&of.workspace.branch, commit, head, "forge: a drafted fix").await? {
        Landing::Landed => Ok(()),
        Landing::CheckoutInTheWay { files, .. } if files.is_empty() => {
            Err(blocked("a git operation is in progress in the worktree"))
        }
        Landing::CheckoutInTheWay { files, .. } => {
            Err(blocked(&format!("uncommitted changes are in the way: {}", files.join(", "))))
        }
        Landing::Moved { .. } => Err(blocked("the task's branch changed meanwhile: try again")),
        Landing::IndexLocked { path, .. } => Err(blocked(&format!("{} is locked", path.display()))),
    }
}

/// Queues that the failing step is run again.
pub(crate) async fn queue_verification(tx: &mut Tx, task: &TaskRow, fix: &FixProposal) -> Result<()> {
    let mut step = StepRow::pending(&task.id, &task.status, StepKind::VerifyFix, "fix");
    step.params = Some(json!({ "fix_id": fix.fix_id }));
    step.transition_seq = tx.transitions().last(&task.id).await?.map(|last| last.seq);
    Ok(tx.steps_mut().insert(&mut step).await?)
}

fn require(fix: &FixProposal, statuses: &[FixStatus]) -> Result<()> {
    if statuses.contains(&fix.status) {
        return Ok(());
    }
    let why = fix.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    let status = fix.status.as_str().replace('_', " ");
    Err(EngineError::conflict(ConflictCode::FixDecided, format!("the fix is {status}{why}")))
}

fn blocked(message: &str) -> EngineError {
    EngineError::conflict(ConflictCode::FixBlocked, message)
}

fn refusal(error: GitError) -> EngineError {
    match error {
        GitError::PatchRefused { reason } => {
            EngineError::conflict(ConflictCode::FixOutdated, format!("the patch does not apply: {reason}"))
        }
        other => other.into(),
    }
}

fn file_of(fix: &FixProposal) -> Result<String> {
    fix.files.first().cloned().ok_or_else(|| EngineError::not_found("file of fix", &fix.fix_id))
}

/// Sees whether a fix that was about to be applied is, and writes it down.
pub(crate) async fn recover_half_applied(world: &World, fix: &FixProposal) -> Result<()> {
    let (task, context, workspace, reviewing) = {
        let mut conn = world.store().read().await?;
        let (task, context) = core::load::load(world, &mut conn, &fix.task_id, None).await?;
        let workspace = conn.workspaces().last(&task.id).await?;
        let review = conn.reviews().last(&task.id).await?;
        let of_it = |it: &Review| it.id == fix.review_id && it.status == ReviewStatus::Running;
        (task, context, workspace, review.is_some_and(|review| of_it(&review)))
    };
    let present = workspace.filter(|it| it.status == WorkspaceStatus::Active && Path::new(&it.path).is_dir());
    let landed = match (&present, &fix.applied_commit) {
        (Some(workspace), Some(commit)) => {
            let worktree = core::repository::worktree(world, &context, workspace).await?;
            let head = worktree.head().await?;
            worktree.repo().is_ancestor(commit, &head).await?
        }
        _ => false,
    };
    let mut tx = world.store().write().await?;
    let Some(mut fix) = tx.fixes().get(&fix.task_id, &fix.fix_id).await? else { return Ok(()) };
    if landed {
        // The review that applied it, or has it applied for its reviewer, runs the check again by itself.
        if !reviewing && fix.wanted_by.is_none() {
            queue_verification(&mut tx, &task, &fix).await?;
        }
        write_fix(&mut Cx::of(world, &mut tx), &task, &mut fix, FixStatus::Applied).await?;
    } else {
        fix.applied_commit = None;
        tx.fixes_mut().update(&fix).await?;
    }
    tx.commit().await?;
    export_fixes(world, &context, None).await;
    Ok(())
}

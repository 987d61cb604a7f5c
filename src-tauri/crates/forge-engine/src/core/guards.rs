//! `before_exit` guards: asked before anything is written, so a refusal changes nothing.

use std::path::Path;

use forge_model::actor::{Actor, Cause};
use forge_model::event::EventType;
use forge_model::ids::TaskId;
use forge_model::task::AnnotationType;
use forge_model::words::counted;
use forge_model::workflow::{Action, Audience, Hook, OnFailure, StateKind};
use forge_model::workspace::WorkspaceStatus;
use forge_store::table::{dependencies, tasks, tasks::TaskRow, workspaces};
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use crate::{
    Engine, EngineError,
    core::{
        context::ProjectContext,
        transition::{Carry, Move, Trouble},
    },
    error::Result,
    run::plan::read_plan,
    subtask::open_parts,
};

/// How far the time of a file may lie behind the clock: file systems take it from the kernel's last tick.
const CLOCK_GRAIN_MS: i64 = 50;

/// Where a guard sends a task that it does not let go where it was to.
#[derive(Debug, Clone)]
pub(crate) struct Aside {
    to: String,
    reason: String,
}

impl Aside {
    /// The move that is made instead: the first cascade of the one that was refused.
    pub(crate) fn instead_of(self, refused: &Move) -> Move {
        let mut mv = refused.clone();
        mv.to = self.to;
        mv.trigger = "cascade".to_owned();
        mv.actor = Actor::System { cause: Cause::Workflow };
        mv.depth = refused.depth + 1;
        mv.reason = Some(self.reason);
        (mv.rejection, mv.position, mv.undo_until) = (false, None, None);
        Move { carry: Carry::default(), annotation: None, ..mv }
    }
}

/// Asks the guards of the state that is about to be left. One of them may send the task elsewhere.
///
/// # Errors
/// `GuardRejected` by the first one that refuses.
pub(crate) async fn ask_guards(
    engine: &Engine,
    context: &ProjectContext,
    task: &TaskRow,
    audience: Audience,
) -> Result<Option<Aside>> {
    let Some(state) = context.workflow.state(&task.status) else { return Ok(None) };
    for hook in state.hooks.before_exit.iter().filter(|hook| is_asked(hook, audience)) {
        let Some((reason, details)) = objection(engine, context, task, hook.action).await? else { continue };
        let policy = hook.on_failure.clone().unwrap_or(OnFailure::Block);
        let facts = json!({ "action": hook.action, "reason": reason, "policy": policy });
        let mut tx = engine.store().write().await?;
        engine.emit(&mut tx, EventType::TransitionGuardRejected, task, task.id.as_str(), &facts).await?;
        tx.commit().await?;
        match policy {
            OnFailure::Log => {}
            OnFailure::Block => {
                return Err(EngineError::GuardRejected { action: hook.action, reason, details });
            }
            OnFailure::Cascade(to) => {
                return Ok(Some(Aside { to, reason: format!("{}: {reason}", hook.action) }));
            }
        }
    }
    Ok(None)
}

async fn objection(
    engine: &Engine,
    context: &ProjectContext,
    task: &TaskRow,
    guard: Action,
) -> Result<Option<(String, Value)>> {
    match guard {
        Action::DependencyGate => ask_prerequisites(engine, context, task).await,
        Action::SubtaskSequenceComplete => open_ordered_children(engine, context, task).await,
        Action::RequireCleanWorktree => uncommitted(engine, context, task).await,
        Action::RequireNoConflictMarkers => markers(engine, context, task).await,
        Action::RequirePlanComplete => missing_plan(engine, task).await,
        // The definition's validation keeps every other action out of this phase.
        Action::RunBeforeWorkHooks
        | Action::RunCiSteps
        | Action::DispatchRoleAgent
        | Action::RunMerge
        | Action::CheckRetryBudget
        | Action::AutoCascadeOnReviewPass
        | Action::AutoCascadeOnUnassignedRole
        | Action::AutoCascadeOnMergeResult
        | Action::CleanupWorkspaceNow
        | Action::ScheduleWorkspaceCleanup
        | Action::SatisfyDependents
        | Action::PropagateDoneToSubtasks
        | Action::CancelPendingSubtasks
        | Action::PublishTaskBlocked
        | Action::KnowledgeInject
        | Action::KnowledgeCapture => Ok(None),
    }
}

async fn ask_prerequisites(
    engine: &Engine,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<Option<(String, Value)>> {
    let mut conn = engine.store().read().await?;
    let open = open_prerequisites(&mut conn, context, &task.id).await?;
    Ok((!open.is_empty()).then(|| {
        let ids: Vec<&str> = open.iter().map(|task| task.id.as_str()).collect();
        (format!("waits for {}", named(&open)), json!({ "open": ids }))
    }))
}

async fn open_ordered_children(
    engine: &Engine,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<Option<(String, Value)>> {
    let mut conn = engine.store().read().await?;
    let open = open_parts(&mut conn, context, &task.id).await?;
    Ok((!open.is_empty()).then(|| {
        let ids: Vec<&str> = open.iter().map(|task| task.id.as_str()).collect();
        (
            format!("ordered subtasks are open: {}", named(&open)),
            json!({ "code": "SUBTASK_SEQUENCE_NOT_COMPLETE", "open": ids }),
        )
    }))
}

async fn uncommitted(
    engine: &Engine,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<Option<(String, Value)>> {
    let Some(workspace) = active_workspace(engine, task).await? else { return Ok(None) };
    let status = super::context::repo(engine, context).await?.status(Path::new(&workspace.path)).await?;
    Ok((!status.is_empty()).then(|| {
        let paths: Vec<&str> = status.iter().map(|entry| entry.path.as_str()).collect();
        let said = counted(paths.len() as u64, "file is not committed", "files are not committed");
        (said, json!({ "files": paths }))
    }))
}

async fn markers(
    engine: &Engine,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<Option<(String, Value)>> {
    let Some(workspace) = active_workspace(engine, task).await? else { return Ok(None) };
    let repo = super::context::repo(engine, context).await?;
    let worktree = Path::new(&workspace.path);
    let changed = repo.changed_paths(worktree, &workspace.base_commit).await?;
    let marked = repo.conflict_markers(worktree, &changed).await?;
    Ok((!marked.is_empty())
        .then(|| (format!("conflict markers are left in {}", marked.join(", ")), json!({ "files": marked }))))
}

/// A plan says something, and was written since the task came to where plans are made.
pub(crate) async fn missing_plan(engine: &Engine, task: &TaskRow) -> Result<Option<(String, Value)>> {
    let last = {
        let mut conn = engine.store().read().await?;
        workspaces::last(&mut conn, &task.id).await?
    };
    let none = || Some(("no plan has been written".to_owned(), json!({ "written_at": null })));
    let Some(workspace) = last else { return Ok(none()) };
    if read_plan(&workspace).await?.is_none() {
        return Ok(none());
    }
    let written_at = engine.plan(&task.id).await?.written_at;
    Ok(written_at.filter(|at| task.status_since.since(*at) > CLOCK_GRAIN_MS).map(|at| {
        let reason = "the plan is from before the task came here: write it anew".to_owned();
        (reason, json!({ "written_at": at, "since": task.status_since }))
    }))
}

async fn active_workspace(
    engine: &Engine,
    task: &TaskRow,
) -> Result<Option<forge_model::workspace::Workspace>> {
    let mut conn = engine.store().read().await?;
    let last = workspaces::last(&mut conn, &task.id).await?;
    Ok(last.filter(|w| w.status == WorkspaceStatus::Active && Path::new(&w.path).is_dir()))
}

/// Whether a guard answers to moves of this audience.
pub(crate) fn is_asked(hook: &Hook, audience: Audience) -> bool {
    hook.applies_to == Audience::All || hook.applies_to == audience
}

/// Whether a task reached a terminal state other than the cancellation.
pub(crate) fn is_done(context: &ProjectContext, task: &TaskRow) -> bool {
    is_done_state(context, &task.status)
}

/// Whether a state is terminal and not the cancellation.
pub(crate) fn is_done_state(context: &ProjectContext, state: &str) -> bool {
    context.workflow.state(state).is_some_and(|state| {
        state.kind == StateKind::Terminal && state.name != context.workflow.cancellation_state
    })
}

/// What must be done before a task and is not; a cancelled prerequisite is not done either.
pub(crate) async fn open_prerequisites(
    conn: &mut SqliteConnection,
    context: &ProjectContext,
    task: &TaskId,
) -> Result<Vec<TaskRow>> {
    let mut open = Vec::new();
    for id in dependencies::of(conn, task).await? {
        if let Some(other) = tasks::get(conn, &id).await?
            && !is_done(context, &other)
        {
            open.push(other);
        }
    }
    Ok(open)
}

/// Why a task cannot start whose prerequisite was cancelled.
pub(crate) fn prerequisite_cancelled(prerequisite: &TaskRow) -> Trouble {
    let message = format!(
        "#{} {}, which must be done before it, was cancelled",
        prerequisite.number, prerequisite.title
    );
    let details = json!({ "prerequisite": prerequisite.id, "number": prerequisite.number });
    Trouble { details, ..Trouble::new(AnnotationType::DependencyCancelled, message) }
}

/// Tasks as people call them.
pub(crate) fn named(tasks: &[TaskRow]) -> String {
    tasks.iter().map(|task| format!("#{} {}", task.number, task.title)).collect::<Vec<_>>().join(", ")
}

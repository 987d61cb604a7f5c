//! The commits between which a diff is shown, and the paths that may be asked of it.

use forge_model::review::Review;
use forge_model::workflow::StateKind;
use std::path::Path;

use forge_git::{DiffScope, Repo, guard};
use forge_model::execution::{Execution, ExecutionRole};
use forge_model::ids::TaskId;
use forge_model::notification::Notification;
use forge_model::race::RaceEntry;
use forge_model::workspace::{Workspace, WorkspaceStatus};
use forge_store::ReadConnection;
use forge_store::table::tasks::TaskRow;

use crate::{
    ConflictCode, EngineError, World,
    core::{
        self,
        context::ProjectContext,
        lineage::is_entry,
        live::{Freshness, Seen},
    },
    error::Result,
};

/// What a diff is taken of.
pub(crate) struct Scoped {
    pub repo: Repo,
    pub scope: DiffScope,
    /// What is known of files that programs on another machine work on; they do not change as long as this is held.
    pub seen: Option<Seen>,
}

/// What a request means for a task now. Where programs on another machine work on its files, these are meant.
pub(crate) async fn diff_scope(
    world: &World,
    id: &TaskId,
    request: DiffRequest,
    freshness: Freshness,
) -> Result<Scoped> {
    let mut conn = world.store().read().await?;
    let (task, context) = core::load::load(world, &mut conn, id, None).await?;
    let workspace = conn.workspaces().last(id).await?;
    let workspace = workspace.ok_or_else(|| {
        EngineError::conflict(ConflictCode::WorkspaceMissing, "work on the task has not started")
    })?;
    let run = conn.executions().last_of(id, ExecutionRole::Coder).await?.map(|row| row.execution);
    let reviewed = conn.reviews().list(id).await?.into_iter().rev().find_map(|review| review.reviewed_commit);
    let race = if is_entry(&task) { conn.races().of_entry(id).await? } else { None };
    let in_view = review_in_view(&mut conn, &context, &task).await?;
    drop(conn);
    let repo = core::repository::repo(world, &context).await?;
    if let Some(head) = in_view.and_then(|review| review.reviewed_commit).filter(|_| race.is_none())
        && request == DiffRequest::Task
        && repo.resolve(&head).await?.is_some()
    {
        let base = diff_base(&repo, &repo, &context, &task, &workspace, &head).await?;
        return Ok(Scoped { repo, scope: DiffScope::Commits { base, head }, seen: None });
    }
    let seen = core::live::seen(world, &context, &workspace, freshness).await?;
    let copy = seen.as_ref().and_then(Seen::repo).cloned();
    let worktree = match &copy {
        Some(copy) => copy.main_worktree(),
        None => core::repository::worktree(world, &context, &workspace).await?,
    };
    let present = workspace.status != WorkspaceStatus::Cleaned && worktree.path().join(".git").exists();
    let tip = if present {
        worktree.head().await?
    } else {
        let entry = race.as_ref().and_then(|race| race.entry_of(id));
        // What a lost entry did is known as long as it is kept.
        let known = run.as_ref().filter(|_| entry.is_none());
        branch_tip(&repo, &workspace, known, entry).await?
    };
    let holder = copy.unwrap_or_else(|| repo.clone());
    let base = match &race {
        // Entries are compared: each by what it did since the race began.
        Some(race) => race.base_commit.clone(),
        None => diff_base(&repo, &holder, &context, &task, &workspace, &tip).await?,
    };
    let since = |base: String| {
        if present {
            DiffScope::Worktree { worktree: worktree.clone(), base }
        } else {
            DiffScope::Commits { base, head: tip.clone() }
        }
    };
    let scope = match request {
        DiffRequest::Task => since(base),
        DiffRequest::Uncommitted if present => DiffScope::Uncommitted { worktree },
        DiffRequest::Uncommitted => DiffScope::Commits { base: tip.clone(), head: tip },
        DiffRequest::SinceReview => since(reviewed.unwrap_or(base)),
        DiffRequest::Turn => match run.map(|run| (run.before_commit, run.after_commit)) {
            Some((Some(before), Some(after))) => DiffScope::Commits { base: before, head: after },
            Some((Some(before), None)) => since(before),
            _ => since(base),
        },
    };
    Ok(Scoped { repo: holder, scope, seen })
}

async fn branch_tip(
    repo: &Repo,
    workspace: &Workspace,
    run: Option<&Execution>,
    entry: Option<&RaceEntry>,
) -> Result<String> {
    let mut tip = repo.resolve(&format!("refs/heads/{}", workspace.branch)).await?;
    // After its race, an entry's work stands on a branch that keeps it, or on its task's.
    if let (None, Some(entry)) = (&tip, entry) {
        let kept = entry.branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
        for name in kept.iter().chain(&entry.commit) {
            if tip.is_none() {
                tip = repo.resolve(name).await?;
            }
        }
    }
    // A merged branch may be deleted; its work is still known.
    if let (None, Some(after)) = (&tip, run.and_then(|run| run.after_commit.as_ref())) {
        tip = repo.resolve(after).await?;
    }
    tip.ok_or_else(|| {
        let message = match entry {
            Some(entry) => format!("the changes of {} are no longer kept", entry.strategy),
            None => format!("the branch {} is missing", workspace.branch),
        };
        EngineError::conflict(ConflictCode::WorkspaceMissing, message)
    })
}

/// Where the task left its target; the recorded base once its work is part of the target. `holder` has the tip.
async fn diff_base(
    repo: &Repo,
    holder: &Repo,
    context: &ProjectContext,
    task: &TaskRow,
    workspace: &Workspace,
    tip: &str,
) -> Result<String> {
    let target = format!("refs/heads/{}", context.target_branch(task));
    // The copy of a worktree has the objects of the repository, but not its refs.
    let target = repo.resolve(&target).await?.unwrap_or(target);
    let base = holder.merge_base(&target, tip).await?;
    Ok(base.filter(|base| base != tip).unwrap_or_else(|| workspace.base_commit.clone()))
}

/// A notification is shown outside of the window, with the title that somebody typed.
pub(crate) fn without_secrets(world: &World, told: Notification) -> Notification {
    let title = core::redaction::redactor_of_project(world, &told.project_id).string(told.title);
    Notification { title, ..told }
}

/// Refuses a path that could lead out of a folder. A link at its end is what the diff shows, and is not followed.
/// `field` is where the path was given.
pub(crate) fn check_inside(root: &Path, path: &str, field: &str) -> Result<()> {
    let escape = |source| EngineError::Escape { field: field.to_owned(), source };
    let parent = Path::new(path).parent().filter(|parent| !parent.as_os_str().is_empty());
    guard::check_form(root, Path::new(path)).map_err(escape)?;
    match parent.map(|parent| guard::resolve_inside(root, parent)) {
        Some(Err(error @ guard::GuardError::Escape { .. })) => Err(escape(error)),
        _ => Ok(()),
    }
}

/// Which part of a task's changes is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffRequest {
    /// Everything since it left the target, committed or not.
    Task,
    /// What is not committed.
    Uncommitted,
    /// What the latest run did.
    Turn,
    /// What changed since the last review.
    SinceReview,
}

/// The review whose commit stands for a task's changes: while the task is at a gate, was blocked there, or was
/// finished from there. Before, after and beside that its work is what the worktree holds.
pub(crate) async fn review_in_view(
    conn: &mut ReadConnection,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<Option<Review>> {
    let state = context.workflow.state(&task.status);
    let at = match state.map(|state| state.kind) {
        Some(StateKind::Gate) => state,
        Some(StateKind::Blocked) => {
            let from = task.error_annotation.as_ref().map(|annotation| annotation.from_state.as_str());
            from.and_then(|from| context.workflow.state(from))
        }
        _ => None,
    };
    if at.is_none_or(|state| state.kind != StateKind::Gate || state.plans()) {
        return Ok(None);
    }
    let last = conn.reviews().last(&task.id).await?;
    Ok(last.filter(|review| review.reviewed_commit.is_some()))
}

//! A person's answer about a repository whose configuration changed, and about repositories inside a worktree.

use std::path::Path;

use forge_git::{GitError, RepositoryChange};
use forge_model::actor::Actor;
use forge_model::ids::{ProjectId, TaskId};
use forge_model::offer::Verb;
use forge_model::project::RepositoryDifference;
use forge_model::task::AnnotationType;
use forge_store::table::tasks::{self, Filter};

use crate::{
    ConflictCode, EngineError, World,
    core::{
        self,
        block_reason::told,
        context::{ProjectContext, backup_prefix},
    },
    error::Result,
    retry, run, trust,
};

/// How a project's repository differs from what was accepted, in what decides which programs git runs; `None` when
/// it does not, or no agent has run there.
pub(crate) async fn repository_change(
    world: &World,
    project: &ProjectId,
) -> Result<Option<RepositoryDifference>> {
    let context = core::contexts::context(world, &mut *world.store().read().await?, project).await?;
    let change = core::repository::repo(world, &context).await?.changed_since_accepted().await?;
    Ok(change.as_ref().map(told))
}

/// Accepts the configuration of a project's repository as it was shown, or (without a digest) puts the accepted one
/// back. Tasks that wait for this word go on.
pub(crate) async fn answer_repository_change(
    world: &World,
    actor: Actor,
    project: &ProjectId,
    accept: Option<&str>,
) -> Result<()> {
    let context = core::contexts::context(world, &mut *world.store().read().await?, project).await?;
    let repo = core::repository::repo(world, &context).await?;
    if let Some(change) = repo.changed_since_accepted().await? {
        match accept {
            Some(shown) => accept_as_shown(world, &context, change, shown).await?,
            None => {
                let at = format!("repository-{}", world.now().0);
                let aside = world.data_dir().join("kept").join(project.as_str()).join(at);
                repo.undo_changes(&aside).await?;
            }
        }
    }
    go_on_in_repository(world, actor, &context).await
}

async fn accept_as_shown(
    world: &World,
    context: &ProjectContext,
    change: RepositoryChange,
    shown: &str,
) -> Result<()> {
    let repo = core::repository::repo(world, context).await?;
    let now = repo.fingerprint().await?;
    if change.digest != shown || now.digest() != shown {
        let path = repo.root().to_owned();
        return Err(GitError::RepositoryChanged { path, change: Box::new(change) }.into());
    }
    trust::accepted::store_accepted(world, context, &now).await?;
    // Opened anew: where hooks are may be another folder now.
    core::repository::forget_repo(world, Path::new(&context.project.repo_path));
    Ok(())
}

/// Tries again what the changed configuration stopped, in every project of the repository.
async fn go_on_in_repository(world: &World, actor: Actor, context: &ProjectContext) -> Result<()> {
    let waiting: Vec<TaskId> = {
        let mut conn = world.store().read().await?;
        let mut waiting = Vec::new();
        for row in conn.projects().list().await? {
            if row.project.repo_path != context.project.repo_path {
                continue;
            }
            let filter = Filter { project: Some(row.project.id), ..Filter::default() };
            let all = conn.tasks().list(&filter, u32::MAX).await?;
            waiting.extend(all.into_iter().filter(waits_for_repository).map(|task| task.id));
        }
        waiting
    };
    for id in waiting {
        let _hold = core::workers::hold(world, &id).await;
        let mut tx = world.store().write().await?;
        let (mut task, context) = core::load::load(world, &mut tx, &id, None).await?;
        if !waits_for_repository(&task) {
            continue;
        }
        let annotation = task.error_annotation.clone();
        retry::retry(world, &mut tx, &context, &mut task, actor.clone(), annotation, None).await?;
        tx.commit().await?;
    }
    core::scheduler::wake_waiting(world);
    Ok(())
}

/// Takes the offer of a task that waits for a word about its repository.
pub(crate) async fn answer_repository_change_of(
    world: &World,
    actor: Actor,
    id: &TaskId,
    verb: Verb,
) -> Result<()> {
    let (task, _) = core::load::load_own(world, &mut *world.store().read().await?, id, None).await?;
    let shown = task.error_annotation.as_ref().and_then(|it| it.details["digest"].as_str());
    let accept = (verb == Verb::AcceptRepository).then(|| shown.unwrap_or_default());
    let settled = answer_repository_change(world, actor, &task.project_id, accept).await;
    if let Err(EngineError::Git(error @ GitError::RepositoryChanged { .. })) = settled {
        // It changed again: the task shows what is to be accepted now.
        let error = EngineError::Git(error);
        let mut tx = world.store().write().await?;
        let (mut task, _) = core::load::load_own(world, &mut tx, id, None).await?;
        if let Some(from) = task.error_annotation.as_ref().map(|it| it.from_state.clone()) {
            let trouble = core::block_reason::block_reason_of(&error, AnnotationType::RepositoryChanged);
            task.error_annotation = Some(trouble.annotation(&from, world.now()));
            tx.tasks_mut().update(&mut task, world.now()).await?;
        }
        tx.commit().await?;
        return Err(error);
    }
    settled
}

/// Adds the files of the embedded repositories that a task tells of, or has git overlook them; then tries again.
pub(crate) async fn resolve_embedded(world: &World, actor: Actor, id: &TaskId, verb: Verb) -> Result<()> {
    core::location::require_machine_of(world, id).await?;
    let _hold = core::workers::hold(world, id).await;
    run::running::stop_run(world, id).await;
    let (task, context, workspace) = {
        let mut conn = world.store().read().await?;
        let (task, context) = core::load::load_own(world, &mut conn, id, None).await?;
        let workspace = conn.workspaces().last(id).await?;
        (task, context, workspace)
    };
    let workspace = workspace.filter(|it| Path::new(&it.path).is_dir()).ok_or_else(|| {
        EngineError::conflict(
            ConflictCode::WorkspaceMissing,
            "the task has no worktree: start the task first",
        )
    })?;
    let worktree = core::repository::worktree(world, &context, &workspace).await?;
    let lock = core::worktree_lock::lock_workspace_now(
        world,
        id,
        &workspace,
        &format!("embedded-{}", workspace.id),
    )?;
    let seen = worktree.uncommitted().await?;
    for found in worktree.embedded_repositories(&seen, &workspace.base_commit).await? {
        if verb == Verb::AddEmbedded {
            let (prefix, aside) = (backup_prefix(&task), trust::accepted::kept_folder(world, &task));
            worktree.absorb_embedded(&found.path, &prefix, &aside).await?;
        } else {
            worktree.ignore_embedded(&found.path).await?;
        }
    }
    trust::accepted::keep_own_changes(world, &context, worktree.repo()).await?;
    drop(lock);
    let mut tx = world.store().write().await?;
    let (mut task, context) = core::load::load_own(world, &mut tx, id, None).await?;
    let annotation = task.error_annotation.clone();
    retry::retry(world, &mut tx, &context, &mut task, actor, annotation, None).await?;
    tx.commit().await?;
    core::scheduler::wake_waiting(world);
    Ok(())
}

fn waits_for_repository(task: &tasks::TaskRow) -> bool {
    task.error_annotation.as_ref().is_some_and(|it| it.kind == AnnotationType::RepositoryChanged)
}

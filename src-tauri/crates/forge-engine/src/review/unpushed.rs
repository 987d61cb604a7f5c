//! Commits of submodules that no branch of their remote has.

use forge_git::Uncommitted;
use forge_model::actor::{Actor, Cause};
use forge_model::correction::Correction;
use forge_model::execution::ExecutionRole;
use forge_model::review::Review;
use forge_model::workflow::OnFailure;
use forge_model::workspace::Workspace;
use forge_model::workspace::WorkspaceStatus;
use std::path::Path;
use tokio_util::sync::CancellationToken;

use crate::{
    World,
    core::{
        self,
        entry::failure_policy,
        world::step::{End, Stepping},
    },
    error::Result,
    review::{self, rejection::Rejection},
    workspace::{
        self,
        nested::{refuse_embedded, unpushed},
    },
};

/// What follows from work in submodules that no remote has: the review fails once with a word to the agent, then
/// a person is asked. Nothing when all are pushed.
pub(crate) async fn refuse_unpushed(
    world: &World,
    s: &Stepping,
    review: &mut Review,
    workspace: &Workspace,
    seen: &Uncommitted,
) -> Result<Option<End>> {
    let Some(trouble) = unpushed(world, s, workspace, seen).await? else { return Ok(None) };
    let reason = trouble.message.clone();
    let told = {
        let mut conn = world.store().read().await?;
        let last = conn.executions().last_of(&s.task.id, ExecutionRole::Coder).await?;
        let correction = Correction::GuardRefused { reason: reason.clone() };
        last.is_some_and(|row| row.corrections.contains(&correction))
    };
    let mut tx = world.store().write().await?;
    let Some(mut task) = tx.tasks().get(&s.task.id).await? else {
        return Ok(Some(End::Interrupted));
    };
    if task.status != s.task.status {
        return Ok(Some(End::Interrupted));
    }
    let actor = Actor::System { cause: Cause::Review };
    review::decision::fail_review(world, &mut tx, &task, review, actor.clone(), &reason).await?;
    let end = match failure_policy(&s.step) {
        OnFailure::Cascade(to) if !told => {
            let correction = Correction::GuardRefused { reason: reason.clone() };
            let rejection = Rejection { to, actor, reason, correction, evidence: None };
            match review::decision::reject(world, &mut tx, &s.context, &mut task, &s.transition, rejection)
                .await?
            {
                // No retry is left: nobody may approve a link that leads nowhere, so that is what is told.
                End::Block(_) => End::Block(trouble),
                end => end,
            }
        }
        _ => End::Block(trouble),
    };
    tx.commit().await?;
    Ok(Some(end))
}

/// Holds up work with links that lead nowhere, where no check asks for them: at the merge, and at gates that run no
/// checks. A worktree that is gone is made again when the commit has links that its target lacks.
pub(crate) async fn refuse_dangling(
    world: &World,
    s: &Stepping,
    commit: &str,
    seen: Option<&Uncommitted>,
    cancel: &CancellationToken,
) -> Result<Option<End>> {
    let repo = core::repository::repo(world, &s.context).await?;
    let last = world.store().read().await?.workspaces().last(&s.task.id).await?;
    let is_there = last.is_some_and(|workspace| {
        workspace.status == WorkspaceStatus::Active && Path::new(&workspace.path).is_dir()
    });
    let target = format!("refs/heads/{}", s.context.target_branch(&s.task));
    if !is_there && !repo.has_new_links(&target, commit).await? {
        return Ok(None);
    }
    let (workspace, _lock) = match workspace::prepare::workspace_to_judge(world, s, &repo, cancel).await? {
        Ok(found) => found,
        Err(end) => return Ok(Some(end)),
    };
    let looked;
    let seen = match seen {
        Some(seen) => seen,
        None => {
            looked = core::repository::worktree(world, &s.context, &workspace).await?.uncommitted().await?;
            &looked
        }
    };
    if let Some(end) = refuse_embedded(world, s, &workspace, seen, None).await? {
        return Ok(Some(end));
    }
    Ok(unpushed(world, s, &workspace, seen).await?.map(End::Block))
}

//! After an agent finished: its changes are committed, and the task moves on if the guards allow it.

use forge_git::GitError;
use forge_model::actor::Actor;
use forge_model::correction::Correction;
use forge_model::execution::Execution;
use forge_model::task::AnnotationType;
use forge_model::workflow::Audience;
use forge_model::workspace::Workspace;
use serde_json::json;

use crate::{
    World,
    core::{
        self,
        again::{run_once_more, send_back_in_place},
        block_reason::BlockReason,
        context::backup_prefix,
        leaving::Leave,
        moves::{EntryInput, Move},
        world::step::{End, Stepping},
    },
    error::Result,
    hook, subtask,
    workspace::{self, measure::measure, unfinished::Settled},
};

/// The cause of the one follow-up that asks an agent which changed nothing.
const ASKED_ABOUT_NO_CHANGE: &str = "asked why nothing changed";

/// Commits what the agent left, with the user's own hooks and filters.
pub(crate) async fn commit_work(world: &World, s: &Stepping) -> Result<End> {
    let Some((mut execution, workspace)) = finished_execution(world, s).await? else {
        return Ok(End::skipped("no execution or no workspace"));
    };
    if let Some(part) = execution.subtask_id.clone() {
        return subtask::turns::commit_turn(world, s, execution, &workspace, &part).await;
    }
    let worktree = core::repository::worktree(world, &s.context, &workspace).await?;
    let settled = match workspace::unfinished::finish_git_operation(world, s, &workspace).await? {
        Settled::Ready(done) => done,
        Settled::Open(trouble) => {
            return workspace::unfinished::back_to_unfinished(world, s, *trouble).await;
        }
    };
    let seen = worktree.uncommitted().await?;
    if let Some(end) =
        workspace::nested::refuse_embedded(world, s, &workspace, &seen, Some(&execution)).await?
    {
        return Ok(end);
    }
    let author =
        s.context.settings.author.as_ref().map(|author| (author.name.as_str(), author.email.as_str()));
    let message = format!("{}\n\nTask #{}", s.task.title, s.task.number);
    let message = core::redaction::redacted_in(world, &s.context, message);
    let committed = match worktree
        .commit_all_keeping_staged(&seen, &message, author, &backup_prefix(&s.task))
        .await
    {
        Err(GitError::CommitRefused { output }) => {
            let correction = Correction::CommitRefused { output: output.clone() };
            let mut trouble =
                BlockReason::new(AnnotationType::CommitRefused, "the repository's hooks refused the commit");
            trouble.details = json!({ "output": output });
            return send_back_in_place(world, s, correction, "the commit was refused", trouble).await;
        }
        other => other?,
    };
    world.point("work.committed");
    let stat = measure(world, s, &workspace).await?;
    execution.after_commit = Some(worktree.head().await?);
    let mut tx = world.store().write().await?;
    tx.executions_mut().update(&execution).await?;
    if let Some(mut task) = tx.tasks().get(&s.task.id).await? {
        task.diff_stat = Some(stat);
        tx.tasks_mut().update(&mut task, world.now()).await?;
    }
    tx.commit().await?;
    core::world::features::work_changed(world, &s.task.id).await;
    workspace::unmerged::count_unmerged(world, &s.task.id).await;
    let committed = committed.map(|commit| format!("committed {}", commit.get(..10).unwrap_or(&commit)));
    let remarks: Vec<String> = settled.into_iter().chain(committed).collect();
    Ok(End::Ok((!remarks.is_empty()).then(|| remarks.join(", "))))
}

pub(crate) async fn finished_execution(
    world: &World,
    s: &Stepping,
) -> Result<Option<(Execution, Workspace)>> {
    let mut conn = world.store().read().await?;
    let execution = match &s.step.execution_id {
        Some(id) => conn.executions().get(id).await?.map(|row| row.execution),
        None => None,
    };
    let workspace = conn.workspaces().last(&s.task.id).await?;
    Ok(execution.zip(workspace))
}

/// Moves a task whose work an agent ended along `accept`; a guard's refusal goes back to the agent.
pub(crate) async fn advance_work(world: &World, s: &Stepping, execution: Execution) -> Result<End> {
    if let Some(end) = subtask::turns::next_turn(world, s).await? {
        return Ok(end);
    }
    let unchanged = s.task.diff_stat.is_none_or(|stat| stat.files == 0);
    if unchanged && s.task.review_passed_at.is_none() && execution.cause != ASKED_ABOUT_NO_CHANGE {
        let input = EntryInput {
            corrections: vec![Correction::NoChange {}],
            cause: Some(ASKED_ABOUT_NO_CHANGE.to_owned()),
            ..EntryInput::default()
        };
        return run_once_more(world, s, input).await;
    }
    let accept = s.context.workflow.state(&s.task.status).and_then(|state| state.triggers.get("accept"));
    let Some(accept) = accept else {
        let mut tx = world.store().write().await?;
        hook::queue_work_stop(&mut tx, &s.context, &s.task, &s.transition).await?;
        tx.commit().await?;
        return Ok(End::Ok(Some("the state has no accept transition".to_owned())));
    };
    let redirect = match core::leaving::may_leave(world, s, Audience::AgentOnly).await? {
        Leave::Freely => None,
        Leave::Redirected(redirect) => Some(redirect),
        Leave::Refused(trouble) => {
            let correction = Correction::GuardRefused { reason: trouble.message.clone() };
            return send_back_in_place(world, s, correction, "a guard refused", trouble).await;
        }
    };
    let mut mv = Move::by(&accept.to, "accept", Actor::Agent { id: execution.agent_id });
    mv.input.note = unchanged.then(|| "no changes".to_owned());
    mv.reason = execution.summary;
    let mv = redirect.map_or_else(|| mv.clone(), |redirect| redirect.instead_of(&mv));
    Ok(End::go(mv))
}

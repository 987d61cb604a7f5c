//! Queries for people: lists, histories, logs and diffs. The only write marks notifications as read.

pub(crate) mod loop_status;
pub(crate) mod preview;
pub(crate) mod view;
#[cfg(test)]
pub(crate) mod view_tests;

use std::{collections::HashSet, path::PathBuf};

use forge_agents::LogReader;
use forge_git::{DiffPage, Worktree};
use forge_model::correction::{Correction, SaidMessage};
use forge_model::diff::{DiffSummary, FileDiff};
use forge_model::event::Event;
use forge_model::execution::{Execution, ExecutionRole};
use forge_model::ids::{ExecutionId, NotificationId, ProjectId, TaskId};
use forge_model::layer::Layer;
use forge_model::log::LogPage;
use forge_model::machine::LOCAL;
use forge_model::notification::Notification;
use forge_model::review::Review;
use forge_model::task::Task;
use forge_model::transition::{StepKind, StepStatus, Transition, TransitionStep};
use forge_model::workflow::{State, StateKind};
use forge_store::ReadConnection;
use forge_store::table::{steps::StepRow, tasks::Filter};

use crate::{
    EngineError, TaskPage, World,
    core::{self, live::Freshness, world::step::name_of},
    error::Result,
    hook,
    program::log::{bad_log_id, page_of},
    review, run,
    workspace::diff_scope::{DiffRequest, Scoped, check_inside, diff_scope, review_in_view, without_secrets},
};

/// A page of a project's tasks in board order.
pub(crate) async fn tasks(
    world: &World,
    project: &ProjectId,
    states: Vec<String>,
    text: Option<String>,
    machine: Option<&str>,
    cursor: Option<&str>,
    limit: u32,
) -> Result<TaskPage> {
    let mut conn = world.store().read().await?;
    let machine = match machine {
        None => None,
        Some(LOCAL) => Some(None),
        Some(named) => Some(Some(core::machines::machine(&mut conn, &named.into()).await?.id)),
    };
    let filter = Filter { project: Some(project.clone()), states, text, machine, after: None };
    tasks_in(world, &mut conn, project, filter, cursor, limit).await
}

/// A task by its number.
pub(crate) async fn task_by_number(world: &World, project: &ProjectId, number: u32) -> Result<Task> {
    let mut conn = world.store().read().await?;
    let row = conn.tasks().by_number(project, number).await?;
    let row = row.ok_or_else(|| EngineError::not_found("task", format!("#{number}")))?;
    view::view_one(world, &mut conn, row).await
}

/// Tasks that need the person, what waits longest first: those that ask for them, and those in states where nothing
/// happens by itself.
pub(crate) async fn attention(world: &World, limit: u32) -> Result<Vec<Task>> {
    let mut conn = world.store().read().await?;
    let mut rows = conn.tasks().attention(limit).await?;
    let asking: HashSet<TaskId> = rows.iter().map(|row| row.id.clone()).collect();
    for project in conn.projects().list().await? {
        let context = match core::contexts::context(world, &mut conn, &project.project.id).await {
            Ok(context) => context,
            // Another project's tasks still need the person; this one is told where it is opened. This is asked after
            // every change of a task.
            Err(error) => {
                let project = &project.project.id;
                tracing::debug!(%project, %error, "failed to look for tasks that are moved on by hand");
                continue;
            }
        };
        let states = context.workflow.states.iter().filter(|state| state.is_by_hand());
        let states: Vec<&str> = states.map(|state| state.name.as_str()).collect();
        if !states.is_empty() {
            let resting = conn.tasks().at_rest(&project.project.id, &states, limit).await?;
            rows.extend(resting.into_iter().filter(|row| !asking.contains(&row.id)));
        }
    }
    rows.sort_by_key(|row| (row.status_since, row.number));
    rows.truncate(limit.try_into().unwrap_or(usize::MAX));
    view::view(world, &mut conn, rows).await
}

/// A task's reviews, oldest first.
pub(crate) async fn reviews(world: &World, id: &TaskId) -> Result<Vec<Review>> {
    let mut conn = world.store().read().await?;
    core::load::load(world, &mut conn, id, None).await?;
    Ok(conn.reviews().list(id).await?)
}

/// A task's latest review.
pub(crate) async fn last_review(world: &World, id: &TaskId) -> Result<Option<Review>> {
    Ok(world.store().read().await?.reviews().last(id).await?)
}

/// A task's executions, oldest first. Those of the entry that won its race come first: its work is the task's.
pub(crate) async fn executions(world: &World, id: &TaskId) -> Result<Vec<Execution>> {
    let mut conn = world.store().read().await?;
    core::load::load(world, &mut conn, id, None).await?;
    let mut rows = match core::lineage::winner_of(&mut conn, id).await? {
        Some(entry) => conn.executions().list(&entry.task_id).await?,
        None => Vec::new(),
    };
    rows.extend(conn.executions().list(id).await?);
    Ok(rows.into_iter().map(|row| with_activity(world, row.execution)).collect())
}

/// One execution.
pub(crate) async fn execution(world: &World, id: &ExecutionId) -> Result<Execution> {
    let mut conn = world.store().read().await?;
    let row = conn.executions().get(id).await?.ok_or_else(|| EngineError::not_found("execution", id))?;
    Ok(with_activity(world, row.execution))
}

/// A task's moves with what ran after each, oldest first.
pub(crate) async fn transitions(world: &World, id: &TaskId) -> Result<Vec<Transition>> {
    let mut conn = world.store().read().await?;
    core::load::load(world, &mut conn, id, None).await?;
    let moves = conn.transitions().list(id).await?;
    let all = conn.steps().list(id).await?;
    Ok(moves
        .into_iter()
        .map(|row| Transition {
            steps: all.iter().filter(|step| step.transition_seq == Some(row.seq)).map(shown).collect(),
            id: row.id,
            from: row.from,
            to: row.to,
            trigger: row.trigger,
            actor: row.actor,
            reason: row.reason,
            rejection: row.rejection,
            at: row.at,
        })
        .collect())
}

/// What the next run of a task's agent would be told.
pub(crate) async fn prompt_preview(world: &World, id: &TaskId) -> Result<Vec<Layer>> {
    let (task, context, last, agent) = {
        let mut conn = world.store().read().await?;
        let (task, context) = core::load::load(world, &mut conn, id, None).await?;
        let holder = conn.roles().holder(id, context.work_role().unwrap_or_default()).await?;
        let agent = match holder.and_then(|holder| holder.id) {
            Some(agent) => conn.agents().get(&agent).await?,
            None => None,
        };
        (task, context, conn.executions().last(id).await?, agent)
    };
    // What comes next: the plan while that is made, or was not begun; else the work.
    let state = context.workflow.state(&task.status);
    let begins = state.is_some_and(|state| state.kind == StateKind::Initial)
        && context.workflow.claim_target(&task.status).is_some_and(State::plans);
    let plans = begins || state.is_some_and(State::plans);
    let role = if plans { ExecutionRole::Planner } else { ExecutionRole::Coder };
    let corrections = last.filter(|row| row.execution.role == role).map(|row| row.corrections);
    run::plan::layers_of(world, &context, &task, (role, agent.as_ref()), &corrections.unwrap_or_default())
        .await
}

/// A stretch of any log, by the id of a run or the name that a check, a hook, its test or a set-up gave.
pub(crate) async fn any_log_page(
    world: &World,
    id: &str,
    after: Option<u64>,
    before: Option<u64>,
    limit: usize,
) -> Result<LogPage> {
    if let Some(dir) = hook::command::dir_of_test_log(world, id).await? {
        return page_of(dir, id.to_owned(), after, before, limit).await;
    }
    let (task, log) = find_log(world, id).await?;
    log_page(world, &task, &log, after, before, limit).await
}

/// A stretch of a log of a task: an execution's, a check's or a set-up's.
pub(crate) async fn log_page(
    world: &World,
    task: &TaskId,
    log_id: &str,
    after: Option<u64>,
    before: Option<u64>,
    limit: usize,
) -> Result<LogPage> {
    page_of(log_dir_of(world, task, log_id).await?, log_id.to_owned(), after, before, limit).await
}

/// The whole of a text that a log keeps apart.
pub(crate) async fn log_blob(world: &World, task: &TaskId, log_id: &str, seq: u64) -> Result<String> {
    let dir = log_dir_of(world, task, log_id).await?;
    let log = log_id.to_owned();
    let blob = tokio::task::spawn_blocking(move || LogReader::blob(&dir, &log, seq)).await;
    match blob.map_err(|error| EngineError::io("read a log")(std::io::Error::other(error)))? {
        Err(error @ forge_agents::LogError::BadId(_)) => Err(bad_log_id(&error)),
        Err(forge_agents::LogError::NoBlob { .. } | forge_agents::LogError::NotFound(_)) => {
            Err(EngineError::not_found("text in log", log_id))
        }
        other => Ok(other?),
    }
}

/// The changed files of a task.
pub(crate) async fn diff(world: &World, id: &TaskId, request: DiffRequest) -> Result<DiffSummary> {
    let Scoped { repo, scope, seen } = diff_scope(world, id, request, Freshness::Now).await?;
    let mut diff = repo.diff_files(&scope).await?;
    diff.there = seen.map(|seen| seen.told);
    let shown = {
        let mut conn = world.store().read().await?;
        let (task, context) = core::load::load(world, &mut conn, id, None).await?;
        let review = review_in_view(&mut conn, &context, &task).await?;
        review.map(|review| (task, context, review))
    };
    if let Some((task, context, review)) = shown.filter(|_| request == DiffRequest::Task)
        && diff.head == review.reviewed_commit
    {
        diff.outside_review = review::work_changed(world, &context, &task, &review).await?;
    }
    Ok(diff)
}

/// A page of one changed file.
pub(crate) async fn diff_file(
    world: &World,
    id: &TaskId,
    request: DiffRequest,
    path: &str,
    page: DiffPage,
) -> Result<FileDiff> {
    let Scoped { repo, scope, seen: _unchanged } = diff_scope(world, id, request, Freshness::Shown).await?;
    let inside = scope.worktree().map_or_else(|| repo.root(), Worktree::path);
    check_inside(inside, path, "path")?;
    match repo.diff_file(&scope, path, page).await {
        Err(forge_git::GitError::NotInDiff { path }) => Err(EngineError::not_found("changed file", path)),
        other => Ok(other?),
    }
}

/// Notifications, newest first.
pub(crate) async fn notifications(world: &World, limit: u32) -> Result<Vec<Notification>> {
    let all = world.store().read().await?.notifications().list(limit).await?;
    Ok(all.into_iter().map(|it| without_secrets(world, it)).collect())
}

/// One notification.
pub(crate) async fn notification(world: &World, id: &NotificationId) -> Result<Notification> {
    let found = world.store().read().await?.notifications().get(id).await?;
    let found = found.ok_or_else(|| EngineError::not_found("notification", id))?;
    Ok(without_secrets(world, found))
}

/// Marks notifications as seen; all of them when none is named.
pub(crate) async fn mark_read(world: &World, ids: Option<&[NotificationId]>) -> Result<()> {
    let mut tx = world.store().write().await?;
    tx.notifications_mut().mark_read(ids).await?;
    tx.commit().await?;
    Ok(())
}

/// At most `limit` events after `after`, oldest first; none when events after it are no longer kept.
pub(crate) async fn events_after(world: &World, after: i64, limit: u32) -> Result<Option<Vec<Event>>> {
    let mut conn = world.store().read().await?;
    let first = conn.events().first_seq().await?;
    let pruned = after > 0 && first.is_some_and(|first| after < first - 1);
    if pruned { Ok(None) } else { Ok(Some(conn.events().after(after, limit).await?)) }
}

/// [`Engine::tasks`] by this connection.
pub(crate) async fn tasks_in(
    world: &World,
    conn: &mut ReadConnection,
    project: &ProjectId,
    mut filter: Filter,
    cursor: Option<&str>,
    limit: u32,
) -> Result<TaskPage> {
    let context = core::contexts::context(world, conn, project).await?;
    let states = &filter.states;
    if let Some(unknown) = states.iter().find(|name| context.workflow.state(name).is_none()) {
        let known: Vec<&str> = context.workflow.states.iter().map(|state| state.name.as_str()).collect();
        let message = format!("the workflow has no state `{unknown}`; it has {}", known.join(", "));
        return Err(EngineError::invalid("status", message));
    }
    filter.after = cursor.map(parse_cursor).transpose()?;
    let mut rows = conn.tasks().list(&filter, limit + 1).await?;
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let next_cursor = rows.last().filter(|_| more).map(|last| format!("{}:{}", last.position, last.id));
    Ok(TaskPage { items: view::view(world, conn, rows).await?, next_cursor })
}

fn with_activity(world: &World, mut execution: Execution) -> Execution {
    if let Some((id, activity)) = run::running::activity_of(world, &execution.task_id)
        && id == execution.id
    {
        execution.activity = activity;
    }
    execution
}

async fn find_log(world: &World, id: &str) -> Result<(TaskId, String)> {
    let mut conn = world.store().read().await?;
    if let Some(row) = conn.executions().get(&ExecutionId(id.to_owned())).await? {
        return Ok((row.execution.task_id, row.execution.log_id));
    }
    let task = conn.steps().task_of_log(id).await?;
    let task = task.ok_or_else(|| EngineError::not_found("execution or log", id))?;
    Ok((task, id.to_owned()))
}

/// The folder of a task's log. Logs of the entry that won its race lie with that entry.
async fn log_dir_of(world: &World, task: &TaskId, log_id: &str) -> Result<PathBuf> {
    let mut conn = world.store().read().await?;
    let (row, _) = core::load::load(world, &mut conn, task, None).await?;
    if let Some(entry) = core::lineage::winner_of(&mut conn, task).await? {
        let runs = conn.executions().list(&entry.task_id).await?;
        if runs.iter().any(|run| run.execution.log_id == log_id) {
            return Ok(world.log_dir(&row.project_id, &entry.task_id));
        }
    }
    Ok(world.log_dir(&row.project_id, task))
}

fn shown(step: &StepRow) -> TransitionStep {
    TransitionStep {
        phase: step.phase.clone(),
        action: name_of(step).into_owned(),
        status: step.status,
        outcome: step.outcome,
        reason: step.reason.clone(),
        duration_ms: step.finished_at.zip(step.started_at).map(|(end, start)| end.since(start)),
        log_id: step.log_id.clone(),
        message: queued_message(step),
    }
}

/// What a step says to the agent, as long as it waits.
fn queued_message(step: &StepRow) -> Option<SaidMessage> {
    if step.kind != StepKind::FollowUp || step.status == StepStatus::Done {
        return None;
    }
    serde_json::from_value::<Correction>(step.params.clone()?).ok()?.as_said()
}

fn parse_cursor(cursor: &str) -> Result<(f64, String)> {
    cursor
        .split_once(':')
        .and_then(|(position, id)| Some((position.parse().ok()?, id.to_owned())))
        .ok_or_else(|| EngineError::invalid("cursor", "is not a cursor of this list"))
}

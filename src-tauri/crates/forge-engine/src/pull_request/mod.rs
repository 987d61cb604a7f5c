//! Pull requests: how reviewed work reaches the target through a code host.
//!
//! This file has what people do about them. What the engine does is a step (`pull_request/step.rs`) and a watch
//! (`pull_request/watch.rs`). Absent: closing or deleting a pull request.

pub(crate) mod contribution;
pub(crate) mod ends;
pub(crate) mod hosts;
pub(crate) mod notes;
pub(crate) mod step;
pub(crate) mod watch;

use forge_hosts::{Check, Fetched, HostError, KeychainError, Summary, Token, host_name};
use forge_model::actor::Actor;
use forge_model::comment::{CommentSource, CommentStatus, DiffSide};
use forge_model::event::EventType;
use forge_model::execution::{ExecutionRole, Usage};
use forge_model::ids::{ProjectId, TaskId};
use forge_model::notification::NotificationKind;
use forge_model::offer::Verb;
use forge_model::pull_request::{HostComment, HostStanding, PullRequest, PullRequestState, TaskPullRequest};
use forge_model::review::ReviewStatus;
use forge_model::task::{HolderKind, WaitReason};
use forge_store::Tx;
use forge_store::table::{comments::CommentRow, pull_requests::PullRequestRow, tasks::TaskRow};
use serde_json::json;

use crate::{
    ConflictCode, EngineError, World,
    core::{self, context::ProjectContext, moves::Move},
    error::{Result, whole},
    pull_request::{
        hosts::{HOST_TOKEN, NoHost, remedy},
        notes::{PullRequestNews, correction_of, cut, source_name},
    },
    retry, review, run,
};

/// A task's pull request; `None` when it has none.
pub(crate) async fn pull_request(world: &World, id: &TaskId) -> Result<Option<TaskPullRequest>> {
    let mut conn = world.store().read().await?;
    core::load::load(world, &mut conn, id, None).await?;
    Ok(conn.pull_requests().get(id).await?.map(|row| TaskPullRequest {
        task_id: row.task_id,
        host: row.host,
        head: row.head,
        pushed_commit: row.pushed_commit,
        pull_request: row.pull_request,
        told: row.told,
        checked_at: row.checked_at,
        next_check_at: row.next_check_at,
        trouble: row.trouble,
        remedy: row.remedy,
    }))
}

/// Asks the code host now. While the task waits for its pull request, what follows from the answer is done
/// before this returns; otherwise it is only recorded.
pub(crate) async fn refresh_pull_request(world: &World, id: &TaskId) -> Result<Option<TaskPullRequest>> {
    let (row, waits) = {
        let mut conn = world.store().read().await?;
        let (task, _) = core::load::load(world, &mut conn, id, None).await?;
        let reason = task.waiting.as_ref().map(|waiting| waiting.reason);
        let waits = matches!(reason, Some(WaitReason::AwaitingMerge | WaitReason::HostUnreachable));
        (conn.pull_requests().get(id).await?, waits && core::workers::works_on_named(world, id))
    };
    let Some(row) = row else { return Ok(None) };
    if waits {
        let mut tx = world.store().write().await?;
        tx.pull_requests_mut().set_due(id, world.now()).await?;
        tx.commit().await?;
        core::workers::kick(world, id);
        run::idle::wait_until_idle(world, id).await?;
    } else {
        look_aside(world, id, row).await?;
    }
    pull_request(world, id).await
}

/// Sends what was said at the code host to the agent, as a follow-up. The task goes back to work; no retry
/// is spent, and what the agent makes of it comes to the same pull request.
pub(crate) async fn send_pull_request_news(
    world: &World,
    actor: Actor,
    id: &TaskId,
    news: PullRequestNews,
) -> Result<()> {
    let row = {
        let mut conn = world.store().read().await?;
        core::load::load(world, &mut conn, id, None).await?;
        conn.pull_requests().get(id).await?
    };
    let pull = row.and_then(|row| row.pull_request);
    let pull = pull.ok_or_else(|| EngineError::not_found("pull request of task", id))?;
    let correction = correction_of(world, id, &pull, &news).await?;
    let _hold = core::workers::hold(world, id).await;
    let running = run::running::is_running(world, id);
    let mut tx = world.store().write().await?;
    let (mut task, context) = core::load::load(world, &mut tx, id, None).await?;
    require_agent(&mut tx, &context, &task).await?;
    if let Some(mut row) = tx.pull_requests().get(id).await? {
        let new = news.comments.iter().filter(|id| !row.told.contains(id)).cloned().collect::<Vec<_>>();
        row.told.extend(new);
        tx.pull_requests_mut().put(&row, world.now()).await?;
        tell_of_pull_request(world, &mut tx, &task, &row).await?;
    }
    if running {
        run::follow_up::queue_follow_up(world, &mut tx, &task, correction).await?;
    } else {
        let reason = format!("news from pull request {}", pull.number);
        retry::back_to_work(
            world,
            &mut tx,
            &context,
            &mut task,
            actor,
            Verb::SendBack,
            correction,
            Some(reason),
        )
        .await?;
    }
    tx.commit().await?;
    core::scheduler::wake_waiting(world);
    Ok(())
}

/// Whether a project's code host can be used: one request finds out.
pub(crate) async fn host_standing(world: &World, id: &ProjectId) -> Result<HostStanding> {
    let context = core::contexts::context(world, &mut *world.store().read().await?, id).await?;
    let mut standing = HostStanding {
        host: None,
        configured: context.settings.code_host.is_some(),
        token: None,
        reachable: false,
        problem: None,
        remedy: None,
    };
    let repo = core::repository::repo(world, &context).await?;
    let config = match hosts::code_host(&context, &repo).await? {
        Ok(config) => config,
        Err(NoHost { problem, remedy }) => {
            (standing.problem, standing.remedy) = (Some(problem), Some(remedy));
            return Ok(standing);
        }
    };
    standing.host = Some(config.clone());
    if repo.remote_address(&config.remote).await?.is_none() {
        standing.problem = Some(format!("the repository has no git remote `{}`", config.remote));
        standing.remedy =
            Some("add it with `git remote add`, or choose another one in the settings".to_owned());
    }
    // Whatever was found before, this asks what holds now.
    hosts::forget_host(world, &config);
    let asked = async {
        standing.token = Some(source_name(&hosts::host_token(world, &context, &config).await?.source));
        // Any answer about a branch that is not there shows that the host knows us and the repository.
        hosts::host(world, &context, &config).await?.find("forge/none", &context.usual_target()).await
    };
    match asked.await {
        Ok(_) => standing.reachable = true,
        Err(error) => {
            (standing.problem, standing.remedy) = (Some(error.to_string()), Some(remedy(&error)));
        }
    }
    Ok(standing)
}

/// Keeps a token for a project's code host in the system's keychain; `None` forgets it.
pub(crate) async fn put_host_token(world: &World, id: &ProjectId, token: Option<&str>) -> Result<()> {
    let token = token.map(|text| Token::new(text).ok_or(text)).transpose();
    let token = token.map_err(|_| EngineError::invalid("token", "must not be empty"))?;
    let context = core::contexts::context(world, &mut *world.store().read().await?, id).await?;
    let repo = core::repository::repo(world, &context).await?;
    let config = hosts::code_host(&context, &repo).await?.map_err(|NoHost { problem, remedy }| {
        EngineError::conflict(ConflictCode::NoCodeHost, format!("{problem}: {remedy}"))
    })?;
    let host = host_name(&config)
        .map_err(|error| EngineError::conflict(ConflictCode::NoCodeHost, error.to_string()))?;
    core::redaction::learn_secrets(world, token.as_ref().map(|token| (HOST_TOKEN, token.expose())));
    let keychain = &world.inner.config.keychain;
    let kept = match &token {
        Some(token) => keychain.write(config.kind, &host, token).await,
        None => keychain.forget(config.kind, &host).await,
    };
    kept.map_err(|error: KeychainError| {
        let variable = format!("FORGE_{}_TOKEN", config.kind.as_str().to_uppercase());
        let message = format!("{}; set the variable {variable} instead", whole(&error));
        EngineError::conflict(ConflictCode::KeychainUnavailable, message)
    })?;
    hosts::forget_host(world, &config);
    let mut tx = world.store().write().await?;
    core::contexts::project_changed(world, &mut tx, &context.project, "host_token").await?;
    tx.commit().await?;
    Ok(())
}

/// Looks at a pull request that nothing waits for.
async fn look_aside(world: &World, id: &TaskId, row: PullRequestRow) -> Result<()> {
    let Some(known) = &row.pull_request else { return Ok(()) };
    let (task, context) = core::load::load(world, &mut *world.store().read().await?, id, None).await?;
    let looked = async {
        let mut read = forge_hosts::Etags::default();
        hosts::host(world, &context, &row.host).await?.state(known.number, &mut read).await
    };
    let looked: std::result::Result<Fetched, HostError> = looked.await;
    if let Ok(Fetched::Changed(seen)) = &looked {
        keep_host_comments(world, &task, seen).await?;
    }
    let mut tx = world.store().write().await?;
    let (task, _) = core::load::load(world, &mut tx, id, None).await?;
    let now = tx.pull_requests().get(id).await?;
    let still = |row: &PullRequestRow| row.pull_request.as_ref().is_some_and(|it| it.number == known.number);
    let Some(mut now) = now.filter(still) else { return Ok(()) };
    let was_open = is_open(&now);
    match looked {
        Ok(fetched) => {
            if let Fetched::Changed(seen) = fetched {
                if now.pull_request.as_ref() != Some(&*seen) {
                    now.changed_at = Some(world.now());
                }
                now.pull_request = Some(*seen);
            }
            (now.checked_at, now.failures) = (Some(world.now()), 0);
            (now.trouble, now.remedy) = (None, None);
        }
        Err(error) => {
            (now.trouble, now.remedy) = (Some(error.to_string()), Some(remedy(&error)));
            now.failures = now.failures.saturating_add(1);
        }
    }
    if was_open && !is_open(&now) {
        decided_meanwhile(world, &mut tx, &task, &mut now).await?;
    } else if now.next_check_at.is_some() {
        now.next_check_at = Some(hosts::next_look(world, &now, None, None));
    }
    tx.pull_requests_mut().put(&now, world.now()).await?;
    tell_of_pull_request(world, &mut tx, &task, &now).await?;
    tx.commit().await?;
    hosts::due_changed(world);
    Ok(())
}

/// A pull request was closed or merged while its task is elsewhere: the person is told, and nothing is done
/// about it before the task comes to merging again.
async fn decided_meanwhile(
    world: &World,
    tx: &mut Tx,
    task: &TaskRow,
    row: &mut PullRequestRow,
) -> Result<()> {
    row.next_check_at = None;
    let Some(pull) = &row.pull_request else { return Ok(()) };
    let context = core::contexts::context_of(world, tx, task).await?;
    if !is_at_work(&context, &task.status) {
        return Ok(());
    }
    let number = pull.number;
    let body = if pull.state == PullRequestState::Closed {
        row.told_by = None;
        format!(
            "Pull request {number} was closed without a merge while the task was in progress. \
             Forge asks you before it opens another one."
        )
    } else {
        format!(
            "Pull request {number} was merged while the task was in progress. Further work gets a new pull request."
        )
    };
    let cause = format!("pull_request:{}:{number}:{}", task.id, pull.state);
    core::notices::notify(world, tx, &context, task, NotificationKind::Waiting, &body, &cause).await
}

/// Looks at a pull request whose task is elsewhere.
pub(crate) fn look_aside_later(world: &World, row: PullRequestRow) {
    let world = world.clone();
    core::guarded::in_background(&world.clone(), async move {
        let task = row.task_id.clone();
        if let Err(error) = look_aside(&world, &task, row).await {
            tracing::error!(%task, %error, "failed to look at a pull request");
        }
    });
}

async fn require_agent(tx: &mut Tx, context: &ProjectContext, task: &TaskRow) -> Result<()> {
    let role = context.work_role().unwrap_or_default();
    let holder = tx.roles().holder(&task.id, role).await?;
    let open = !context.workflow.state(&task.status).is_some_and(forge_model::workflow::State::is_terminal);
    if open && holder.is_some_and(|holder| holder.kind == HolderKind::Agent) {
        return Ok(());
    }
    Err(EngineError::conflict(ConflictCode::NothingToContinue, "no agent is working on this task"))
}

/// What a pull request tells of a task.
pub(crate) async fn pull_request_summary(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<Summary> {
    let mut conn = world.store().read().await?;
    let runs = conn.executions().list(&task.id).await?;
    let reviews = conn.reviews().list(&task.id).await?;
    let judged = reviews.iter().rev().find(|review| {
        review.status == ReviewStatus::Passed
            && context.workflow.state(&review.state).is_some_and(|state| context.workflow.judges_work(state))
    });
    let reviewer = match judged.and_then(|review| review.audits.last()) {
        Some(report) => conn.agents().get(&report.agent_id).await?.map(|agent| agent.name),
        None => judged
            .and_then(|review| review.decided_by.as_ref())
            .filter(|actor| matches!(actor, Actor::User { .. }))
            .map(|_| "a person".to_owned()),
    };
    let mut usage = Usage::default();
    let mut duration_ms = 0;
    for row in &runs {
        usage.add(&row.execution.usage);
        duration_ms += row.execution.finished_at.map_or(0, |end| end.since(row.execution.started_at));
    }
    let last_work = runs.iter().rev().find(|row| row.execution.role == ExecutionRole::Coder);
    let steps = judged.map(|review| review.steps.as_slice()).unwrap_or_default();
    Ok(Summary {
        title: task.title.clone(),
        number: task.number,
        description: task.description.clone(),
        done: last_work.and_then(|row| row.execution.summary.clone()).unwrap_or_default(),
        checks: steps
            .iter()
            .map(|step| Check {
                command: step.command.clone(),
                ok: step.exit_code == Some(0),
                ms: step.duration_ms,
            })
            .collect(),
        reviewer,
        cost_micro_usd: usage.cost_micro_usd,
        duration_ms,
    })
}

/// Keeps what readers of a pull request said on lines as comments of the task; each once.
pub(crate) async fn keep_host_comments(world: &World, task: &TaskRow, pull: &PullRequest) -> Result<()> {
    let known = world.store().read().await?.comments().list(&task.id).await?;
    let is_known = |id: &str| known.iter().any(|row| row.external_id.as_deref() == Some(id));
    let new: Vec<(&HostComment, &String)> = pull
        .comments
        .iter()
        .filter(|comment| !is_known(&comment.id) && !comment.body.trim().is_empty())
        .filter_map(|comment| comment.path.as_ref().map(|path| (comment, path)))
        .collect();
    if new.is_empty() {
        return Ok(());
    }
    let places: Vec<(String, DiffSide, u32)> = new
        .iter()
        .map(|(comment, path)| ((*path).clone(), DiffSide::New, comment.line.unwrap_or_default()))
        .collect();
    let (anchors, at_commit) = match review::comments::anchors(world, &task.id, &places).await {
        Ok(found) => found,
        // The worktree may be gone; the comments are read at the host all the same.
        Err(error) => {
            tracing::warn!(task = %task.id, %error, "comments of a pull request find no place in the diff");
            return Ok(());
        }
    };
    let now = world.now();
    let mut tx = world.store().write().await?;
    for ((comment, path), anchor) in new.into_iter().zip(anchors) {
        let row = CommentRow {
            id: world.new_id(),
            task_id: task.id.clone(),
            review_id: None,
            source: CommentSource::Host,
            author: comment.author.clone(),
            status: CommentStatus::Sent,
            severity: None,
            path: path.clone(),
            side: DiffSide::New,
            line: comment.line,
            last_line: comment.line,
            anchor,
            at_commit: at_commit.clone(),
            text: cut(&comment.body).to_owned(),
            url: comment.url.clone(),
            external_id: Some(comment.id.clone()),
            created_at: comment.at,
            updated_at: now,
        };
        tx.comments_mut().insert(&row).await?;
    }
    world.emit(&mut tx, EventType::TaskUpdated, task, task.id.as_str(), &json!({ "comments": true })).await?;
    tx.commit().await?;
    Ok(())
}

/// Tells that what is known of a pull request changed.
pub(crate) async fn tell_of_pull_request(
    world: &World,
    tx: &mut Tx,
    task: &TaskRow,
    row: &PullRequestRow,
) -> Result<()> {
    let pull = row.pull_request.as_ref();
    let facts = json!({
        "pull_request": pull.map(|pull| pull.number), "state": pull.map(|pull| pull.state),
    });
    world.emit(tx, EventType::TaskUpdated, task, task.id.as_str(), &facts).await
}

/// Whoever leaves the state is not waited for any more, but looked at as long as work goes on. A task that is given up leaves its pull request
/// alone, and its history says so.
pub(crate) async fn let_go_of_pull_request(
    tx: &mut Tx,
    context: &ProjectContext,
    task: &TaskRow,
    mut mv: Move,
) -> Result<Move> {
    let Some(row) = tx.pull_requests().get(&task.id).await? else { return Ok(mv) };
    // Somebody may close it while it is worked on again.
    if !(is_open(&row) && is_at_work(context, &mv.to)) {
        tx.pull_requests_mut().stop_watching(&task.id).await?;
    }
    let open = row.pull_request.filter(|pull| pull.state == PullRequestState::Open);
    if let Some(pull) = open.filter(|_| mv.to == context.workflow.cancellation_state) {
        let left = format!("pull request {} is unchanged: {}", pull.number, pull.url);
        mv.reason = Some(mv.reason.map_or_else(|| left.clone(), |reason| format!("{reason}; {left}")));
    }
    Ok(mv)
}

fn is_open(row: &PullRequestRow) -> bool {
    row.pull_request.as_ref().is_some_and(|pull| pull.state == PullRequestState::Open)
}

/// Whether a task in this state may still come to its merge by itself.
fn is_at_work(context: &ProjectContext, state: &str) -> bool {
    use forge_model::workflow::StateKind;
    context.workflow.state(state).is_some_and(|state| match state.kind {
        StateKind::Active | StateKind::Gate | StateKind::Custom => true,
        StateKind::Backlog | StateKind::Initial | StateKind::Blocked | StateKind::Terminal => false,
    })
}

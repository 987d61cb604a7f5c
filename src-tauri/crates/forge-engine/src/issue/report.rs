//! What is written to the issues of tasks, where a project has it switched on.
//!
//! A move of a task writes down, in its transaction, what its issue is told. One at a time and in order, that is then sent.
//! A comment carries its own name, and one that may have been written before a kill is looked for before it is written
//! again. A refusal is kept with its remedy and tried again later; nothing is dropped.

use std::sync::Arc;

use forge_hosts::{Host, HostError};
use forge_model::event::EventType;
use forge_model::ids::{IssueReportId, TaskId};
use forge_model::issue::{COMMENT_MARK, IssueOrigin, LabelChange, ReportKind, UnsentReport};
use forge_model::merge::MergeStatus;
use forge_model::pull_request::PullRequestState;
use forge_model::time::Timestamp;
use forge_model::workflow::State;
use forge_store::Tx;
use forge_store::table::{issue_reports::IssueReportRow, issue_sources::IssueSourceRow, tasks::TaskRow};

use serde_json::json;
use tokio::sync::Notify;

use super::{host_origin, import::next_try};
use crate::{
    World,
    core::{self, context::ProjectContext, world::features::Moved},
    error::Result,
    pull_request::hosts,
};

/// How long Forge waits after a refusal that does not pass by itself, in milliseconds.
const AFTER_REFUSAL_MS: i64 = 60 * 60 * 1_000;

/// Told when something is about to be committed that is to be sent.
#[derive(Default)]
pub(crate) struct Reports(Arc<Notify>);

/// Writes down what the issue of a task is told of its move.
pub(crate) async fn note_move(world: &World, tx: &mut Tx, moved: Moved<'_>) -> Result<()> {
    let reports = moved.context.settings.issues.reports.at(&moved.context.workflow, moved.state);
    if reports.is_empty() {
        return Ok(());
    }
    let source = tx.issue_sources().get(&moved.task.id).await?;
    if source.is_none_or(|source| !source.kind.is_host()) {
        return Ok(());
    }
    for (kind, labels) in reports {
        // Work that is begun again is the same work.
        if kind == ReportKind::Started && tx.issue_reports().has(&moved.task.id, kind).await? {
            continue;
        }
        let row = IssueReportRow {
            id: IssueReportId(world.inner.config.ids.new_id()),
            task_id: moved.task.id.clone(),
            kind,
            labels,
            created_at: world.now(),
            asked_at: None,
            sent_at: None,
            retry_at: None,
            failures: 0,
            problem: None,
            remedy: None,
        };
        tx.issue_reports_mut().put(&row).await?;
    }
    world.part::<Reports>().0.notify_one();
    Ok(())
}

/// Sends what is to be sent, from now on.
pub(crate) fn keep_reporting(world: &World) {
    let changed = Arc::clone(&world.part::<Reports>().0);
    core::due::keep_up(world, changed, "write to issues", async |world| report_due(&world).await);
}

/// Tries now what could not be written to the issue of a task.
pub(crate) async fn retry_reports(world: &World, task: &TaskId) -> Result<()> {
    let mut tx = world.store().write().await?;
    core::load::load(world, &mut tx, task, None).await?;
    for row in tx.issue_reports().unsent(task).await? {
        tx.issue_reports_mut().put(&IssueReportRow { retry_at: None, ..row }).await?;
    }
    tx.commit().await?;
    world.part::<Reports>().0.notify_one();
    Ok(())
}

/// What a person sees of a report that is not sent.
pub(crate) fn unsent(row: IssueReportRow) -> UnsentReport {
    UnsentReport { kind: row.kind, problem: row.problem, remedy: row.remedy, retry_at: row.retry_at }
}

/// Sends until nothing is due. Says when something is again.
async fn report_due(world: &World) -> Result<Option<Timestamp>> {
    // Writers take turns: what was noted is committed once a turn is had.
    drop(world.store().write().await?);
    loop {
        let open = world.store().read().await?.issue_reports().next().await?;
        let is_due = |row: &&IssueReportRow| row.retry_at.is_none_or(|at| at <= world.now());
        let Some(row) = open.iter().find(is_due) else {
            return Ok(open.iter().filter_map(|row| row.retry_at).min());
        };
        tokio::select! {
            () = world.inner.shutdown.cancelled() => return Ok(None),
            done = go_on(world, row) => {
                // What is wrong with one project holds up no other report.
                if let Err(error) = done {
                    tracing::error!(task = %row.task_id, %error, "failed to write to an issue");
                    let now = asked(world, row).await?;
                    let remedy = "check the project's settings and repository, then try again".to_owned();
                    record(world, &refused(world, now, error.to_string(), remedy)).await?;
                }
            }
        }
    }
}

async fn go_on(world: &World, row: &IssueReportRow) -> Result<()> {
    let (task, context, source) = {
        let mut conn = world.store().read().await?;
        let (task, context) = core::load::load(world, &mut conn, &row.task_id, None).await?;
        (task, context, conn.issue_sources().get(&row.task_id).await?)
    };
    let sent = match (source, what_to_say(world, &context, &task, row).await?) {
        (Some(source), Some(text)) => send(world, &context, (row, &source), &text).await?,
        // It is needless by now: the task was reopened, closed without a merge, or has no issue any more.
        _ => Ok(()),
    };
    let now = match sent {
        Ok(()) => IssueReportRow {
            sent_at: Some(world.now()),
            retry_at: None,
            problem: None,
            remedy: None,
            ..asked(world, row).await?
        },
        Err(error) => failed(world, asked(world, row).await?, &error),
    };
    record(world, &now).await
}

/// The row as it is now: it was marked as asked meanwhile.
async fn asked(world: &World, row: &IssueReportRow) -> Result<IssueReportRow> {
    let all = world.store().read().await?.issue_reports().unsent(&row.task_id).await?;
    Ok(all.into_iter().find(|it| it.id == row.id).unwrap_or_else(|| row.clone()))
}

/// Writes what became of a report, and tells of it.
async fn record(world: &World, row: &IssueReportRow) -> Result<()> {
    let mut tx = world.store().write().await?;
    // A task that was deleted meanwhile took its reports along.
    if let Some(task) = tx.tasks().get(&row.task_id).await? {
        tx.issue_reports_mut().put(row).await?;
        world
            .emit(&mut tx, EventType::TaskUpdated, &task, task.id.as_str(), &json!({ "report": row.kind }))
            .await?;
    }
    tx.commit().await?;
    Ok(())
}

fn failed(world: &World, row: IssueReportRow, error: &HostError) -> IssueReportRow {
    let retry_at = match error {
        HostError::RateLimited { until } => next_try(world, Some(*until), row.failures),
        _ if error.is_passing() => next_try(world, None, row.failures),
        _ => return refused(world, row, error.to_string(), hosts::remedy(error)),
    };
    IssueReportRow {
        retry_at: Some(retry_at),
        ..refused(world, row, error.to_string(), hosts::remedy(error))
    }
}

/// The row after a refusal that a person has to end; it is tried again all the same.
fn refused(world: &World, row: IssueReportRow, problem: String, remedy: String) -> IssueReportRow {
    let pause = AFTER_REFUSAL_MS / i64::from(world.inner.config.host_pace.max(1));
    IssueReportRow {
        retry_at: Some(world.now().plus_ms(pause)),
        failures: row.failures.saturating_add(1),
        problem: Some(problem),
        remedy: Some(remedy),
        ..row
    }
}

/// The text of a comment, empty for what is none; nothing when it is not to be written any more.
async fn what_to_say(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
    row: &IssueReportRow,
) -> Result<Option<String>> {
    match row.kind {
        ReportKind::Label => return Ok(Some(String::new())),
        ReportKind::Started => return Ok(Some("Work on this began.".to_owned())),
        ReportKind::Done | ReportKind::Close => {}
    }
    if task.closed_unmerged || !context.workflow.state(&task.status).is_some_and(State::is_terminal) {
        return Ok(None);
    }
    let mut conn = world.store().read().await?;
    let pull = conn.pull_requests().get(&task.id).await?.and_then(|row| row.pull_request);
    if let Some(pull) = pull.filter(|pull| pull.state == PullRequestState::Merged) {
        return Ok(Some(format!("Done by {}", pull.url)));
    }
    let merge = conn.merges().last(&task.id).await?;
    Ok(merge.and_then(|merge| match (merge.status, merge.merge_commit) {
        (MergeStatus::Landed, Some(commit)) => Some(format!("Done by {commit} on `{}`.", merge.target)),
        (MergeStatus::Nothing, _) => Some("Done: nothing had to be changed.".to_owned()),
        _ => None,
    }))
}

async fn send(
    world: &World,
    context: &ProjectContext,
    (row, source): (&IssueReportRow, &IssueSourceRow),
    text: &str,
) -> Result<std::result::Result<(), HostError>> {
    let origin = host_origin(world, context).await?;
    let IssueOrigin::Host { host } = &origin else { return Ok(Ok(())) };
    let Ok(number) = source.reference.parse::<u32>() else { return Ok(Ok(())) };
    if origin.key() != source.source {
        let what = format!("{} (the project's code host is now {})", source.name, origin.name());
        return Ok(Err(HostError::NotFound { what }));
    }
    let way = match hosts::host(world, context, host).await {
        Ok(way) => way,
        Err(error) => return Ok(Err(error)),
    };
    Ok(match row.kind {
        ReportKind::Close => way.close_issue(number).await,
        ReportKind::Label => {
            let none = LabelChange { add: None, remove: Vec::new() };
            let change = row.labels.as_ref().unwrap_or(&none);
            way.label_issue(number, change).await
        }
        ReportKind::Started | ReportKind::Done => {
            let mark = format!("{COMMENT_MARK}{} -->", row.id);
            if row.asked_at.is_some() {
                match is_written(way.as_ref(), number, &mark).await {
                    Ok(false) => {}
                    other => return Ok(other.map(drop)),
                }
            }
            let mut tx = world.store().write().await?;
            tx.issue_reports_mut()
                .put(&IssueReportRow { asked_at: Some(world.now()), ..row.clone() })
                .await?;
            tx.commit().await?;
            world.point("issue.report");
            way.comment_issue(number, &format!("{text}\n\n{mark}")).await
        }
    })
}

/// Whether a comment is there already.
async fn is_written(way: &dyn Host, number: u32, mark: &str) -> std::result::Result<bool, HostError> {
    let count = way.issue(number).await?.comment_count;
    let comments = way.issue_comments(number, count).await?;
    Ok(comments.iter().any(|comment| comment.body.contains(mark)))
}

//! What becomes of one issue: a new task, or a comparison with the task that it is already.

use forge_model::event::EventType;
use forge_model::ids::TaskId;
use forge_model::issue::{
    ImportOutcome, Issue, IssueComment, IssueState, MergedText, Takes, TaskText, merge_text,
};
use forge_model::workflow::State;
use forge_store::Tx;
use forge_store::table::{issue_imports::IssueImportRow, issue_sources::IssueSourceRow, tasks::TaskRow};
use serde_json::Value;

use super::{new_state, takes_new};
use crate::{
    World,
    core::{context::ProjectContext, new_task},
    error::Result,
};

/// Makes a task of an issue, or brings its task up to date. A closed issue is made a task only when a person chose it.
pub(crate) async fn take_issue(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    import: &IssueImportRow,
    (issue, comments): (&Issue, Vec<IssueComment>),
    is_chosen: bool,
) -> Result<(ImportOutcome, Option<TaskId>)> {
    let key = import.origin.key();
    let known = tx.issue_sources().of_issue(&import.project_id, &key, &issue.reference).await?;
    if let Some(source) = known
        && let Some(task) = tx.tasks().get(&source.task_id).await?
    {
        let id = task.id.clone();
        return Ok((compare(world, tx, context, (source, task), (issue, comments)).await?, Some(id)));
    }
    if issue.state == IssueState::Closed && !is_chosen {
        return Ok((ImportOutcome::Skipped, None));
    }
    let text = TaskText::of(issue);
    // The workflow may have changed since the import began.
    let state = new_state(context, Some(&import.state)).or_else(|_| new_state(context, None))?;
    let row = new_task::new_row(world, tx, context, state, text.title.clone()).await?;
    let row = TaskRow { description: text.description.clone(), ..row };
    tx.tasks_mut().insert(&row).await?;
    let source = IssueSourceRow {
        task_id: row.id.clone(),
        project_id: import.project_id.clone(),
        source: key,
        reference: issue.reference.clone(),
        kind: import.origin.kind(),
        name: import.origin.name_of(&issue.reference),
        url: issue.url.clone(),
        // Unknown is treated as what needs more care.
        is_public: import.is_public.unwrap_or(true),
        state: issue.state,
        imported: text,
        labels: issue.labels.clone(),
        comments,
        pending: None,
        imported_at: world.now(),
    };
    tx.issue_sources_mut().put(&source).await?;
    new_task::announce(world, tx, &row).await?;
    Ok((ImportOutcome::Created, Some(row.id)))
}

async fn compare(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    (source, mut task): (IssueSourceRow, TaskRow),
    (issue, comments): (&Issue, Vec<IssueComment>),
) -> Result<ImportOutcome> {
    let state = context.workflow.state(&task.status);
    let takes = if state.is_some_and(takes_new) { Takes::Changes } else { Takes::Nothing };
    let own = TaskText { title: task.title.clone(), description: task.description.clone() };
    let merged = if state.is_some_and(State::is_terminal) {
        // Nobody works on it any more, so there is nothing to decide.
        MergedText { task: own.clone(), imported: source.imported.clone(), pending: None }
    } else {
        merge_text(&source.imported, &own, &TaskText::of(issue), takes)
    };
    let now = IssueSourceRow {
        url: issue.url.clone(),
        state: issue.state,
        imported: merged.imported,
        labels: issue.labels.clone(),
        // Agents are told them, too.
        comments: if takes == Takes::Changes { comments } else { source.comments.clone() },
        pending: merged.pending,
        imported_at: world.now(),
        ..source.clone()
    };
    let is_changed = merged.task != own;
    let is_shown_otherwise = IssueSourceRow { imported_at: source.imported_at, ..now.clone() } != source;
    tx.issue_sources_mut().put(&now).await?;
    if is_changed || is_shown_otherwise {
        TaskText { title: task.title, description: task.description } = merged.task;
        tx.tasks_mut().update(&mut task, world.now()).await?;
        world.emit(tx, EventType::TaskUpdated, &task, task.id.as_str(), &Value::Null).await?;
    }
    Ok(match (now.pending.is_some(), is_changed || is_shown_otherwise) {
        (true, _) => ImportOutcome::Differs,
        (false, true) => ImportOutcome::Updated,
        (false, false) => ImportOutcome::Unchanged,
    })
}

//! Changes of a task that are neither moves nor decisions, and where its files are.

use std::path::Path;

use forge_api::{
    Reply,
    operations::{
        AgentList, ExecutionFollowUp, TaskAssign, TaskDelete, TaskDependencyAdd, TaskDependencyRemove,
        TaskExecutions, TaskGet, TaskPlace, TaskPromptPreview, TaskTransitions, TaskUpdate,
    },
    ops::{
        Empty, TaskPath,
        executions::FollowUp,
        tasks::{AssignRole, DeleteTask, Dependency, UpdateTask},
    },
};
use forge_model::{transition::Transition, workspace::WorkspacePlace};

use super::{Found, find, shown, work_role};
use crate::{
    answer::{Answer, confirm},
    args::{EditTask, TaskRef},
    at::At,
    editor,
    error::CliError,
    labels,
    shown::{printable, table, text_or_input},
    words::{self, plain, time},
};

pub(super) async fn assign(
    at: &At,
    task: &TaskRef,
    holder: &str,
    role: Option<String>,
) -> Result<Answer, CliError> {
    let task = find(at, task).await?;
    let role = match role {
        Some(role) => role,
        None => work_role(at, &task.project_id).await?,
    };
    let holder = match holder {
        "nobody" => None,
        named => Some(at.holder(named).await?),
    };
    let input = AssignRole { task_id: task.id.clone(), role, holder, version: Some(task.version) };
    let changed = at.call(TaskAssign, input).await?;
    shown(at, changed).await
}

pub(super) async fn edit(at: &At, change: EditTask) -> Result<Answer, CliError> {
    let task = find(at, &change.task).await?;
    let machines = match labels::required(change.machine)? {
        None => change.default_machine.then_some(None),
        Some(labels) => Some(Some(labels)),
    };
    let has_fields = change.title.is_some()
        || change.description.is_some()
        || change.priority.is_some()
        || machines.is_some();
    if !has_fields && change.depends_on.is_empty() && change.not_depends_on.is_empty() {
        return Err(CliError::Usage {
            message: "no change was given".to_owned(),
            hint: "`forge task edit --help` lists what can be changed.",
        });
    }
    // All is read and found before anything is changed.
    let description = change.description.map(text_or_input).transpose()?;
    let mut dependencies = Vec::new();
    let named = change.depends_on.into_iter().map(|named| (named, true));
    for (named, is_added) in named.chain(change.not_depends_on.into_iter().map(|named| (named, false))) {
        let depends_on = find(at, &TaskRef { task: named }).await?.value.id;
        dependencies.push((Dependency { task_id: task.id.clone(), depends_on }, is_added));
    }
    if has_fields {
        let input = UpdateTask {
            task_id: task.id.clone(),
            version: task.version,
            title: change.title,
            description: description.map(Some),
            priority: change.priority,
            review_config: None,
            merge_config: None,
            task_state_config: None,
            race: None,
            machines,
            subtask_order: None,
        };
        at.call(TaskUpdate, input).await?;
    }
    for (dependency, is_added) in dependencies {
        if is_added {
            at.call(TaskDependencyAdd, dependency).await?;
        } else {
            at.call(TaskDependencyRemove, dependency).await?;
        }
    }
    shown(at, at.call(TaskGet, TaskPath { task_id: task.id.clone() }).await?).await
}

pub(super) async fn message(
    at: &At,
    task: &TaskRef,
    message: String,
    now: bool,
    with_comments: bool,
) -> Result<Answer, CliError> {
    let message = text_or_input(message)?;
    let task = find(at, task).await?;
    let runs = at.call(TaskExecutions, TaskPath { task_id: task.id.clone() }).await?.value;
    let last = runs.items.into_iter().next_back().ok_or_else(|| match &task.raced {
        Some(race) if !race.status.is_over() => CliError::Conflict {
            message: format!("#{} is raced, and a message goes to no entry", task.number),
            hint: "Send it once there is a winner; `forge race show` shows its state.",
        },
        _ => CliError::NotFound {
            message: format!("#{} has no runs", task.number),
            hint: "Start the task with `forge task start`; the agent gets its description.",
        },
    })?;
    let runs_now = task.live.is_some();
    let input = FollowUp {
        execution_id: last.id,
        message,
        with_comments: with_comments.then_some(true),
        attachments: None,
        at_once: now.then_some(true),
        if_locked: None,
    };
    let task: Found = at.call(ExecutionFollowUp, input).await?;
    let when = match (runs_now, now) {
        (true, true) => "while the agent runs, if its program can take it, else after the run",
        (true, false) => "after the current run",
        (false, _) if at.connection.is_own() => "in a new run, once Forge runs",
        (false, _) => "in a new run",
    };
    let answer = shown(at, task).await?;
    let text = format!("Sent to the agent of #{} {when}.\n\n{}", answer.json["number"], answer.text);
    Ok(Answer { text, ..answer })
}

pub(super) async fn delete(
    at: &At,
    task: &TaskRef,
    yes: bool,
    end_terminals: bool,
) -> Result<Answer, CliError> {
    let task = find(at, task).await?;
    let named = format!("#{} {}", task.number, task.title);
    confirm(&format!("Delete {named} with its history?"), "delete the task", yes)?;
    let delete = DeleteTask {
        task_id: task.id.clone(),
        version: Some(task.version),
        end_terminals: Some(end_terminals),
    };
    let done = at.call(TaskDelete, delete).await?;
    Ok(Answer::new(done.json, format!("Deleted {named}.")))
}

/// Every move, oldest first.
pub(super) async fn moves(at: &At, task: &TaskRef) -> Result<Answer, CliError> {
    let task_id = find(at, task).await?.value.id;
    let page = at.call(TaskTransitions, TaskPath { task_id }).await?;
    let agents = at.call(AgentList, Empty {}).await?.value.items;
    let row = |it: &Transition| {
        let reason = it.reason.clone().unwrap_or_default();
        vec![
            time(it.at),
            it.from.clone(),
            it.to.clone(),
            plain(&it.trigger),
            words::actor(&it.actor, &agents),
            reason,
        ]
    };
    let rows: Vec<Vec<String>> = page.items.iter().map(row).collect();
    let text = match rows.as_slice() {
        [] => "The task has not been moved yet.".to_owned(),
        rows => table(&["AT", "FROM", "TO", "BY", "WHO", "WHY"], rows),
    };
    Ok(Answer::new(page.json, text))
}

/// What the agent of the next run is told, layer by layer.
pub(super) async fn prompt(at: &At, task: &TaskRef) -> Result<Answer, CliError> {
    let task_id = find(at, task).await?.value.id;
    let prompt = at.call(TaskPromptPreview, TaskPath { task_id }).await?;
    let text = printable(prompt.text.trim_end());
    Ok(Answer::new(prompt.json, text))
}

/// Where the files of a task are.
pub(super) async fn place(at: &At, task: &TaskRef) -> Result<Reply<WorkspacePlace>, CliError> {
    let task_id = find(at, task).await?.value.id;
    at.call(TaskPlace, TaskPath { task_id }).await
}

/// The path as `scp` takes it: of another machine with that machine.
pub(super) fn path_of(place: &WorkspacePlace) -> String {
    let Some(there) = &place.there else { return place.path.clone() };
    let path = there.path.as_ref().unwrap_or(&place.path);
    format!("{}:{path}", there.destination.as_ref().unwrap_or(&there.machine))
}

/// Opens the files of a task in the person's editor.
pub(super) async fn open(at: &At, task: &TaskRef) -> Result<Answer, CliError> {
    if at.connection.is_elsewhere() {
        return Err(CliError::Usage {
            message: "the worktree is on the other computer".to_owned(),
            hint: "Print its path there with `forge --on HOST task path`.",
        });
    }
    let place = place(at, task).await?;
    if let Some(there) = &place.there {
        return Err(CliError::Conflict {
            message: format!("the task's files are on the machine {}", there.machine),
            hint: "Print where with `forge task path`.",
        });
    }
    editor::open(Path::new(&place.path)).await?;
    let text = place.path.clone();
    Ok(Answer::new(place.json, text))
}

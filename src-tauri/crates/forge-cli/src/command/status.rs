//! `forge status`: one screen of what needs a person, what runs, and what waits.

use forge_api::{
    operations::{Attention, ProjectList, ProjectWorkflowGet, RunList, TaskList},
    ops::{
        Empty,
        projects::ProjectPath,
        tasks::{Limited, ListTasks},
    },
};
use forge_model::{
    ids::ProjectId,
    project::Project,
    run::{RunInfo, RunKind},
    task::{Task, WaitReason},
    workflow::StateKind,
};
use serde_json::json;

use super::task::{show::note, watch::is_pending};
use crate::{answer::Answer, at::At, error::CliError, shown::table};

/// How much of each is shown; the rest is counted.
const SHOWN: usize = 15;
/// The largest page.
const PAGE: u32 = 200;

pub(crate) async fn run(at: &At) -> Result<Answer, CliError> {
    let only = at.only().await?;
    let all = at.call(ProjectList, Empty {}).await?.value.items;
    if all.is_empty() {
        let text = "No projects. Add one with `forge project add PATH`.".to_owned();
        return Ok(Answer::new(json!({ "needs_you": [], "running": [], "waiting": [], "paused": [] }), text));
    }
    let projects: Vec<Project> =
        all.into_iter().filter(|it| only.as_ref().is_none_or(|only| it.id == *only)).collect();
    let is_meant = |project: &ProjectId| projects.iter().any(|it| it.id == *project);
    let needs: Vec<Task> =
        attention(at).await?.into_iter().filter(|task| is_meant(&task.project_id)).collect();
    let runs = at.call(RunList, Empty {}).await?.value.items;
    let runs: Vec<RunInfo> =
        runs.into_iter().filter(|run| run.project_id.as_ref().is_some_and(is_meant)).collect();
    let mut waits = Vec::new();
    for project in &projects {
        waits.extend(waiting(at, &project.id).await?);
    }
    waits.retain(|task| needs.iter().all(|needy| needy.id != task.id));
    let name = |id: &ProjectId| {
        projects.iter().find(|it| it.id == *id).map(|it| it.name.clone()).unwrap_or_default()
    };
    let of_task = |task: &Task| {
        let has_moved = task.waiting.as_ref().is_some_and(|waiting| waiting.reason == WaitReason::Undo);
        let why = Some(note(task)).filter(|note| !note.is_empty() && !has_moved);
        // Nothing is wrong with a task that only has to be moved on: where it stands is all there is to say.
        let why = why.unwrap_or_else(|| format!("waiting for you in {}", task.status));
        vec![name(&task.project_id), format!("#{}", task.number), why, task.title.clone()]
    };
    // What waits for nothing that it tells waits for an engine that stays.
    let of_waiting = |task: &Task| {
        let why =
            if task.waiting.is_some() { note(task) } else { "pending: forge serve continues it".to_owned() };
        vec![name(&task.project_id), format!("#{}", task.number), why, task.title.clone()]
    };
    let of_run = |run: &RunInfo| {
        let kind = if run.kind == RunKind::Agent { "agent" } else { "script" };
        let does = if run.activity.is_empty() { kind.to_owned() } else { run.activity.clone() };
        let number = run.task_number.map(|number| format!("#{number}")).unwrap_or_default();
        let project = run.project_id.as_ref().map(name).unwrap_or_default();
        vec![project, number, does, run.task_title.clone().unwrap_or_default()]
    };
    let paused: Vec<&str> = projects.iter().filter(|it| it.paused).map(|it| it.name.as_str()).collect();
    let mut text = vec![
        section("Needs you", needs.iter().map(of_task).collect(), "Nothing needs you."),
        section("Running", runs.iter().map(of_run).collect(), "Nothing is running."),
        section("Waiting", waits.iter().map(of_waiting).collect(), "Nothing is waiting."),
    ];
    if !paused.is_empty() {
        text.push(format!("Paused: {}", paused.join(", ")));
    }
    let json = json!({ "needs_you": needs, "running": runs, "waiting": waits, "paused": paused });
    Ok(Answer::new(json, text.join("\n\n")))
}

/// The tasks that need a person.
async fn attention(at: &At) -> Result<Vec<Task>, CliError> {
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let page = at.call(Attention, Limited { limit: Some(PAGE), cursor: cursor.take() }).await?.value;
        found.extend(page.items);
        match page.next_cursor {
            Some(next) => cursor = Some(next),
            None => return Ok(found),
        }
    }
}

/// The tasks of a project that wait for something.
async fn waiting(at: &At, project: &ProjectId) -> Result<Vec<Task>, CliError> {
    let view = at.call(ProjectWorkflowGet, ProjectPath { project_id: project.clone() }).await?.value;
    let is_open = |kind: StateKind| !matches!(kind, StateKind::Backlog | StateKind::Terminal);
    let open = view.workflow.states.iter().filter(|state| is_open(state.kind));
    let status: Vec<String> = open.map(|state| state.name.clone()).collect();
    // Of what nobody began nothing is pending, and there may be thousands.
    let is_begun = |task: &Task| {
        view.workflow.states.iter().any(|state| state.name == task.status && state.kind != StateKind::Initial)
    };
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let list = ListTasks {
            project_id: project.clone(),
            status: Some(status.clone()),
            q: None,
            machine: None,
            limit: Some(PAGE),
            cursor: cursor.take(),
        };
        let page = at.call(TaskList, list).await?.value;
        for task in page.items {
            if task.waiting.is_some() || (is_begun(&task) && is_pending(at, &task).await?) {
                found.push(task);
            }
        }
        match page.next_cursor {
            Some(next) => cursor = Some(next),
            None => return Ok(found),
        }
    }
}

/// A part of the screen.
fn section(name: &str, mut rows: Vec<Vec<String>>, none: &str) -> String {
    if rows.is_empty() {
        return none.to_owned();
    }
    let count = rows.len();
    let more = count.saturating_sub(SHOWN);
    rows.truncate(SHOWN);
    let body = table(&["PROJECT", "TASK", "", "TITLE"], &rows);
    let rest = match more {
        0 => String::new(),
        more => format!("\nand {more} more"),
    };
    format!("{name}: {count}\n{body}{rest}")
}

//! `forge task run`, `stop` and `services`: services of a task, with which its work can be tried.

use forge_api::{
    Reply,
    operations::{ServiceStart, ServiceStop, TaskServices},
    ops::{
        Page, TaskPath,
        services::{StartService, StopService},
    },
};
use forge_model::{
    event::EventType,
    ids::TaskId,
    service::{Service, ServiceState, TaskService},
};

use super::find;
use crate::{
    answer::{Answer, say},
    args::TaskRef,
    at::At,
    error::{CliError, Kind},
    shown::{NONE, printable, table},
};

/// Starts a service and waits until it is ready. Without an engine that stays it runs as long as this command.
pub(super) async fn run(
    at: &At,
    task: &TaskRef,
    name: Option<String>,
    no_wait: bool,
) -> Result<Answer, CliError> {
    let task_id = find(at, task).await?.value.id;
    // Listened to before it starts, so that nothing is missed.
    let mut changes = at.connection.changes().await?;
    let is_own = at.connection.is_own();
    let started = at.call(ServiceStart, StartService { task_id: task_id.clone(), name }).await?;
    if no_wait && !is_own {
        let text = told(&started);
        return Ok(Answer::new(started.json, text));
    }
    let mut is_told = false;
    loop {
        let (json, now) = latest(at, &task_id, &started.value).await?;
        match now.state {
            ServiceState::Starting => {}
            ServiceState::Ready if !is_own => return Ok(Answer::new(json, told(&now))),
            ServiceState::Ready => {
                if !std::mem::replace(&mut is_told, true) {
                    say(&format!("{}\nRuns until you press Ctrl+C.", told(&now)));
                }
            }
            ServiceState::Failed => return Err(failed(&now)),
            ServiceState::Stopped => return Ok(Answer::new(json, told(&now))),
        }
        loop {
            match changes.next().await {
                Some(event) if event["entity_id"] == started.id.as_str() => break,
                Some(event) if event["type"] == EventType::EventsResync.as_str() => break,
                Some(_) => {}
                None => return Err(CliError::Interrupted),
            }
        }
    }
}

/// The same start as it is now.
async fn latest(
    at: &At,
    task_id: &TaskId,
    started: &Service,
) -> Result<(serde_json::Value, Service), CliError> {
    let mut page = at.call(TaskServices, TaskPath { task_id: task_id.clone() }).await?;
    let place = page.items.iter().position(|one| one.last.as_ref().is_some_and(|it| it.id == started.id));
    let found = place.and_then(|place| {
        let json = page.json["items"][place]["last"].take();
        Some((json, page.value.items.get(place)?.last.clone()?))
    });
    found.ok_or_else(|| CliError::Conflict {
        message: format!("the service `{}` was started again meanwhile", started.name),
        hint: "Check its state with `forge task services`.",
    })
}

fn failed(service: &Service) -> CliError {
    let reason = service.reason.as_deref().unwrap_or("it ended");
    CliError::Told {
        kind: Kind::Conflict,
        message: format!("the service `{}` failed: {}", service.name, printable(reason)),
        hint: format!(
            "See its output with `forge task log {} --service {}`.",
            service.task_number, service.name
        ),
    }
}

/// A service in a sentence.
fn told(service: &Service) -> String {
    let Service { name, task_number, state, url, .. } = service;
    let subject = format!("{name} of #{task_number}");
    let reason = service.reason.as_deref().map(|why| format!(": {}", printable(why))).unwrap_or_default();
    match state {
        ServiceState::Starting => format!("{subject} is starting at {url}"),
        ServiceState::Ready => format!("{subject} is ready: {url}"),
        ServiceState::Failed => format!("{subject} failed{reason}"),
        ServiceState::Stopped => format!("{subject} is stopped{reason}"),
    }
}

/// Stops a service, or all of a task.
pub(super) async fn stop(at: &At, task: &TaskRef, name: Option<String>) -> Result<Answer, CliError> {
    let task_id = find(at, task).await?.value.id;
    let page = at.call(ServiceStop, StopService { task_id, name }).await?;
    let text = shown(&page);
    Ok(Answer::new(page.json, text))
}

/// Lists the services of a task.
pub(super) async fn list(at: &At, task: &TaskRef) -> Result<Answer, CliError> {
    let task_id = find(at, task).await?.value.id;
    let page = at.call(TaskServices, TaskPath { task_id }).await?;
    let text = shown(&page);
    Ok(Answer::new(page.json, text))
}

fn shown(page: &Reply<Page<TaskService>>) -> String {
    if page.items.is_empty() {
        return "The project has no services. Add one with `forge project set services=JSON`.".to_owned();
    }
    let rows: Vec<Vec<String>> = page.items.iter().map(row).collect();
    table(&["SERVICE", "STATE", "ADDRESS", "WHY", "COMMAND"], &rows)
}

fn row(one: &TaskService) -> Vec<String> {
    let last = one.last.as_ref();
    let state = last.map_or_else(|| "not started".to_owned(), |last| last.state.to_string());
    let address =
        last.filter(|last| last.state.is_active()).map_or_else(|| NONE.to_owned(), |it| it.url.clone());
    let why = last.and_then(|last| last.reason.clone()).unwrap_or_else(|| NONE.to_owned());
    let command = one.command.clone().unwrap_or_else(|| "no longer named by the project".to_owned());
    vec![one.name.clone(), state, address, why, command]
}

/// The latest start of a service of a task.
pub(super) async fn last_start(at: &At, task_id: &TaskId, name: &str) -> Result<Service, CliError> {
    let page = at.call(TaskServices, TaskPath { task_id: task_id.clone() }).await?.value;
    let one = page.items.into_iter().find(|one| one.name == name);
    one.and_then(|one| one.last).ok_or_else(|| CliError::NotFound {
        message: format!("the service `{name}` was never started for this task"),
        hint: "List its services with `forge task services`.",
    })
}

//! Tools for services of a task. Their answers are shorter than the contract's: a model reads every schema before it works.

use forge_api::{
    ApiError, Client as _,
    operations::{ServiceStart, ServiceStop, TaskLog, TaskServices},
    ops::{
        TaskPath,
        executions::ReadTaskLog,
        services::{StartService, StopService},
    },
};
use forge_model::{
    ids::TaskId,
    service::{Service, ServiceState, TaskService},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    Backend,
    tool::{Contract, Running, typed},
};

/// A service of a task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OneService {
    /// The task.
    task_id: TaskId,
    /// The service's name; the project's first service when absent.
    #[serde(default)]
    name: Option<String>,
}

/// Services of a task to stop.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SomeServices {
    /// The task.
    task_id: TaskId,
    /// The service's name; all services of the task when absent.
    #[serde(default)]
    name: Option<String>,
}

/// A service of a task to read the output of.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadOutput {
    /// The task.
    task_id: TaskId,
    /// The service's name; the project's first service when absent.
    #[serde(default)]
    name: Option<String>,
    /// Number of log entries, 1 to 200; 50 when absent.
    #[serde(default)]
    limit: Option<u32>,
}

/// How a service is.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Seen {
    /// Name.
    name: String,
    /// `starting`, `ready`, `failed` or `stopped`; null if it was never started.
    state: Option<ServiceState>,
    /// Reason, one sentence.
    reason: Option<String>,
    /// Its address while it runs.
    url: Option<String>,
}

/// How services are.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SeenAll {
    /// The services of the task.
    items: Vec<Seen>,
}

/// A service and its output.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WithOutput {
    /// The service.
    service: Seen,
    /// The end of its output since it was last started.
    output: String,
}

impl Seen {
    fn of(name: &str, last: Option<&Service>) -> Self {
        Self {
            name: name.to_owned(),
            state: last.map(|last| last.state),
            reason: last.and_then(|last| last.reason.clone()),
            url: last.filter(|last| last.state.is_active()).map(|last| last.url.clone()),
        }
    }
}

pub(crate) fn run<B: Backend>(contract: Contract<B>, input: Value) -> Running {
    typed(input, |OneService { task_id, name }: OneService| async move {
        let service = contract.call(ServiceStart, StartService { task_id, name }).await?.value;
        Ok(json!(Seen::of(&service.name, Some(&service))))
    })
}

pub(crate) fn stop<B: Backend>(contract: Contract<B>, input: Value) -> Running {
    typed(input, |SomeServices { task_id, name }: SomeServices| async move {
        let all = contract.call(ServiceStop, StopService { task_id, name }).await?.value;
        let items = all.items.iter().map(|one| Seen::of(&one.name, one.last.as_ref())).collect();
        Ok(json!(SeenAll { items }))
    })
}

pub(crate) fn log<B: Backend>(contract: Contract<B>, input: Value) -> Running {
    typed(input, |ReadOutput { task_id, name, limit }: ReadOutput| async move {
        let all = contract.call(TaskServices, TaskPath { task_id: task_id.clone() }).await?.value.items;
        let service = all.iter().find(|service| name.as_ref().is_none_or(|name| service.name == *name));
        let service = service.ok_or_else(|| unknown(&all))?;
        let mut output = String::new();
        if let Some(last) = &service.last {
            let log_id = last.log_id.clone();
            let of = ReadTaskLog { task_id, log_id, after: None, before: None, limit };
            let page = contract.call(TaskLog, of).await?.value;
            let texts = page.entries.iter().filter_map(|entry| {
                // Of a long text its beginning is in the page.
                entry.body["text"].as_str().or_else(|| entry.body["text_head"].as_str())
            });
            output.extend(texts);
        }
        let service = Seen::of(&service.name, service.last.as_ref());
        Ok(json!(WithOutput { service, output }))
    })
}

fn unknown(all: &[TaskService]) -> ApiError {
    let names: Vec<&str> = all.iter().map(|service| service.name.as_str()).collect();
    let message = match names.as_slice() {
        [] => "the project has no services: a person can add one in its settings".to_owned(),
        names => format!("is not one of the project's services: {}", names.join(", ")),
    };
    ApiError::invalid("name", &message)
}

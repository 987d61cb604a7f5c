//! Tools that are several operations.

use forge_api::{ApiError, ops::workspaces::Scope};
use forge_model::{
    diff::{DiffSummary, FileDiff},
    ids::{ProjectId, TaskId},
    task::{ExecutionMode, Task},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    Backend,
    tool::{Contract, Running, typed},
};

/// The role that is assigned by default.
const CODER: &str = "coder";

/// A role of a task to assign.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AssignAgent {
    /// The task.
    task_id: TaskId,
    /// An agent's id, `"user"`, or null to clear the role.
    agent_id: Option<String>,
    /// The role; `coder` when absent.
    #[serde(default)]
    role: Option<String>,
    /// The task's version, as read.
    #[serde(default)]
    version: Option<u32>,
}

/// A task to cancel.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CancelTask {
    /// The task.
    task_id: TaskId,
    /// The task's version, as read; not compared when absent.
    #[serde(default)]
    version: Option<u32>,
    /// Reason.
    #[serde(default)]
    reason: Option<String>,
}

/// Subtasks to create.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateSubTasks {
    /// The parent task.
    task_id: TaskId,
    /// The subtasks, in order.
    #[schemars(length(min = 1, max = 50))]
    tasks: Vec<SubTask>,
}

/// A subtask to create.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SubTask {
    /// Title, one line.
    title: String,
    /// Description, Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// Priority; higher runs first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    priority: Option<i32>,
    /// Where the subtask works; in its own worktree when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    execution_mode: Option<ExecutionMode>,
    /// Position among the ordered subtasks; last when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subtask_order: Option<u32>,
    /// Tasks that this one depends on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    depends_on: Option<Vec<TaskId>>,
}

/// Created subtasks.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct Parts {
    /// The subtasks, in order.
    items: Vec<Task>,
}

/// Changes to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadTaskDiff {
    /// The task.
    task_id: TaskId,
    /// Which changes; all when absent.
    #[serde(default)]
    scope: Option<Scope>,
    /// A file to show with its changed lines.
    #[serde(default)]
    path: Option<String>,
    /// The first row of that file; 0 when absent.
    #[serde(default)]
    start: Option<u32>,
    /// Number of rows; 2000 when absent.
    #[serde(default)]
    limit: Option<u32>,
}

/// What to do with a module's attempts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct IterationsAction {
    /// Whether to read or delete the attempts.
    action: Action,
    /// The module.
    module_id: String,
    /// The run.
    #[serde(default)]
    run_id: Option<String>,
    /// The project; the one whose repository or worktree contains `cwd` when absent.
    #[serde(rename = "project_id", default)]
    project_id: Option<ProjectId>,
    /// Absolute path of a folder in the project.
    #[serde(default)]
    cwd: Option<String>,
}

/// What to do with attempts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    /// Read them.
    Get,
    /// Delete them.
    Reset,
}

/// Changes of a task.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct TaskDiff {
    /// The changed files.
    changes: DiffSummary,
    /// The changed lines of the requested file; null if none was requested.
    file: Option<FileDiff>,
}

pub(crate) fn assign_agent<B: Backend>(contract: Contract<B>, input: Value) -> Running {
    typed(input, |asked: AssignAgent| async move {
        let mut input = json!({
            "task_id": asked.task_id, "role": asked.role.as_deref().unwrap_or(CODER), "holder": asked.agent_id,
        });
        put(&mut input, "version", asked.version);
        contract.call("task_assign", input).await
    })
}

pub(crate) fn cancel_task<B: Backend>(contract: Contract<B>, input: Value) -> Running {
    typed(input, |asked: CancelTask| async move {
        let version = match asked.version {
            Some(version) => json!(version),
            None => contract.task(&asked.task_id).await?["version"].take(),
        };
        let mut input = json!({ "task_id": asked.task_id, "verb": "cancel", "version": version });
        put(&mut input, "reason", asked.reason);
        contract.call("task_action", input).await
    })
}

pub(crate) fn create_sub_tasks<B: Backend>(contract: Contract<B>, input: Value) -> Running {
    typed(input, |asked: CreateSubTasks| async move {
        let project = contract.task(&asked.task_id).await?["project_id"].take();
        let mut items: Vec<Value> = Vec::new();
        for part in asked.tasks {
            let mut input = json!(part);
            input["project_id"] = project.clone();
            input["parent_id"] = json!(asked.task_id);
            match contract.call("task_create", input).await {
                Ok(task) => items.push(task),
                Err(error) => {
                    let made: Vec<&Value> = items.iter().map(|task| &task["id"]).collect();
                    return Err(error.with_fact("created", json!(made)));
                }
            }
        }
        Ok(json!({ "items": items }))
    })
}

pub(crate) fn task_diff<B: Backend>(contract: Contract<B>, input: Value) -> Running {
    typed(input, |asked: ReadTaskDiff| async move {
        let mut of = json!({ "task_id": asked.task_id });
        put(&mut of, "scope", asked.scope);
        let changes = contract.call("task_diff", of.clone()).await?;
        let Some(path) = asked.path else { return Ok(json!({ "changes": changes, "file": null })) };
        put(&mut of, "path", Some(path));
        put(&mut of, "start", asked.start);
        put(&mut of, "limit", asked.limit);
        Ok(json!({ "changes": changes, "file": contract.call("task_diff_file", of).await? }))
    })
}

pub(crate) fn iteration_state<B: Backend>(contract: Contract<B>, input: Value) -> Running {
    typed(input, |asked: IterationsAction| async move {
        let operation = match asked.action {
            Action::Get => "validate_state",
            Action::Reset => "validate_reset",
        };
        let mut of = json!({ "moduleId": asked.module_id });
        put(&mut of, "runId", asked.run_id);
        put(&mut of, "project_id", asked.project_id);
        put(&mut of, "cwd", asked.cwd);
        contract.call(operation, of).await
    })
}

impl<B: Backend> Contract<B> {
    async fn task(&self, id: &TaskId) -> Result<Value, ApiError> {
        self.call("task_get", json!({ "task_id": id })).await
    }
}

/// Sets a field that was given.
fn put(input: &mut Value, field: &str, value: Option<impl Serialize>) {
    if let Some(value) = value {
        input[field] = json!(value);
    }
}

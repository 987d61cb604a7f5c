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

/// The role that is given unless another is named.
const CODER: &str = "coder";

/// Who is to hold a role of a task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AssignAgent {
    /// The task.
    task_id: TaskId,
    /// An agent's id, `"user"` for the person, or null for nobody.
    agent_id: Option<String>,
    /// The role; `coder` when absent.
    #[serde(default)]
    role: Option<String>,
    /// The version that was read.
    #[serde(default)]
    version: Option<u32>,
}

/// A task to give up.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CancelTask {
    /// The task.
    task_id: TaskId,
    /// The version that was read; as it is now when absent.
    #[serde(default)]
    version: Option<u32>,
    /// Why.
    #[serde(default)]
    reason: Option<String>,
}

/// Parts to make of a task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateSubTasks {
    /// The task that they are parts of.
    task_id: TaskId,
    /// The parts, in their order.
    #[schemars(length(min = 1, max = 50))]
    tasks: Vec<SubTask>,
}

/// A part to make.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SubTask {
    /// One line.
    title: String,
    /// Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// Higher goes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    priority: Option<i32>,
    /// Where it works; in a worktree of its own when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    execution_mode: Option<ExecutionMode>,
    /// Its turn among the ordered parts; the last one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subtask_order: Option<u32>,
    /// What must be done before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    depends_on: Option<Vec<TaskId>>,
}

/// Parts that were made.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct Parts {
    /// The parts, in their order.
    items: Vec<Task>,
}

/// Changes to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadTaskDiff {
    /// The task.
    task_id: TaskId,
    /// Which part; everything when absent.
    #[serde(default)]
    scope: Option<Scope>,
    /// A file whose changed lines are shown, too.
    #[serde(default)]
    path: Option<String>,
    /// The first row of that file; 0 when absent.
    #[serde(default)]
    start: Option<u32>,
    /// How many rows of it; 2000 when absent.
    #[serde(default)]
    limit: Option<u32>,
}

/// What to do with what is kept of a module's attempts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct IterationsAction {
    /// Whether they are told or forgotten.
    action: Action,
    /// The module.
    module_id: String,
    /// The run.
    #[serde(default)]
    run_id: Option<String>,
    /// The project that keeps them; the one whose repository or worktree has `cwd` when absent.
    #[serde(rename = "project_id", default)]
    project_id: Option<ProjectId>,
    /// The absolute path of a folder of the project.
    #[serde(default)]
    cwd: Option<String>,
}

/// Whether attempts are told or forgotten.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    /// They are told.
    Get,
    /// They are forgotten.
    Reset,
}

/// What a task changed.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct TaskDiff {
    /// Every changed file.
    changes: DiffSummary,
    /// The changed lines of the file that was asked for; null when none was.
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

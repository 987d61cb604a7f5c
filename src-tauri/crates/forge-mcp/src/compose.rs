//! Tools that are several operations.

use forge_api::{
    ApiError, Client as _,
    operations::{
        TaskAction, TaskAssign, TaskCreate, TaskDiff, TaskDiffFile, TaskGet, ValidateReset, ValidateState,
    },
    ops::{
        TaskPath,
        tasks::{AssignRole, CreateTask, TakeOffer},
        validate::IterationsOf,
        workspaces::{ReadDiff, ReadFileDiff, Scope},
    },
};
use forge_model::{
    diff::{DiffSummary, FileDiff},
    ids::{ProjectId, TaskId},
    offer::Verb,
    task::{ExecutionMode, Task},
};
use schemars::JsonSchema;
use serde::Deserialize;
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
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SubTask {
    /// Title, one line.
    title: String,
    /// Description, Markdown.
    #[serde(default)]
    description: Option<String>,
    /// Priority; higher runs first.
    #[serde(default)]
    priority: Option<i32>,
    /// Where the subtask works; in its own worktree when absent.
    #[serde(default)]
    execution_mode: Option<ExecutionMode>,
    /// Position among the ordered subtasks; last when absent.
    #[serde(default)]
    subtask_order: Option<u32>,
    /// Tasks that this one depends on.
    #[serde(default)]
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
pub(crate) struct ChangesAndFile {
    /// The changed files.
    changes: DiffSummary,
    /// The changed lines of the requested file; null if none was requested.
    file: Option<FileDiff>,
}

pub(crate) fn assign_agent<B: Backend>(contract: Contract<B>, input: Value) -> Running {
    typed(input, |asked: AssignAgent| async move {
        let input = AssignRole {
            task_id: asked.task_id,
            role: asked.role.unwrap_or_else(|| CODER.to_owned()),
            holder: asked.agent_id,
            version: asked.version,
        };
        Ok(contract.call(TaskAssign, input).await?.json)
    })
}

pub(crate) fn cancel_task<B: Backend>(contract: Contract<B>, input: Value) -> Running {
    typed(input, |asked: CancelTask| async move {
        let version = match asked.version {
            Some(version) => version,
            None => contract.task(&asked.task_id).await?.version,
        };
        let input = TakeOffer {
            task_id: asked.task_id,
            verb: Verb::Cancel,
            version,
            reason: asked.reason,
            message: None,
            entry: None,
            commit: None,
            wait: None,
            end_terminals: None,
        };
        Ok(contract.call(TaskAction, input).await?.json)
    })
}

pub(crate) fn create_sub_tasks<B: Backend>(contract: Contract<B>, input: Value) -> Running {
    typed(input, |asked: CreateSubTasks| async move {
        let project = contract.task(&asked.task_id).await?.project_id;
        let (mut made, mut items): (Vec<TaskId>, Vec<Value>) = (Vec::new(), Vec::new());
        for part in asked.tasks {
            let input = CreateTask {
                project_id: project.clone(),
                title: part.title,
                description: part.description,
                priority: part.priority,
                review_config: None,
                merge_config: None,
                task_state_config: None,
                race: None,
                machines: None,
                roles: None,
                depends_on: part.depends_on,
                parent_id: Some(asked.task_id.clone()),
                execution_mode: part.execution_mode,
                subtask_order: part.subtask_order,
            };
            match contract.call(TaskCreate, input).await {
                Ok(task) => {
                    made.push(task.value.id);
                    items.push(task.json);
                }
                Err(error) => return Err(error.with_fact("created", json!(made))),
            }
        }
        Ok(json!({ "items": items }))
    })
}

pub(crate) fn task_diff<B: Backend>(contract: Contract<B>, input: Value) -> Running {
    typed(input, |asked: ReadTaskDiff| async move {
        let of = ReadDiff { task_id: asked.task_id.clone(), scope: asked.scope };
        let changes = contract.call(TaskDiff, of).await?.json;
        let Some(path) = asked.path else { return Ok(json!({ "changes": changes, "file": null })) };
        let of = ReadFileDiff {
            task_id: asked.task_id,
            path,
            scope: asked.scope,
            start: asked.start,
            limit: asked.limit,
            context: None,
            force: None,
        };
        Ok(json!({ "changes": changes, "file": contract.call(TaskDiffFile, of).await?.json }))
    })
}

pub(crate) fn iteration_state<B: Backend>(contract: Contract<B>, input: Value) -> Running {
    typed(input, |asked: IterationsAction| async move {
        let of = IterationsOf {
            module_id: asked.module_id,
            run_id: asked.run_id,
            project_id: asked.project_id,
            cwd: asked.cwd,
        };
        let state = match asked.action {
            Action::Get => contract.call(ValidateState, of).await?,
            Action::Reset => contract.call(ValidateReset, of).await?,
        };
        Ok(state.json)
    })
}

impl<B: Backend> Contract<B> {
    async fn task(&self, id: &TaskId) -> Result<Task, ApiError> {
        Ok(self.call(TaskGet, TaskPath { task_id: id.clone() }).await?.value)
    }
}

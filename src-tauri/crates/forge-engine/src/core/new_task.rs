//! The fields of a task that is about to be created, and its row.

use std::collections::BTreeMap;

use forge_model::event::EventType;
use forge_model::ids::TaskId;
use forge_model::inner_loop::TaskRace;
use forge_model::review::ReviewConfig;
use forge_model::settings::MergeConfig;
use forge_model::task::{ExecutionMode, RoleHolder, TaskStateConfig};
use forge_model::workflow::State;
use forge_store::{Tx, table::tasks::TaskRow};
use serde_json::json;

use crate::{
    World,
    core::{context::ProjectContext, transition::column_states},
    error::Result,
};

/// A task to be made.
#[derive(Debug, Clone, Default)]
pub struct NewTask {
    /// One line.
    pub title: String,
    /// Markdown.
    pub description: String,
    /// Higher goes first.
    pub priority: i32,
    /// Checks on top of the project's.
    pub review_config: Option<ReviewConfig>,
    /// Merging on top of the project's.
    pub merge_config: Option<MergeConfig>,
    /// Its own limits.
    pub task_state_config: Option<TaskStateConfig>,
    /// Holders of its roles.
    pub roles: BTreeMap<String, Option<RoleHolder>>,
    /// Tasks that it depends on.
    pub depends_on: Vec<TaskId>,
    /// Its parent task.
    pub parent_id: Option<TaskId>,
    /// Where it works, if it is a subtask.
    pub execution_mode: Option<ExecutionMode>,
    /// Its turn among its parent's ordered parts; the last one when absent.
    pub subtask_order: Option<u32>,
    /// Its race.
    pub race: Option<TaskRace>,
    /// Labels that its machine must all have, none for this computer; as its agent and project say when absent.
    pub machines: Option<Vec<String>>,
}

/// The row of a new task, at the bottom of the column of its state. It takes the project's next number.
pub(crate) async fn new_row(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    state: &State,
    title: String,
) -> Result<TaskRow> {
    let project = &context.project.id;
    let number = tx.projects_mut().take_task_number(project).await?;
    let position = tx.tasks().bottom(project, &column_states(context, &state.column)).await?;
    let row = TaskRow::new(world.new_id(), project.clone(), number, title, state.name.clone(), world.now());
    Ok(TaskRow { position, ..row })
}

/// Tells of a new task.
pub(crate) async fn announce(world: &World, tx: &mut Tx, row: &TaskRow) -> Result<()> {
    let facts = json!({ "number": row.number, "status": row.status });
    world.emit(tx, EventType::TaskCreated, row, row.id.as_str(), &facts).await
}

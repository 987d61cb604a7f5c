//! The fields of a task that is about to be created.

use std::collections::BTreeMap;

use forge_model::ids::TaskId;
use forge_model::inner_loop::TaskRace;
use forge_model::review::ReviewConfig;
use forge_model::settings::MergeConfig;
use forge_model::task::{ExecutionMode, RoleHolder, TaskStateConfig};

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

//! The stored facts of a run, read before its process starts.

use std::sync::Arc;

use forge_model::agent::Agent;
use forge_model::inner_loop::Strategy;
use forge_model::workspace::Workspace;
use forge_store::table::executions::ExecutionRow;
use forge_store::table::tasks::TaskRow;

use crate::core::context::ProjectContext;

/// Everything a launch needs, read in one go.
pub(crate) struct Prepared {
    pub row: ExecutionRow,
    pub task: TaskRow,
    pub context: Arc<ProjectContext>,
    pub agent: Agent,
    pub workspace: Workspace,
    /// How it goes about the task, as an entry of a race or as what won one.
    pub strategy: Option<Strategy>,
}

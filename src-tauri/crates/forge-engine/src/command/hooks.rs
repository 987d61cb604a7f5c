//! Trying a lifecycle hook out, apart from any move.

use forge_model::hook::{HookTest, LifecycleHook};
use forge_model::ids::{ProjectId, TaskId};
use forge_model::workflow::LifecycleEvent;

use crate::{ConflictCode, Engine, EngineError, error::Result};

/// A hook to be tried.
#[derive(Debug, Clone)]
pub struct HookTestRequest {
    /// The task whose worktree and facts it gets; none for the repository itself.
    pub task_id: Option<TaskId>,
    /// The event.
    pub event: LifecycleEvent,
    /// Its place in the event's list.
    pub index: u32,
    /// The hook itself, when it is not saved yet; else the one at that place.
    pub hook: Option<LifecycleHook>,
    /// The name of its log, chosen by the caller who wants to follow it; made up when absent.
    pub log_id: Option<String>,
}

impl Engine {
    /// Runs a hook with the environment, the time limit and the capture of a real run. Nothing is moved and
    /// no agent is started.
    ///
    /// # Errors
    /// `NotFound`, `Invalid`.
    pub async fn test_hook(&self, project: &ProjectId, request: HookTestRequest) -> Result<HookTest> {
        let _ = (project, request);
        Err(EngineError::conflict(ConflictCode::Stopping, "hooks cannot be tested yet"))
    }
}

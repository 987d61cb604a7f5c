//! Lifecycle hooks.

use forge_engine::HookTestRequest;
use forge_model::actor::Via;
use forge_model::hook::{HookTest, LifecycleHook};
use forge_model::ids::{ProjectId, TaskId};
use forge_model::workflow::LifecycleEvent;

use super::input;
use crate::{Api, ApiError};

input! {
    /// A lifecycle hook to try out.
    pub struct TestHook {
        /// The project.
        pub project_id: ProjectId,
        /// The task whose worktree and facts it gets; the repository itself when absent.
        #[serde(default)]
        pub task_id: Option<TaskId>,
        /// The event.
        pub event: LifecycleEvent,
        /// Its place in the event's list, from 0.
        pub hook_index: u32,
        /// The hook itself, when it is not saved yet.
        #[serde(default)]
        pub hook: Option<LifecycleHook>,
        /// The name of its log, for a caller who wants to follow it while it runs.
        #[serde(default)]
        pub log_id: Option<String>,
    }
}

pub(crate) async fn test(api: Api, _: Via, test: TestHook) -> Result<HookTest, ApiError> {
    let TestHook { project_id, task_id, event, hook_index, hook, log_id } = test;
    let request = HookTestRequest { task_id, event, index: hook_index, hook, log_id };
    Ok(api.engine().test_hook(&project_id, request).await?)
}

//! Lifecycle hooks.

use forge_engine::HookTestRequest;
use forge_model::actor::Actor;
use forge_model::hook::{HookTest, LifecycleHook};
use forge_model::ids::{ProjectId, TaskId};
use forge_model::log::LogPage;
use forge_model::workflow::LifecycleEvent;

use super::{input, limit};
use crate::{Api, ApiError};

input! {
    /// A lifecycle hook to test.
    pub struct TestHook {
        /// The project.
        pub project_id: ProjectId,
        /// The task whose worktree and variables the hook uses; the repository when absent.
        #[serde(default)]
        pub task_id: Option<TaskId>,
        /// The event.
        pub event: LifecycleEvent,
        /// Index in the event's list, from 0.
        pub hook_index: u32,
        /// The hook, if it is not saved yet.
        #[serde(default)]
        pub hook: Option<LifecycleHook>,
        /// Id for the hook's log, for a caller that follows it.
        #[serde(default)]
        pub log_id: Option<String>,
    }
}

input! {
    /// A page of the log of a hook test; its end without `after` and `before`.
    pub struct ReadHookTestLog {
        /// The project.
        pub project_id: ProjectId,
        /// The log of a test in the repository. Logs of tests with a task are logs of that task.
        pub log_id: String,
        /// Only entries after this one.
        #[serde(default)]
        #[specta(type = Option<f64>)]
        pub after: Option<u64>,
        /// Only entries before this one.
        #[serde(default)]
        #[specta(type = Option<f64>)]
        pub before: Option<u64>,
        /// Page size, 1 to 200; 50 when absent.
        #[serde(default)]
        pub limit: Option<u32>,
    }
}

pub(crate) async fn test_log(api: Api, _: Actor, read: ReadHookTestLog) -> Result<LogPage, ApiError> {
    let ReadHookTestLog { project_id, log_id, after, before, limit: count } = read;
    let count = limit(count)? as usize;
    Ok(api.engine().hook_test_log(&project_id, log_id, after, before, count).await?)
}

pub(crate) async fn test(api: Api, _: Actor, test: TestHook) -> Result<HookTest, ApiError> {
    let TestHook { project_id, task_id, event, hook_index, hook, log_id } = test;
    let request = HookTestRequest { task_id, event, index: hook_index, hook, log_id };
    Ok(api.engine().test_hook(&project_id, request).await?)
}

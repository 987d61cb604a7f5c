//! Public methods of [`Engine`] for lifecycle hooks.

use forge_model::hook::HookTest;
use forge_model::ids::ProjectId;
use forge_model::log::LogPage;

use crate::{
    Engine,
    error::Result,
    hook::{self, command::HookTestRequest},
};

impl Engine {
    /// Runs a hook with the environment, the time limit and the capture of a real run. Nothing is moved and
    /// no agent is started; a plugin says what it would do.
    ///
    /// # Errors
    /// `NotFound`, `Invalid`.
    pub async fn test_hook(&self, project: &ProjectId, request: HookTestRequest) -> Result<HookTest> {
        hook::command::test_hook(&self.world, project, request).await
    }

    /// A stretch of the log of a hook that is tested, or was, in the repository itself; empty while it has none.
    ///
    /// # Errors
    /// `NotFound`, `Invalid` for a name that no test's log has.
    pub async fn hook_test_log(
        &self,
        project: &ProjectId,
        log_id: String,
        after: Option<u64>,
        before: Option<u64>,
        limit: usize,
    ) -> Result<LogPage> {
        hook::command::hook_test_log(&self.world, project, log_id, after, before, limit).await
    }
}

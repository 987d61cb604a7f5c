//! Pull requests: how reviewed work reaches the target by way of a code host.

use forge_model::ids::{ProjectId, TaskId};
use forge_model::pull_request::{HostStanding, TaskPullRequest};
use forge_store::table::pull_requests;

use crate::{ConflictCode, Engine, EngineError, error::Result};

/// What of a pull request is sent to the agent.
#[derive(Debug, Clone, Default)]
pub struct PullRequestNews {
    /// Ids of comments, as the host names them.
    pub comments: Vec<String>,
    /// Names of checks that failed.
    pub checks: Vec<String>,
    /// What the person says to it.
    pub message: Option<String>,
}

fn not_served() -> EngineError {
    EngineError::conflict(ConflictCode::NotServed, "pull requests are not served yet")
}

impl Engine {
    /// A task's pull request; `None` when it has none.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn pull_request(&self, id: &TaskId) -> Result<Option<TaskPullRequest>> {
        let mut conn = self.store().read().await?;
        self.load(&mut conn, id, None).await?;
        Ok(pull_requests::get(&mut conn, id).await?.map(|row| TaskPullRequest {
            task_id: row.task_id,
            host: row.host,
            head: row.head,
            pushed_commit: row.pushed_commit,
            pull_request: row.pull_request,
            told: row.told,
            checked_at: row.checked_at,
            next_check_at: row.next_check_at,
            trouble: row.trouble,
        }))
    }

    /// Asks the code host now.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn refresh_pull_request(&self, _id: &TaskId) -> Result<Option<TaskPullRequest>> {
        Err(not_served())
    }

    /// Sends what was said at the code host to the agent, as a follow-up.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn send_pull_request_news(&self, _id: &TaskId, _news: PullRequestNews) -> Result<()> {
        Err(not_served())
    }

    /// Whether a project's code host can be used.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn host_standing(&self, _id: &ProjectId) -> Result<HostStanding> {
        Err(not_served())
    }

    /// Keeps a token for a project's code host in the system's keychain; `None` forgets it.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn put_host_token(&self, _id: &ProjectId, _token: Option<&str>) -> Result<()> {
        Err(not_served())
    }
}

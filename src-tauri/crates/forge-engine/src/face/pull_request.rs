//! Public methods of [`Engine`] for pull requests and code hosts.

use forge_model::actor::Actor;
use forge_model::ids::ProjectId;
use forge_model::ids::TaskId;
use forge_model::pull_request::HostStanding;
use forge_model::pull_request::TaskPullRequest;

use crate::{
    Engine,
    error::Result,
    pull_request::{self, notes::PullRequestNews},
};

impl Engine {
    /// A task's pull request; `None` when it has none.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn pull_request(&self, id: &TaskId) -> Result<Option<TaskPullRequest>> {
        pull_request::pull_request(&self.world, id).await
    }

    /// Asks the code host now. While the task waits for its pull request, what follows from the answer is done
    /// before this returns; otherwise it is only recorded.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn refresh_pull_request(&self, id: &TaskId) -> Result<Option<TaskPullRequest>> {
        pull_request::refresh_pull_request(&self.world, id).await
    }

    /// Sends what was said at the code host to the agent, as a follow-up. The task goes back to work; no retry
    /// is spent, and what the agent makes of it comes to the same pull request.
    ///
    /// # Errors
    /// `NotFound`, `Invalid` for what the pull request does not have, `NothingToContinue` without an agent or once
    /// the task is closed.
    pub async fn send_pull_request_news(
        &self,
        actor: Actor,
        id: &TaskId,
        news: PullRequestNews,
    ) -> Result<()> {
        pull_request::send_pull_request_news(&self.world, actor, id, news).await
    }

    /// Whether a project's code host can be used: one request finds out.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn host_standing(&self, id: &ProjectId) -> Result<HostStanding> {
        pull_request::host_standing(&self.world, id).await
    }

    /// Keeps a token for a project's code host in the system's keychain; `None` forgets it.
    ///
    /// # Errors
    /// `NotFound`, `Invalid` for an empty token, `NoCodeHost`, `KeychainUnavailable`.
    pub async fn put_host_token(&self, id: &ProjectId, token: Option<&str>) -> Result<()> {
        pull_request::put_host_token(&self.world, id, token).await
    }
}

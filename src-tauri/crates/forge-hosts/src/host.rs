//! What every host can do.

use async_trait::async_trait;
use forge_model::issue::{Issue, IssueComment, IssueQuery, LabelChange};
use forge_model::pull_request::PullRequestLink;

use crate::issues::{IssueEtags, IssuePage};
use crate::reading::Fetched;
use crate::{error::HostError, limits::Quota, reading::Etags};

/// A pull request to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPullRequest {
    /// One line, see [`crate::pull_request_title`].
    pub title: String,
    /// Markdown, see [`crate::pull_request_body`].
    pub body: String,
    /// The branch with the work; it was pushed to the same repository.
    pub head: String,
    /// The branch that the work goes into.
    pub base: String,
    /// Whether it is a draft.
    pub draft: bool,
}

/// A repository at a code host.
#[async_trait]
pub trait Host: Send + Sync {
    /// Finds the pull request from `head` into `base`: the open one, or the one that changed last. An interrupted task
    /// finds out in this way that its pull request is already merged.
    ///
    /// # Errors
    /// See [`HostError`].
    async fn find(&self, head: &str, base: &str) -> Result<Option<PullRequestLink>, HostError>;

    /// Opens a pull request. When one is open between the same branches the host refuses ([`HostError::Refused`]);
    /// [`Host::find`] tells which.
    ///
    /// # Errors
    /// See [`HostError`].
    async fn create(&self, new: &NewPullRequest) -> Result<PullRequestLink, HostError>;

    /// Replaces title and body. A draft stays one.
    ///
    /// # Errors
    /// See [`HostError`].
    async fn update(&self, number: u32, title: &str, body: &str) -> Result<PullRequestLink, HostError>;

    /// How a pull request is now. `etags` holds what was read the last time and is replaced when all went well;
    /// an empty one reads everything.
    ///
    /// # Errors
    /// See [`HostError`].
    async fn state(&self, number: u32, etags: &mut Etags) -> Result<Fetched, HostError>;

    /// Writes a comment.
    ///
    /// # Errors
    /// See [`HostError`].
    async fn comment(&self, number: u32, text: &str) -> Result<(), HostError>;

    /// A page of issues, from 1, the newest issue first and without their comments. `known` holds pages that were read
    /// before, so that one that still holds costs the host nothing.
    ///
    /// # Errors
    /// See [`HostError`].
    async fn issues(
        &self,
        query: &IssueQuery,
        page: u32,
        known: &mut IssueEtags,
    ) -> Result<IssuePage, HostError>;

    /// One issue, without its comments.
    ///
    /// # Errors
    /// See [`HostError`].
    async fn issue(&self, number: u32) -> Result<Issue, HostError>;

    /// The last comments of an issue, oldest first. `count` is how many it has.
    ///
    /// # Errors
    /// See [`HostError`].
    async fn issue_comments(&self, number: u32, count: u32) -> Result<Vec<IssueComment>, HostError>;

    /// Writes a comment on an issue.
    ///
    /// # Errors
    /// See [`HostError`].
    async fn comment_issue(&self, number: u32, text: &str) -> Result<(), HostError>;

    /// Closes an issue; one that is closed stays so.
    ///
    /// # Errors
    /// See [`HostError`].
    async fn close_issue(&self, number: u32) -> Result<(), HostError>;

    /// Gives an issue a label, which is made where there is none of that name, and takes others away. Labels that it has,
    /// or lacks, already are left alone.
    ///
    /// # Errors
    /// See [`HostError`].
    async fn label_issue(&self, number: u32, change: &LabelChange) -> Result<(), HostError>;

    /// Whether people who are not members may write issues: the repository is visible beyond its members.
    ///
    /// # Errors
    /// See [`HostError`].
    async fn is_public(&self) -> Result<bool, HostError>;

    /// How many requests the host still grants, as its last answer said; none when it did not say.
    fn quota(&self) -> Option<Quota>;
}

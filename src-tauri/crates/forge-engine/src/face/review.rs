//! Public methods of [`Engine`] for reviews, checks and comments.

use forge_model::actor::Actor;
use forge_model::check_offer::CheckOffer;
use forge_model::comment::Comment;
use forge_model::comment::NewComment;
use forge_model::ids::CommentId;
use forge_model::ids::ProjectId;
use forge_model::ids::TaskId;

use crate::{
    Engine,
    error::Result,
    review::{self, command::DecisionRequest, comments::CommentChange},
};

impl Engine {
    /// The checks that a project is offered: nothing where that is off, or where it has checks.
    ///
    /// # Errors
    /// `NotFound`, and when the repository cannot be read.
    pub async fn check_offers(&self, id: &ProjectId) -> Result<Vec<CheckOffer>> {
        review::check_offers::offered_checks(&self.world, id).await
    }

    /// The checks that the files of a folder's repository imply, before there is a project.
    ///
    /// # Errors
    /// `Invalid` when there is no repository, or no such branch.
    pub async fn check_offers_of_folder(&self, path: &str, branch: Option<&str>) -> Result<Vec<CheckOffer>> {
        review::check_offers::check_offers_of_folder(&self.world, path, branch).await
    }

    /// Makes offered checks the project's own.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` for a command that is not offered.
    pub async fn take_checks(&self, id: &ProjectId, commands: &[String]) -> Result<()> {
        review::check_offers::take_checks(&self.world, id, commands).await
    }

    /// Decides the review that waits for a person.
    ///
    /// # Errors
    /// `NotFound`, `VersionConflict`, `NotAwaiting`, `ReviewerRunning`, `WorkChangedSinceReview` for an approval of other
    /// work than what was reviewed.
    pub async fn decide(&self, actor: Actor, id: &TaskId, request: DecisionRequest) -> Result<()> {
        review::command::decide(&self.world, actor, id, request).await
    }

    /// Stops the checks or the auditor of the review that runs. The review ends undecided; the task stays
    /// where it is and says so.
    ///
    /// # Errors
    /// `NotFound`, `NothingRunning`.
    pub async fn cancel_review(&self, actor: Actor, id: &TaskId) -> Result<()> {
        review::command::cancel_review(&self.world, actor, id).await
    }

    /// A task's comments, oldest first, each with where its lines are now.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn comments(&self, id: &TaskId) -> Result<Vec<Comment>> {
        review::comments::comments(&self.world, id).await
    }

    /// Makes a draft.
    ///
    /// # Errors
    /// `NotFound`, `WorkspaceMissing`, `Escape`, `Invalid` for lines that are not there.
    pub async fn create_comment(&self, id: &TaskId, new: NewComment) -> Result<Comment> {
        review::comments::create_comment(&self.world, id, new).await
    }

    /// Rewrites a draft, or says whether a comment is settled.
    ///
    /// # Errors
    /// `NotFound`, `Invalid`, `AlreadySent` for another text of one that was sent.
    pub async fn update_comment(&self, id: &CommentId, change: CommentChange) -> Result<Comment> {
        review::comments::update_comment(&self.world, id, change).await
    }

    /// Removes a draft.
    ///
    /// # Errors
    /// `NotFound`, `AlreadySent`.
    pub async fn delete_comment(&self, id: &CommentId) -> Result<()> {
        review::comments::delete_comment(&self.world, id).await
    }
}

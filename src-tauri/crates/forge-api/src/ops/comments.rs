//! Comments on lines of a task's diff.

use forge_engine::CommentChange;
use forge_model::actor::Actor;
use forge_model::comment::{Comment, DiffSide, NewComment};
use forge_model::ids::{CommentId, TaskId};

use super::{Done, Page, TaskPath, input};
use crate::{Api, ApiError};

input! {
    /// A comment by its id.
    pub struct CommentPath {
        /// The comment.
        pub comment_id: CommentId,
    }

    /// A draft comment to create.
    pub struct CreateComment {
        /// The task.
        pub task_id: TaskId,
        /// The file, from the root of the repository.
        pub path: String,
        /// Which version of the file; the changed one when absent.
        #[serde(default)]
        pub side: Option<DiffSide>,
        /// First line, from 1; the whole file when absent.
        #[serde(default)]
        pub line: Option<u32>,
        /// Last line; the first line when absent.
        #[serde(default)]
        pub last_line: Option<u32>,
        /// Text of the comment, Markdown.
        pub text: String,
    }

    /// Changes to a comment.
    pub struct UpdateComment {
        /// The comment.
        pub comment_id: CommentId,
        /// New text; only for a draft.
        #[serde(default)]
        pub text: Option<String>,
        /// Whether the comment is resolved.
        #[serde(default)]
        pub resolved: Option<bool>,
    }
}

pub(crate) async fn list(api: Api, _: Actor, path: TaskPath) -> Result<Page<Comment>, ApiError> {
    Ok(Page::whole(api.engine().comments(&path.task_id).await?))
}

pub(crate) async fn create(api: Api, _: Actor, new: CreateComment) -> Result<Comment, ApiError> {
    let side = new.side.unwrap_or(DiffSide::New);
    let comment =
        NewComment { path: new.path, side, line: new.line, last_line: new.last_line, text: new.text };
    Ok(api.engine().create_comment(&new.task_id, comment).await?)
}

pub(crate) async fn update(api: Api, _: Actor, change: UpdateComment) -> Result<Comment, ApiError> {
    let asked = CommentChange { text: change.text, resolved: change.resolved };
    Ok(api.engine().update_comment(&change.comment_id, asked).await?)
}

pub(crate) async fn delete(api: Api, _: Actor, path: CommentPath) -> Result<Done, ApiError> {
    api.engine().delete_comment(&path.comment_id).await?;
    Ok(Done::yes())
}

//! The handlers, a file per subject, each with its inputs and answers.

pub mod access;
pub mod agents;
pub mod attachments;
pub mod changes;
pub mod comments;
pub mod costs;
pub mod diagnostics;
pub mod executions;
pub mod fixes;
pub mod folders;
pub mod hooks;
pub mod issues;
pub mod knowledge;
pub mod machines;
pub mod merges;
pub mod notifications;
pub mod projects;
pub mod races;
pub mod reviews;
pub mod services;
pub mod settings;
pub mod storage;
pub mod system;
pub mod tasks;
pub mod teaching;
pub mod terminals;
pub mod trust;
pub mod validate;
pub mod workflows;
pub mod workspaces;

use forge_engine::{IfLocked, Settle};
use forge_model::ids::{AgentId, ReviewId, TaskId};
use forge_model::review::Review;
use forge_model::task::{HolderKind, RoleHolder, Task};

pub(crate) use crate::limits::limit;
use crate::{Api, ApiError};

/// The derives that inputs share: the engine reads them and refuses unknown fields, clients write them.
macro_rules! input {
    ($($item:item)*) => {$(
        #[derive(Debug, Clone, serde::Serialize, serde::Deserialize, specta::Type, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        $item
    )*};
}

/// The derives that answers share: the engine writes them, clients read them.
macro_rules! answer {
    ($($item:item)*) => {$(
        #[derive(Debug, Clone, serde::Serialize, serde::Deserialize, specta::Type, schemars::JsonSchema)]
        $item
    )*};
}

pub(crate) use answer;
pub(crate) use input;

input! {
    /// Nothing.
    pub struct Empty {}

    /// A task by its id.
    pub struct TaskPath {
        /// The task.
        pub task_id: TaskId,
    }
}

answer! {
    /// A page of a list.
    pub struct Page<T> {
        /// The items.
        pub items: Vec<T>,
        /// Cursor of the next page; null on the last page.
        pub next_cursor: Option<String>,
    }

    /// Done, without further data.
    pub struct Done {
        /// Always true.
        pub done: bool,
    }

    /// A task and the review that it entered, or that was decided.
    pub struct TaskAndReview {
        /// The task.
        pub task: Task,
        /// After a decision its latest review; after anything else that moves it, the one that was entered since,
        /// null when none was.
        pub review: Option<Review>,
        /// What a person should know about it: that it was closed without merging, and what stays where.
        pub notice: Option<String>,
    }
}

impl<T> Page<T> {
    pub(crate) const fn whole(items: Vec<T>) -> Self {
        Self { items, next_cursor: None }
    }
}

impl Done {
    pub(crate) const fn yes() -> Self {
        Self { done: true }
    }
}

/// Whether an answer waits for what follows.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    specta::Type,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// Until an agent or a person acts next, or the task waits.
    #[default]
    Settled,
    /// Not at all.
    None,
}

/// How a call behaves when it needs a worktree that is in use.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    specta::Type,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum OnLock {
    /// It waits in the queue.
    #[default]
    Wait,
    /// It is refused with `workspace_locked`.
    Reject,
}

impl From<OnLock> for IfLocked {
    fn from(on_lock: OnLock) -> Self {
        match on_lock {
            OnLock::Wait => Self::Wait,
            OnLock::Reject => Self::Reject,
        }
    }
}

impl From<Wait> for Settle {
    fn from(wait: Wait) -> Self {
        match wait {
            Wait::Settled => Self::Settled,
            Wait::None => Self::None,
        }
    }
}

/// `"user"` is the person; everything else is an agent's id.
pub(crate) fn holder(text: &str) -> RoleHolder {
    match text {
        "user" => RoleHolder { kind: HolderKind::User, id: None },
        id => RoleHolder { kind: HolderKind::Agent, id: Some(AgentId::from(id)) },
    }
}

/// The task and its latest review once what was begun has settled, or at once.
pub(crate) async fn settled(api: &Api, id: &TaskId, wait: Option<Wait>) -> Result<TaskAndReview, ApiError> {
    if Settle::from(wait.unwrap_or_default()) == Settle::Settled {
        api.engine().wait_until_idle(id).await?;
    } else {
        // The answer names the review that was entered, which begins with a commit.
        api.engine().enter_gate(id).await?;
    }
    let (task, review) = (api.engine().task(id).await?, api.engine().last_review(id).await?);
    Ok(TaskAndReview { notice: task.closing_notice(), task, review })
}

/// The review that a task had last before something was done with it.
pub(crate) struct Before(Option<ReviewId>);

impl Before {
    /// As it is now.
    pub(crate) async fn now(api: &Api, id: &TaskId) -> Result<Self, ApiError> {
        Ok(Self(api.engine().last_review(id).await?.map(|review| review.id)))
    }

    /// The task once what was begun has settled, or at once, and the review that it entered since.
    pub(crate) async fn settled(
        self,
        api: &Api,
        id: &TaskId,
        wait: Option<Wait>,
    ) -> Result<TaskAndReview, ApiError> {
        let mut now = settled(api, id, wait).await?;
        now.review = now.review.filter(|review| self.0.as_ref() != Some(&review.id));
        Ok(now)
    }
}

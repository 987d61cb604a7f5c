//! Merges, conflicts, pull requests and what was delivered.

use forge_engine::PullRequestNews;
use forge_model::actor::Actor;
use forge_model::delivery::Delivery;
use forge_model::ids::{ProjectId, TaskId};
use forge_model::merge::{Conflict, ConflictFile, ConflictStanding, Merge, MergeQueueEntry};
use forge_model::pull_request::{HostStanding, TaskPullRequest};
use forge_model::task::Task;

use super::{Done, Page, TaskPath, answer, input, projects::ProjectPath};
use crate::{Api, ApiError};

input! {
    /// A file in conflict.
    pub struct ConflictPathInput {
        /// The task.
        pub task_id: TaskId,
        /// The file, from the root of the repository.
        pub path: String,
    }

    /// Comments and checks of a pull request to send to the agent.
    pub struct SendNews {
        /// The task.
        pub task_id: TaskId,
        /// Ids of comments.
        #[serde(default)]
        pub comments: Vec<String>,
        /// Names of failed checks.
        #[serde(default)]
        pub checks: Vec<String>,
        /// A message of the user.
        #[serde(default)]
        pub message: Option<String>,
    }

    /// A token for a project's code host.
    pub struct PutToken {
        /// The project.
        pub project_id: ProjectId,
        /// The token; stored in the system's keychain only.
        pub token: String,
    }
}

answer! {
    /// The conflict of a task's latest merge attempt.
    pub struct ConflictAnswer {
        /// The conflict; null if there is none.
        pub conflict: Option<Conflict>,
        /// State of the conflict; null if there is none.
        pub standing: Option<ConflictStanding>,
    }

    /// A task's pull request.
    pub struct PullRequestAnswer {
        /// The pull request; null if there is none.
        pub pull_request: Option<TaskPullRequest>,
    }
}

pub(crate) async fn list(api: Api, _: Actor, path: TaskPath) -> Result<Page<Merge>, ApiError> {
    Ok(Page::whole(api.engine().merges(&path.task_id).await?))
}

pub(crate) async fn queue(api: Api, _: Actor, path: ProjectPath) -> Result<Page<MergeQueueEntry>, ApiError> {
    Ok(Page::whole(api.engine().merge_queue(&path.project_id).await?))
}

pub(crate) async fn conflict(api: Api, _: Actor, path: TaskPath) -> Result<ConflictAnswer, ApiError> {
    let (conflict, standing) = api.engine().conflict(&path.task_id).await?.unzip();
    Ok(ConflictAnswer { conflict, standing })
}

pub(crate) async fn conflict_file(
    api: Api,
    _: Actor,
    file: ConflictPathInput,
) -> Result<ConflictFile, ApiError> {
    Ok(api.engine().conflict_file(&file.task_id, &file.path).await?)
}

pub(crate) async fn delivery(api: Api, _: Actor, path: TaskPath) -> Result<Delivery, ApiError> {
    Ok(api.engine().delivery(&path.task_id).await?)
}

pub(crate) async fn pull_request(api: Api, _: Actor, path: TaskPath) -> Result<PullRequestAnswer, ApiError> {
    Ok(PullRequestAnswer { pull_request: api.engine().pull_request(&path.task_id).await? })
}

pub(crate) async fn refresh_pull_request(
    api: Api,
    _: Actor,
    path: TaskPath,
) -> Result<PullRequestAnswer, ApiError> {
    Ok(PullRequestAnswer { pull_request: api.engine().refresh_pull_request(&path.task_id).await? })
}

pub(crate) async fn send_news(api: Api, actor: Actor, news: SendNews) -> Result<Task, ApiError> {
    let told = PullRequestNews { comments: news.comments, checks: news.checks, message: news.message };
    api.engine().send_pull_request_news(actor, &news.task_id, told).await?;
    Ok(api.engine().task(&news.task_id).await?)
}

pub(crate) async fn host(api: Api, _: Actor, path: ProjectPath) -> Result<HostStanding, ApiError> {
    Ok(api.engine().host_standing(&path.project_id).await?)
}

pub(crate) async fn put_token(api: Api, _: Actor, put: PutToken) -> Result<Done, ApiError> {
    api.engine().put_host_token(&put.project_id, Some(&put.token)).await?;
    Ok(Done::yes())
}

pub(crate) async fn forget_token(api: Api, _: Actor, path: ProjectPath) -> Result<Done, ApiError> {
    api.engine().put_host_token(&path.project_id, None).await?;
    Ok(Done::yes())
}

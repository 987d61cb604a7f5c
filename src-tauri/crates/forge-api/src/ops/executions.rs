//! Runs of agents and logs.

use forge_engine::SayRequest;
use forge_model::actor::Actor;
use forge_model::approval::Approval;
use forge_model::execution::Execution;
use forge_model::ids::{ApprovalId, AttachmentId, ExecutionId, TaskId};
use forge_model::log::LogPage;
use forge_model::run::RunInfo;
use forge_model::task::Task;

use super::{Empty, OnLock, Page, TaskPath, answer, input, limit};
use crate::{Api, ApiError};

input! {
    /// A run by its id.
    pub struct ExecutionPath {
        /// The run.
        pub execution_id: ExecutionId,
    }

    /// A page of a log; its end without `after` and `before`.
    pub struct ReadLog {
        /// The run, or the `log_id` of a check, a hook or a setup command.
        pub execution_id: ExecutionId,
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

    /// A page of any log of a task; its end without `after` and `before`.
    pub struct ReadTaskLog {
        /// The task.
        pub task_id: TaskId,
        /// The log: a run's id, or the `log_id` of a check or step.
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

    /// A long text to read.
    pub struct ReadLogText {
        /// The task.
        pub task_id: TaskId,
        /// The log.
        pub log_id: String,
        /// The entry that the text belongs to.
        #[specta(type = f64)]
        pub seq: u64,
    }

    /// Which approvals to list.
    pub struct ListApprovals {
        /// Only this task.
        #[serde(default)]
        pub task_id: Option<TaskId>,
        /// Whether to include answered and expired approvals.
        #[serde(default)]
        pub all: Option<bool>,
    }

    /// The answer to an approval.
    pub struct AnswerApproval {
        /// The run that asked.
        pub execution_id: ExecutionId,
        /// The approval.
        pub approval_id: ApprovalId,
        /// The chosen option.
        pub option: String,
        /// A message for the agent with the answer.
        #[serde(default)]
        pub note: Option<String>,
    }

    /// A message to an agent.
    pub struct FollowUp {
        /// The run.
        pub execution_id: ExecutionId,
        /// The text; may be empty when comments or files are sent.
        pub message: String,
        /// Whether to send the task's draft comments as well.
        #[serde(default)]
        pub with_comments: Option<bool>,
        /// Ids of attached files to send.
        #[serde(default)]
        pub attachments: Option<Vec<AttachmentId>>,
        /// Whether to deliver the message to the running agent immediately, if its program supports that. Otherwise the
        /// message is delivered after the run.
        #[serde(default)]
        pub at_once: Option<bool>,
        /// What to do while the worktree is in use.
        #[serde(default)]
        pub if_locked: Option<OnLock>,
    }
}

answer! {
    /// A text.
    pub struct LogText {
        /// The text.
        pub text: String,
    }
}

pub(crate) async fn list(api: Api, _: Actor, path: TaskPath) -> Result<Page<Execution>, ApiError> {
    Ok(Page::whole(api.engine().executions(&path.task_id).await?))
}

pub(crate) async fn get(api: Api, _: Actor, path: ExecutionPath) -> Result<Execution, ApiError> {
    Ok(api.engine().execution(&path.execution_id).await?)
}

pub(crate) async fn logs(api: Api, _: Actor, read: ReadLog) -> Result<LogPage, ApiError> {
    let limit = limit(read.limit)? as usize;
    Ok(api.engine().any_log_page(read.execution_id.as_str(), read.after, read.before, limit).await?)
}

pub(crate) async fn task_log(api: Api, _: Actor, read: ReadTaskLog) -> Result<LogPage, ApiError> {
    let limit = limit(read.limit)? as usize;
    Ok(api.engine().log_page(&read.task_id, &read.log_id, read.after, read.before, limit).await?)
}

pub(crate) async fn log_text(api: Api, _: Actor, read: ReadLogText) -> Result<LogText, ApiError> {
    Ok(LogText { text: api.engine().log_blob(&read.task_id, &read.log_id, read.seq).await? })
}

pub(crate) async fn approvals(api: Api, _: Actor, list: ListApprovals) -> Result<Page<Approval>, ApiError> {
    let pending_only = !list.all.unwrap_or(false);
    Ok(Page::whole(api.engine().approvals(list.task_id.as_ref(), pending_only).await?))
}

pub(crate) async fn answer_approval(api: Api, actor: Actor, a: AnswerApproval) -> Result<Approval, ApiError> {
    Ok(api.engine().answer_approval(actor, &a.execution_id, &a.approval_id, &a.option, a.note).await?)
}

pub(crate) async fn runs(api: Api, _: Actor, _: Empty) -> Result<Page<RunInfo>, ApiError> {
    Ok(Page::whole(api.engine().runs().await?))
}

pub(crate) async fn stop(api: Api, _: Actor, path: ExecutionPath) -> Result<Task, ApiError> {
    let task = api.engine().stop_execution(&path.execution_id).await?;
    Ok(api.engine().task(&task).await?)
}

pub(crate) async fn follow_up(api: Api, actor: Actor, follow_up: FollowUp) -> Result<Task, ApiError> {
    let request = SayRequest {
        message: follow_up.message,
        with_comments: follow_up.with_comments.unwrap_or(false),
        attachments: follow_up.attachments.unwrap_or_default(),
        if_locked: follow_up.if_locked.unwrap_or_default().into(),
        at_once: follow_up.at_once.unwrap_or(false),
    };
    let task = api.engine().follow_up(actor, &follow_up.execution_id, request).await?;
    Ok(api.engine().task(&task).await?)
}

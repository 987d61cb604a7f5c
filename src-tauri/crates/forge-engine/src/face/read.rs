//! Public methods of [`Engine`] for reading tasks, histories, logs and diffs.

use forge_git::DiffPage;
use forge_model::comment::DiffSide;
use forge_model::diff::DiffSummary;
use forge_model::diff::FileDiff;
use forge_model::event::Event;
use forge_model::execution::Execution;
use forge_model::ids::ExecutionId;
use forge_model::ids::NotificationId;
use forge_model::ids::ProjectId;
use forge_model::ids::TaskId;
use forge_model::layer::Layer;
use forge_model::log::LogPage;
use forge_model::loop_status::SubsystemStatus;
use forge_model::notification::Notification;
use forge_model::review::Review;
use forge_model::task::Task;
use forge_model::transition::Transition;

use crate::{
    Engine, TaskPage,
    error::Result,
    read::{self, preview::Preview},
    workspace::diff_scope::DiffRequest,
};

impl Engine {
    /// Each part of a project's inner loop: on or off and who says so, what it did last, what of it is open.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn inner_loop_status(&self, id: &ProjectId) -> Result<Vec<SubsystemStatus>> {
        read::loop_status::inner_loop_status(&self.world, id).await
    }

    /// A page of a project's tasks in board order.
    ///
    /// # Errors
    /// `NotFound` for the project and the machine, `Invalid` for a cursor that is none.
    pub async fn tasks(
        &self,
        project: &ProjectId,
        states: Vec<String>,
        text: Option<String>,
        machine: Option<&str>,
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<TaskPage> {
        read::tasks(&self.world, project, states, text, machine, cursor, limit).await
    }

    /// A task by its number.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn task_by_number(&self, project: &ProjectId, number: u32) -> Result<Task> {
        read::task_by_number(&self.world, project, number).await
    }

    /// Tasks that need the person, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn attention(&self, limit: u32) -> Result<Vec<Task>> {
        read::attention(&self.world, limit).await
    }

    /// A task's reviews, oldest first.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn reviews(&self, id: &TaskId) -> Result<Vec<Review>> {
        read::reviews(&self.world, id).await
    }

    /// A task's latest review.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn last_review(&self, id: &TaskId) -> Result<Option<Review>> {
        read::last_review(&self.world, id).await
    }

    /// A task's executions, oldest first. Those of the entry that won its race come first: its work is the task's.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn executions(&self, id: &TaskId) -> Result<Vec<Execution>> {
        read::executions(&self.world, id).await
    }

    /// One execution.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn execution(&self, id: &ExecutionId) -> Result<Execution> {
        read::execution(&self.world, id).await
    }

    /// A task's moves with what ran after each, oldest first.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn transitions(&self, id: &TaskId) -> Result<Vec<Transition>> {
        read::transitions(&self.world, id).await
    }

    /// What the next run of a task's agent would be told.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn prompt_preview(&self, id: &TaskId) -> Result<Vec<Layer>> {
        read::prompt_preview(&self.world, id).await
    }

    /// A stretch of any log, by the id of a run or the name that a check, a hook, its test or a set-up gave.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn any_log_page(
        &self,
        id: &str,
        after: Option<u64>,
        before: Option<u64>,
        limit: usize,
    ) -> Result<LogPage> {
        read::any_log_page(&self.world, id, after, before, limit).await
    }

    /// A stretch of a log of a task: an execution's, a check's or a set-up's.
    ///
    /// # Errors
    /// `NotFound` when there is no such log.
    pub async fn log_page(
        &self,
        task: &TaskId,
        log_id: &str,
        after: Option<u64>,
        before: Option<u64>,
        limit: usize,
    ) -> Result<LogPage> {
        read::log_page(&self.world, task, log_id, after, before, limit).await
    }

    /// The whole of a text that a log keeps apart.
    ///
    /// # Errors
    /// When there is none.
    pub async fn log_blob(&self, task: &TaskId, log_id: &str, seq: u64) -> Result<String> {
        read::log_blob(&self.world, task, log_id, seq).await
    }

    /// The changed files of a task.
    ///
    /// # Errors
    /// `NotFound`, `WorkspaceMissing` when work never started.
    pub async fn diff(&self, id: &TaskId, request: DiffRequest) -> Result<DiffSummary> {
        read::diff(&self.world, id, request).await
    }

    /// A page of one changed file.
    ///
    /// # Errors
    /// `NotFound`, `WorkspaceMissing` when work never started.
    pub async fn diff_file(
        &self,
        id: &TaskId,
        request: DiffRequest,
        path: &str,
        page: DiffPage,
    ) -> Result<FileDiff> {
        read::diff_file(&self.world, id, request, path, page).await
    }

    /// Notifications, newest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn notifications(&self, limit: u32) -> Result<Vec<Notification>> {
        read::notifications(&self.world, limit).await
    }

    /// One notification.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn notification(&self, id: &NotificationId) -> Result<Notification> {
        read::notification(&self.world, id).await
    }

    /// Marks notifications as seen; all of them when none is named.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn mark_read(&self, ids: Option<&[NotificationId]>) -> Result<()> {
        read::mark_read(&self.world, ids).await
    }

    /// At most `limit` events after `after`, oldest first; none when events after it are no longer kept.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn events_after(&self, after: i64, limit: u32) -> Result<Option<Vec<Event>>> {
        read::events_after(&self.world, after, limit).await
    }

    /// One side of a changed file as a picture. No more than [`MAX_PREVIEW_BYTES`] are ever read.
    ///
    /// # Errors
    /// `NotFound` for the task or a file that did not change, `Escape`, `WorkspaceMissing` when work never started.
    pub async fn preview(
        &self,
        id: &TaskId,
        request: DiffRequest,
        path: &str,
        side: DiffSide,
    ) -> Result<Preview> {
        read::preview::preview(&self.world, id, request, path, side).await
    }
}

//! Public methods of [`Engine`] for issues.

use forge_model::ids::{IssueImportId, ProjectId, TaskId};
use forge_model::issue::{IssueChoice, IssueImport, IssueListing, IssueQuery, TaskIssue};
use forge_model::task::Task;

use crate::{
    Engine,
    error::Result,
    issue::{self, NewImport},
};

impl Engine {
    /// A page of the issues of a project's code host, from 1, newest first, with the tasks that they were imported as.
    ///
    /// # Errors
    /// `NotFound`, `NoCodeHost`, `HostUnavailable`.
    pub async fn issues(&self, project: &ProjectId, query: &IssueQuery, page: u32) -> Result<IssueListing> {
        issue::issues(&self.world, project, query, page).await
    }

    /// Begins to import issues. Each becomes a task; one that is a task already is compared with it.
    ///
    /// # Errors
    /// `NotFound`, `NoCodeHost`, `Invalid` for what is not to be read or for a state in which no task is created.
    pub async fn import_issues(&self, project: &ProjectId, new: NewImport) -> Result<IssueImport> {
        issue::import_issues(&self.world, project, new).await
    }

    /// The latest imports of a project, newest first.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn issue_imports(&self, project: &ProjectId) -> Result<Vec<IssueImport>> {
        issue::issue_imports(&self.world, project).await
    }

    /// One import.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn issue_import(&self, id: &IssueImportId) -> Result<IssueImport> {
        issue::issue_import(&self.world, id).await
    }

    /// Stops an import. Tasks that it created stay.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn cancel_issue_import(&self, id: &IssueImportId) -> Result<IssueImport> {
        issue::cancel_import(&self.world, id).await
    }

    /// Continues an import that failed or waits, now.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn continue_issue_import(&self, id: &IssueImportId) -> Result<IssueImport> {
        issue::continue_import(&self.world, id).await
    }

    /// The issue that a task was imported from; `None` for any other task.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn task_issue(&self, id: &TaskId) -> Result<Option<TaskIssue>> {
        issue::task_issue(&self.world, id).await
    }

    /// Tries now what could not be written to the issue of a task.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn retry_issue_reports(&self, id: &TaskId) -> Result<Option<TaskIssue>> {
        issue::retry_reports(&self.world, id).await
    }

    /// Decides which text a task keeps where its issue says something else.
    ///
    /// # Errors
    /// `NotFound`, `StaleVersion`, `NothingToResolve` when they do not differ.
    pub async fn resolve_issue(&self, id: &TaskId, version: Option<u32>, keep: IssueChoice) -> Result<Task> {
        issue::resolve_issue(&self.world, id, version, keep).await
    }
}

//! Issues: tasks that come from a code host or a file.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use forge_engine::{ImportFrom, NewImport};
use forge_model::actor::Actor;
use forge_model::ids::{IssueImportId, ProjectId, TaskId};
use forge_model::issue::{
    IssueChoice, IssueFilter, IssueImport, IssueKind, IssueListing, IssueQuery, TaskIssue,
};
use forge_model::task::Task;

use super::{Page, TaskPath, answer, input, projects::ProjectPath};
use crate::{Api, ApiError};

/// The largest body of an [`ImportFile`].
pub(crate) const MAX_BODY: usize = 64 * 1024 * 1024;

input! {
    /// Which issues of the project's code host to list.
    pub struct ListIssues {
        /// The project.
        pub project_id: ProjectId,
        /// Words to search for.
        #[serde(default)]
        pub q: Option<String>,
        /// Labels that an issue must all have, separated by commas.
        #[serde(default)]
        pub labels: Option<String>,
        /// State of the issues; open ones when absent.
        #[serde(default)]
        pub state: Option<IssueFilter>,
        /// Number of the page, from 1; the first one when absent.
        #[serde(default)]
        pub page: Option<u32>,
    }

    /// Issues of the project's code host to import: those with some numbers, or all that are found.
    pub struct ImportIssues {
        /// The project.
        pub project_id: ProjectId,
        /// Numbers of the issues; when absent, all that the other fields find.
        #[serde(default)]
        pub numbers: Option<Vec<u32>>,
        /// Words to search for.
        #[serde(default)]
        pub q: Option<String>,
        /// Labels that an issue must all have.
        #[serde(default)]
        pub labels: Option<Vec<String>>,
        /// State of the issues; open ones when absent.
        #[serde(default)]
        pub state: Option<IssueFilter>,
        /// State of the workflow for new tasks, of kind `backlog` or `initial`; the backlog when absent.
        #[serde(default)]
        pub into: Option<String>,
    }

    /// A file with issues to import.
    pub struct ImportFile {
        /// The project.
        pub project_id: ProjectId,
        /// File name; a later import of a file with this name finds its tasks again.
        pub name: String,
        /// Format: `markdown`, `csv` or `vibe_kanban`; derived from the name when absent.
        #[serde(default)]
        pub kind: Option<IssueKind>,
        /// Content of a text file.
        #[serde(default)]
        pub text: Option<String>,
        /// Content in base64 instead; for a database of vibe-kanban.
        #[serde(default)]
        pub data: Option<String>,
        /// Name of the project in a database of vibe-kanban; needed if it has several.
        #[serde(default)]
        pub board: Option<String>,
        /// State of the workflow for new tasks, of kind `backlog` or `initial`; the backlog when absent.
        #[serde(default)]
        pub into: Option<String>,
    }

    /// An import, by id.
    pub struct ImportPath {
        /// The import.
        pub import_id: IssueImportId,
    }

    /// Which text a task keeps.
    pub struct ResolveIssue {
        /// The task.
        pub task_id: TaskId,
        /// Whose text to keep.
        pub keep: IssueChoice,
        /// Version of the task; rejected if the task has changed since.
        #[serde(default)]
        pub version: Option<u32>,
    }
}

answer! {
    /// The issue that a task was imported from.
    pub struct TaskIssueAnswer {
        /// The issue; null for a task that was not imported.
        pub issue: Option<TaskIssue>,
    }
}

/// A text without the space around it; none when nothing is left.
fn words(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

pub(crate) async fn list(api: Api, _: Actor, asked: ListIssues) -> Result<IssueListing, ApiError> {
    let labels = asked.labels.unwrap_or_default();
    let query = IssueQuery {
        text: words(asked.q),
        labels: labels.split(',').filter_map(|label| words(Some(label.to_owned()))).collect(),
        state: asked.state.unwrap_or_default(),
    };
    let page = asked.page.unwrap_or(1);
    if page == 0 {
        return Err(ApiError::invalid("page", "must be at least 1"));
    }
    Ok(api.engine().issues(&asked.project_id, &query, page).await?)
}

pub(crate) async fn import(api: Api, _: Actor, asked: ImportIssues) -> Result<IssueImport, ApiError> {
    let narrows = asked.q.is_some() || asked.labels.is_some() || asked.state.is_some();
    let from = match asked.numbers {
        Some(_) if narrows => {
            return Err(ApiError::invalid("numbers", "must not be combined with `q`, `labels` or `state`"));
        }
        Some(numbers) => ImportFrom::Numbers(numbers),
        None => ImportFrom::Query(IssueQuery {
            text: words(asked.q),
            labels: asked.labels.unwrap_or_default(),
            state: asked.state.unwrap_or_default(),
        }),
    };
    Ok(api.engine().import_issues(&asked.project_id, NewImport { from, into: asked.into }).await?)
}

pub(crate) async fn import_file(api: Api, _: Actor, file: ImportFile) -> Result<IssueImport, ApiError> {
    let content = match (file.text, file.data) {
        (Some(text), None) => text.into_bytes(),
        (None, Some(data)) => {
            BASE64_STANDARD.decode(data).map_err(|_| ApiError::invalid("data", "must be base64"))?
        }
        _ => return Err(ApiError::invalid("text", "either `text` or `data` is required")),
    };
    let from = ImportFrom::File { kind: file.kind, name: file.name, content, project: file.board };
    Ok(api.engine().import_issues(&file.project_id, NewImport { from, into: file.into }).await?)
}

pub(crate) async fn imports(api: Api, _: Actor, path: ProjectPath) -> Result<Page<IssueImport>, ApiError> {
    Ok(Page::whole(api.engine().issue_imports(&path.project_id).await?))
}

pub(crate) async fn get(api: Api, _: Actor, path: ImportPath) -> Result<IssueImport, ApiError> {
    Ok(api.engine().issue_import(&path.import_id).await?)
}

pub(crate) async fn cancel(api: Api, _: Actor, path: ImportPath) -> Result<IssueImport, ApiError> {
    Ok(api.engine().cancel_issue_import(&path.import_id).await?)
}

pub(crate) async fn resume(api: Api, _: Actor, path: ImportPath) -> Result<IssueImport, ApiError> {
    Ok(api.engine().continue_issue_import(&path.import_id).await?)
}

pub(crate) async fn of_task(api: Api, _: Actor, path: TaskPath) -> Result<TaskIssueAnswer, ApiError> {
    Ok(TaskIssueAnswer { issue: api.engine().task_issue(&path.task_id).await? })
}

pub(crate) async fn retry(api: Api, _: Actor, path: TaskPath) -> Result<TaskIssueAnswer, ApiError> {
    Ok(TaskIssueAnswer { issue: api.engine().retry_issue_reports(&path.task_id).await? })
}

pub(crate) async fn resolve(api: Api, _: Actor, choice: ResolveIssue) -> Result<Task, ApiError> {
    Ok(api.engine().resolve_issue(&choice.task_id, choice.version, choice.keep).await?)
}

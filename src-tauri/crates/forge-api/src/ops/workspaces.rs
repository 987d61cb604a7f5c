//! Worktrees, backups and diffs.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use forge_engine::{DiffPage, DiffRequest, Preview};
use forge_model::actor::Actor;
use forge_model::comment::DiffSide;
use forge_model::diff::{DiffSummary, FileDiff};
use forge_model::ids::{ProjectId, TaskId};
use forge_model::preview::FilePreview;
use forge_model::task::Task;
use forge_model::workspace::{
    ImportOffer, OrphanFolder, ProjectDisk, Workspace, WorkspaceBackup, WorkspacePlace, WorkspaceView,
};

use super::{Done, Empty, Page, TaskPath, input, projects::ProjectPath};
use crate::{Api, ApiError};

/// Rows of a file's diff that one page has unless asked otherwise, and at most.
const DEFAULT_ROWS: u32 = 2_000;
const MAX_ROWS: u32 = 20_000;
/// Unchanged lines around a change, unless asked otherwise.
const CONTEXT: u32 = 3;

/// Which of a task's changes to show.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    serde::Deserialize,
    serde::Serialize,
    specta::Type,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// All changes since the branch point, committed or not.
    #[default]
    Task,
    /// Uncommitted changes.
    Uncommitted,
    /// Changes of the latest run.
    Turn,
    /// Changes since the last review.
    SinceReview,
}

impl From<Scope> for DiffRequest {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Task => Self::Task,
            Scope::Uncommitted => Self::Uncommitted,
            Scope::Turn => Self::Turn,
            Scope::SinceReview => Self::SinceReview,
        }
    }
}

input! {
    /// A task whose worktree is to be removed or reset.
    pub struct LeaveWorktree {
        /// The task.
        pub task_id: TaskId,
        /// Whether to end programs that run in the task's terminals; refused with `terminal_busy` otherwise.
        #[serde(default)]
        pub end_terminals: Option<bool>,
    }

    /// A backup to restore.
    pub struct RestoreBackup {
        /// The task.
        pub task_id: TaskId,
        /// The backup's commit.
        pub commit: String,
    }

    /// A folder that belongs to no task.
    pub struct OrphanPath {
        /// Path of the folder, as listed.
        pub path: String,
    }

    /// An orphaned folder that becomes the worktree of a new task.
    pub struct AdoptOrphan {
        /// Path of the folder, as listed.
        pub path: String,
        /// The project of the new task.
        pub project_id: ProjectId,
        /// Title of the new task; the branch's name when absent.
        #[serde(default)]
        pub title: Option<String>,
    }

    /// Changes to list.
    pub struct ReadDiff {
        /// The task.
        pub task_id: TaskId,
        /// Which changes; all when absent.
        #[serde(default)]
        pub scope: Option<Scope>,
    }

    /// A page of one file's changes to read.
    pub struct ReadFileDiff {
        /// The task.
        pub task_id: TaskId,
        /// Which changes; all when absent.
        #[serde(default)]
        pub scope: Option<Scope>,
        /// The file.
        pub path: String,
        /// The first row; 0 when absent.
        #[serde(default)]
        pub start: Option<u32>,
        /// Number of rows; 2000 when absent.
        #[serde(default)]
        #[schemars(range(min = 1, max = 20_000))]
        pub limit: Option<u32>,
        /// Unchanged lines around a change; 3 when absent.
        #[serde(default)]
        pub context: Option<u32>,
        /// Whether to show a very large file anyway.
        #[serde(default)]
        pub force: Option<bool>,
    }

    /// One side of a changed file, to show as an image.
    pub struct ReadPreview {
        /// The task.
        pub task_id: TaskId,
        /// Which changes; all when absent.
        #[serde(default)]
        pub scope: Option<Scope>,
        /// The file.
        pub path: String,
        /// The side: before or after.
        pub side: DiffSide,
    }
}

pub(crate) async fn list(api: Api, _: Actor, _: Empty) -> Result<Page<WorkspaceView>, ApiError> {
    Ok(Page::whole(api.engine().workspace_views().await?))
}

pub(crate) async fn disk(api: Api, _: Actor, _: Empty) -> Result<Page<ProjectDisk>, ApiError> {
    Ok(Page::whole(api.engine().disk().await?))
}

pub(crate) async fn measure(api: Api, _: Actor, _: Empty) -> Result<Done, ApiError> {
    api.engine().measure_workspaces().await?;
    Ok(Done::yes())
}

pub(crate) async fn orphans(api: Api, _: Actor, _: Empty) -> Result<Page<OrphanFolder>, ApiError> {
    Ok(Page::whole(api.engine().orphans().await?))
}

pub(crate) async fn reclaim(api: Api, _: Actor, orphan: OrphanPath) -> Result<Done, ApiError> {
    api.engine().reclaim_orphan(&orphan.path).await?;
    Ok(Done::yes())
}

pub(crate) async fn adopt(api: Api, _: Actor, orphan: AdoptOrphan) -> Result<Task, ApiError> {
    Ok(api.engine().adopt_orphan(&orphan.path, &orphan.project_id, orphan.title).await?)
}

pub(crate) async fn remove(api: Api, _: Actor, goes: LeaveWorktree) -> Result<Workspace, ApiError> {
    Ok(api.engine().remove_workspace_now(&goes.task_id, goes.end_terminals.unwrap_or(false)).await?)
}

pub(crate) async fn keep(api: Api, _: Actor, path: TaskPath) -> Result<Workspace, ApiError> {
    Ok(api.engine().keep_workspace_for_good(&path.task_id).await?)
}

pub(crate) async fn imports(api: Api, _: Actor, path: ProjectPath) -> Result<Page<ImportOffer>, ApiError> {
    Ok(Page::whole(api.engine().imports(&path.project_id).await?))
}

pub(crate) async fn project_backups(
    api: Api,
    _: Actor,
    path: ProjectPath,
) -> Result<Page<WorkspaceBackup>, ApiError> {
    Ok(Page::whole(api.engine().project_backups(&path.project_id).await?))
}

pub(crate) async fn get(api: Api, _: Actor, path: TaskPath) -> Result<Workspace, ApiError> {
    Ok(api.engine().workspace(&path.task_id).await?)
}

pub(crate) async fn place(api: Api, _: Actor, path: TaskPath) -> Result<WorkspacePlace, ApiError> {
    Ok(api.engine().workspace_place(&path.task_id).await?)
}

pub(crate) async fn reset(api: Api, actor: Actor, goes: LeaveWorktree) -> Result<Workspace, ApiError> {
    let end_terminals = goes.end_terminals.unwrap_or(false);
    Ok(api.engine().reset_workspace(actor, &goes.task_id, end_terminals).await?)
}

pub(crate) async fn backups(api: Api, _: Actor, path: TaskPath) -> Result<Page<WorkspaceBackup>, ApiError> {
    Ok(Page::whole(api.engine().backups(&path.task_id).await?))
}

pub(crate) async fn restore(api: Api, _: Actor, backup: RestoreBackup) -> Result<Done, ApiError> {
    api.engine().restore_backup(&backup.task_id, &backup.commit).await?;
    Ok(Done::yes())
}

pub(crate) async fn diff(api: Api, _: Actor, read: ReadDiff) -> Result<DiffSummary, ApiError> {
    Ok(api.engine().diff(&read.task_id, read.scope.unwrap_or_default().into()).await?)
}

pub(crate) async fn diff_file(api: Api, _: Actor, read: ReadFileDiff) -> Result<FileDiff, ApiError> {
    let limit = read.limit.unwrap_or(DEFAULT_ROWS);
    if !(1..=MAX_ROWS).contains(&limit) {
        return Err(ApiError::invalid("limit", "must be 1 to 20000"));
    }
    let page = DiffPage {
        start_line: read.start.unwrap_or(0),
        limit,
        context: read.context.unwrap_or(CONTEXT),
        force: read.force.unwrap_or(false),
    };
    Ok(api.engine().diff_file(&read.task_id, read.scope.unwrap_or_default().into(), &read.path, page).await?)
}

/// Every answer of the contract is JSON, so a picture's bytes are base64 in it: one form everywhere. A side is
/// asked for by itself, so that no more than one of them is held while an answer is written.
pub(crate) async fn preview(api: Api, _: Actor, read: ReadPreview) -> Result<FilePreview, ApiError> {
    let scope = read.scope.unwrap_or_default().into();
    let Preview { told, content } = api.engine().preview(&read.task_id, scope, &read.path, read.side).await?;
    Ok(FilePreview { data: content.map(|content| BASE64_STANDARD.encode(content)), ..told })
}

//! Worktrees as a person looks after them: what there is, how large it is, what belongs to nobody.

use forge_model::ids::{ProjectId, TaskId};
use forge_model::task::Task;
use forge_model::workspace::{
    ImportOffer, OrphanFolder, ProjectDisk, Workspace, WorkspaceBackup, WorkspaceView,
};

use crate::{ConflictCode, Engine, EngineError, error::Result};

fn later<T>() -> Result<T> {
    Err(EngineError::conflict(ConflictCode::Stopping, "not served yet"))
}

impl Engine {
    /// Worktrees that exist, with their tasks.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn workspace_views(&self) -> Result<Vec<WorkspaceView>> {
        later()
    }

    /// The disk space of each project's worktrees, as last measured.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn disk(&self) -> Result<Vec<ProjectDisk>> {
        later()
    }

    /// Measures all worktrees anew.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn measure_workspaces(&self) -> Result<()> {
        later()
    }

    /// Folders under the workspace root that belong to no task.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn orphans(&self) -> Result<Vec<OrphanFolder>> {
        later()
    }

    /// Removes an orphaned folder, after a backup of what only it has.
    ///
    /// # Errors
    /// `NotAnOrphan`, git's errors.
    pub async fn reclaim_orphan(&self, path: &str) -> Result<()> {
        let _ = path;
        later()
    }

    /// Makes an orphaned worktree the one of a new task.
    ///
    /// # Errors
    /// `NotAnOrphan`, git's errors.
    pub async fn adopt_orphan(&self, path: &str, project: &ProjectId, title: Option<String>) -> Result<Task> {
        let _ = (path, project, title);
        later()
    }

    /// Removes a closed task's worktree now instead of later.
    ///
    /// # Errors
    /// `NotFound`, `TaskOpen`, `InUse`.
    pub async fn remove_workspace_now(&self, id: &TaskId) -> Result<Workspace> {
        let _ = id;
        later()
    }

    /// Keeps a closed task's worktree until a person removes it.
    ///
    /// # Errors
    /// `NotFound`, `WorkspaceMissing`.
    pub async fn keep_workspace_for_good(&self, id: &TaskId) -> Result<Workspace> {
        let _ = id;
        later()
    }

    /// Settings that other tools' files in the repository ask for.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn imports(&self, project: &ProjectId) -> Result<Vec<ImportOffer>> {
        let _ = project;
        later()
    }

    /// The backups of all tasks of a project, newest first.
    ///
    /// # Errors
    /// `NotFound`, git's errors.
    pub async fn project_backups(&self, project: &ProjectId) -> Result<Vec<WorkspaceBackup>> {
        let _ = project;
        later()
    }
}

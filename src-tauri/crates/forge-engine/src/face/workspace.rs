//! Public methods of [`Engine`] for worktrees, backups and disk usage.

use forge_model::ids::ProjectId;
use forge_model::ids::TaskId;
use forge_model::workspace::ImportOffer;
use forge_model::workspace::OrphanFolder;
use forge_model::workspace::ProjectDisk;
use forge_model::workspace::Workspace;
use forge_model::workspace::WorkspaceBackup;
use forge_model::workspace::WorkspacePlace;
use forge_model::workspace::WorkspaceView;

use crate::{Engine, error::Result, workspace};

impl Engine {
    /// The backups of all tasks of a project, and of folders that belonged to none, newest first.
    ///
    /// # Errors
    /// `NotFound`, git's errors.
    pub async fn project_backups(&self, project: &ProjectId) -> Result<Vec<WorkspaceBackup>> {
        workspace::backups::project_backups(&self.world, project).await
    }

    /// A task's latest workspace record, also when its worktree is gone.
    ///
    /// # Errors
    /// `NotFound` when there never was one.
    pub async fn workspace(&self, id: &TaskId) -> Result<Workspace> {
        workspace::command::workspace_of(&self.world, id).await
    }

    /// Where the files are that a task's programs are working on.
    ///
    /// # Errors
    /// `NotFound` when there never was a worktree.
    pub async fn workspace_place(&self, id: &TaskId) -> Result<WorkspacePlace> {
        workspace::command::place_of(&self.world, id).await
    }

    /// Worktrees that exist, with their tasks.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn workspace_views(&self) -> Result<Vec<WorkspaceView>> {
        workspace::command::workspace_views(&self.world).await
    }

    /// Removes a closed task's worktree now instead of later.
    ///
    /// # Errors
    /// `NotFound`, `TaskOpen`, `WorkspaceMissing`, `InUse`, `TerminalBusy` when a program runs in a terminal there that
    /// may not end.
    pub async fn remove_workspace_now(&self, id: &TaskId, end_terminals: bool) -> Result<Workspace> {
        workspace::command::remove_workspace_now(&self.world, id, end_terminals).await
    }

    /// Keeps a closed task's worktree until a person removes it.
    ///
    /// # Errors
    /// `NotFound`, `TaskOpen`, `WorkspaceMissing`.
    pub async fn keep_workspace_for_good(&self, id: &TaskId) -> Result<Workspace> {
        workspace::command::keep_workspace_for_good(&self.world, id).await
    }

    /// Settings that other tools' files in the repository's checkout ask for.
    ///
    /// # Errors
    /// `NotFound`, and when the repository cannot be opened.
    pub async fn imports(&self, project: &ProjectId) -> Result<Vec<ImportOffer>> {
        workspace::command::imports(&self.world, project).await
    }

    /// The disk space of each project's worktrees, as last measured.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn disk(&self) -> Result<Vec<ProjectDisk>> {
        workspace::disk::disk(&self.world).await
    }

    /// Measures all worktrees anew, in the background.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn measure_workspaces(&self) -> Result<()> {
        workspace::disk::measure_workspaces(&self.world).await
    }

    /// Folders under the workspace root that belong to no task.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn orphans(&self) -> Result<Vec<OrphanFolder>> {
        workspace::orphans::orphans(&self.world).await
    }

    /// Removes an orphaned folder, after a backup of what only it has.
    ///
    /// # Errors
    /// `NotAnOrphan`, `InUse`, an escape, git's errors.
    pub async fn reclaim_orphan(&self, path: &str) -> Result<()> {
        workspace::orphans::reclaim_orphan(&self.world, path).await
    }
}

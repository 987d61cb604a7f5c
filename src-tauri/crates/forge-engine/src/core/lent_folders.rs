//! Where in a task's folder lies what is lent of its worktree, and whether programs on another machine have it.

use std::path::{Path, PathBuf};

use forge_git::{TransferTree, Worktree};
use forge_model::workspace::Workspace;

use crate::{
    EngineError, World,
    core::{
        self,
        context::{ProjectContext, task_folder},
    },
    error::Result,
};

/// The folder of the lent git directory and of what belongs to it, in the task's folder.
pub(crate) const LENT: &str = "lent";

/// The lent git directory. Claude Code takes a `.git` file for one that somebody planted, and asks before each git
/// command, unless it leads through a folder of this name.
const GIT_DIR: &str = ".git";

/// The folder of what goes to another machine and comes from it, in the task's folder.
const TRANSFER: &str = "transfer";

/// The lent git directory.
pub(crate) fn folder_of(workspace: &Workspace) -> PathBuf {
    task_folder(workspace).join(LENT).join(GIT_DIR)
}

/// Where objects are gathered that go to another machine or come from it.
pub(crate) fn transfer_of(workspace: &Workspace) -> PathBuf {
    task_folder(workspace).join(TRANSFER)
}

/// This end of a transfer.
pub(crate) async fn tree_of(worktree: &Worktree, folder: &Path, store: &Path) -> Result<TransferTree> {
    let tree = worktree.transferable(folder, store).await?;
    tree.map_err(|fault| EngineError::Transfer(fault.into()))
}

/// Whether programs on another machine have the worktree now: what is here is what was sent to them.
pub(crate) fn is_there(workspace: &Workspace) -> bool {
    workspace.machine_id.is_some() && folder_of(workspace).exists()
}

/// This end of the transfer of a worktree that programs on another machine have; none when they have none.
pub(crate) async fn sent_tree(
    world: &World,
    context: &ProjectContext,
    workspace: &Workspace,
) -> Result<Option<TransferTree>> {
    if !is_there(workspace) {
        return Ok(None);
    }
    let worktree = core::repository::worktree(world, context, workspace).await?;
    tree_of(&worktree, &folder_of(workspace), &transfer_of(workspace)).await.map(Some)
}

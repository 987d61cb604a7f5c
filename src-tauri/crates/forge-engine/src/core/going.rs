//! Worktrees that are about to go: nothing is started in them meanwhile, and what runs there for a person is ended.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use forge_model::ids::WorkspaceId;

use crate::core::sync::locked;

/// How long whoever ends what runs in a worktree for a person waits until nothing of it runs. A program that does not
/// end on request is killed long before.
pub(crate) const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// How many are about to remove each worktree. A part of the world.
#[derive(Default)]
pub(crate) struct GoingWorktrees(Mutex<BTreeMap<WorkspaceId, u32>>);

/// Counts a worktree as one that is about to go, for as long as it lives.
pub(crate) struct Going {
    worktrees: Arc<GoingWorktrees>,
    workspace: WorkspaceId,
}

impl Drop for Going {
    fn drop(&mut self) {
        let mut going = locked(&self.worktrees.0);
        if let Some(count) = going.get_mut(&self.workspace) {
            *count -= 1;
            if *count == 0 {
                going.remove(&self.workspace);
            }
        }
    }
}

impl GoingWorktrees {
    /// Counts a worktree as one that is about to go, until what is returned is dropped.
    pub(crate) fn goes(self: Arc<Self>, workspace: &WorkspaceId) -> Going {
        *locked(&self.0).entry(workspace.clone()).or_default() += 1;
        Going { worktrees: self, workspace: workspace.clone() }
    }

    /// Whether a worktree is about to go. Asked in the writing transaction that records what is to be started: whoever
    /// removes it looks for that in a later one.
    pub(crate) fn contains(&self, workspace: &WorkspaceId) -> bool {
        locked(&self.0).contains_key(workspace)
    }
}

//! Worktrees that are about to go: nothing is started in them meanwhile.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use forge_model::ids::WorkspaceId;

use crate::{World, core::sync::locked};

/// How many are about to remove each worktree.
#[derive(Default)]
struct Worktrees(Mutex<BTreeMap<WorkspaceId, u32>>);

/// Counts a worktree as one that is about to go, for as long as it lives.
pub(crate) struct Going {
    worktrees: Arc<Worktrees>,
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

/// A worktree is about to go.
pub(crate) fn goes(world: &World, workspace: &WorkspaceId) -> Going {
    let worktrees = world.part::<Worktrees>();
    *locked(&worktrees.0).entry(workspace.clone()).or_default() += 1;
    Going { worktrees, workspace: workspace.clone() }
}

/// Whether a worktree is about to go. Asked in the writing transaction that records what is to be started: whoever has
/// it go looks for that in a later one.
pub(crate) fn is_going(world: &World, workspace: &WorkspaceId) -> bool {
    locked(&world.part::<Worktrees>().0).contains_key(workspace)
}

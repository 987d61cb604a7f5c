//! The folders of projects, tasks and slots under the workspace root.

use crate::{
    World,
    core::context::{ProjectContext, slug},
};
use std::path::PathBuf;

/// The name of the folder that a project's worktrees lie in.
pub(crate) fn project_folder(context: &ProjectContext) -> String {
    slug(&context.project.name, 40)
}

/// Where a project's slots lie.
pub(crate) fn pool_folder(world: &World, context: &ProjectContext) -> PathBuf {
    world.inner.config.workspace_root.join(project_folder(context)).join(POOL_FOLDER)
}

pub(crate) const POOL_FOLDER: &str = ".pool";

/// The folders below the workspace root that belong to tasks, or did.
pub(crate) fn task_folders(root: &std::path::Path) -> Vec<PathBuf> {
    let folders = |path: &std::path::Path| {
        std::fs::read_dir(path)
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.is_dir())
            .collect::<Vec<_>>()
    };
    folders(root).iter().flat_map(|project| folders(project)).collect()
}

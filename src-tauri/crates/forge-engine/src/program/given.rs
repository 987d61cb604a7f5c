//! The environment variables of a program that works on a task.

use forge_model::workspace::Workspace;
use forge_store::table::tasks::TaskRow;

use crate::{
    World,
    core::{
        self,
        context::{ProjectContext, task_branch},
    },
};

/// The environment of everything that runs on a task's behalf, on top of the user's own.
pub(crate) fn task_env(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
    workspace: Option<&Workspace>,
) -> Vec<(String, String)> {
    let mut env = project_env(context);
    env.extend([
        ("FORGE_TASK_ID".to_owned(), task.id.0.clone()),
        ("FORGE_TASK_NUMBER".to_owned(), task.number.to_string()),
        ("FORGE_TASK_TITLE".to_owned(), core::redaction::redacted_in(world, context, task.title.clone())),
        ("FORGE_TASK_STATUS".to_owned(), task.status.clone()),
        ("FORGE_TASK_BRANCH".to_owned(), task_branch(task)),
    ]);
    if let Some(workspace) = workspace {
        env.push(("FORGE_WORKTREE_PATH".to_owned(), workspace.path.clone()));
        env.push(("FORGE_PORT_BASE".to_owned(), workspace.port_base.to_string()));
    }
    env
}

/// What a program is told about the project that it is run for.
pub(crate) fn project_env(context: &ProjectContext) -> Vec<(String, String)> {
    vec![
        ("FORGE_PROJECT_ID".to_owned(), context.project.id.0.clone()),
        ("FORGE_PROJECT_NAME".to_owned(), context.project.name.clone()),
        ("FORGE_REPO_PATH".to_owned(), context.project.repo_path.clone()),
    ]
}

//! Making an orphaned worktree the worktree of a new task.

use forge_model::ids::ProjectId;
use forge_model::task::Task;

use crate::{
    World,
    core::{self, new_task::NewTask},
    error::Result,
    task,
    workspace::{
        self,
        orphans::{move_in, not_an_orphan, orphan},
    },
};

/// Makes an orphaned worktree the one of a new task.
pub(crate) async fn adopt_orphan(
    world: &World,
    path: &str,
    project: &ProjectId,
    title: Option<String>,
) -> Result<Task> {
    let context = {
        let mut conn = world.store().read().await?;
        core::contexts::context(world, &mut conn, project).await?
    };
    let orphan = orphan(world, path).await?;
    let facts = orphan.facts;
    let of_project = facts.registered
        && orphan.context.is_some_and(|of| of.project.repo_path == context.project.repo_path);
    let (true, Some(branch), Some(head)) = (of_project, facts.branch, facts.head) else {
        let message = format!("{path} is not a worktree of this project's repository on a branch");
        return Err(not_an_orphan(message));
    };
    let title = title.filter(|title| !title.trim().is_empty()).unwrap_or_else(|| branch.clone());
    let task = task::command::create_task(world, project, NewTask { title, ..NewTask::default() }).await?;
    world.point("orphan.task_made");
    let hold = core::workers::hold(world, &task.id).await;
    let adopted = move_in(world, &context, &task.id, &orphan.folder, &orphan.tree, &branch, &head).await;
    drop(hold);
    if let Err(error) = adopted {
        // Nothing became of it, so there is nothing to work on.
        task::command::delete_task(world, &task.id, None, false).await?;
        return Err(error);
    }
    workspace::disk::measure_later(world, &task.id);
    task::moves::task(world, &task.id).await
}

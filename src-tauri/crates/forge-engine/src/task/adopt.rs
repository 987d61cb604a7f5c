//! Making a worktree that belongs to no task the one of a new task.

use forge_model::ids::ProjectId;
use forge_model::task::Task;

use crate::{
    Engine, core,
    core::new_task::NewTask,
    error::Result,
    workspace::{
        self,
        orphans::{move_in, not_an_orphan, orphan},
    },
};

impl Engine {
    /// Makes an orphaned worktree the one of a new task.
    ///
    /// # Errors
    /// `NotAnOrphan`, `InUse`, an escape, `Invalid`, git's errors.
    pub async fn adopt_orphan(&self, path: &str, project: &ProjectId, title: Option<String>) -> Result<Task> {
        let context = {
            let mut conn = self.store().read().await?;
            core::context::context(self, &mut conn, project).await?
        };
        let orphan = orphan(self, path).await?;
        let facts = orphan.facts;
        let of_project = facts.registered
            && orphan.context.is_some_and(|of| of.project.repo_path == context.project.repo_path);
        let (true, Some(branch), Some(head)) = (of_project, facts.branch, facts.head) else {
            let message = format!("{path} is no worktree of this project's repository with a branch");
            return Err(not_an_orphan(message));
        };
        let title = title.filter(|title| !title.trim().is_empty()).unwrap_or_else(|| branch.clone());
        let task = self.create_task(project, NewTask { title, ..NewTask::default() }).await?;
        self.point("orphan.task_made");
        let hold = core::workers::hold(self, &task.id).await;
        let adopted = move_in(self, &context, &task.id, &orphan.folder, &orphan.tree, &branch, &head).await;
        drop(hold);
        if let Err(error) = adopted {
            // Nothing became of it, so there is nothing to work on.
            self.delete_task(&task.id, None).await?;
            return Err(error);
        }
        workspace::disk::measure_later(self, &task.id);
        self.task(&task.id).await
    }
}

//! Public methods of [`Engine`] for drafted fixes.

use forge_model::actor::Actor;
use forge_model::fix::FixProposal;
use forge_model::fix::Fixes;
use forge_model::ids::ProjectId;
use forge_model::ids::TaskId;

use crate::{Engine, error::Result, fix};

impl Engine {
    /// What was drafted for a task.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn fixes(&self, id: &TaskId) -> Result<Fixes> {
        fix::command::fixes(&self.world, id).await
    }

    /// The proposals of a project, oldest first.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn fixes_of_project(&self, id: &ProjectId) -> Result<Vec<FixProposal>> {
        fix::command::fixes_of_project(&self.world, id).await
    }

    /// The task that a fix was drafted for. Tasks whose files were the same when the same was drafted share its name.
    ///
    /// # Errors
    /// `NotFound`, or `Invalid` when several tasks have it and none is named.
    pub async fn task_of_fix(&self, fix: &str, task: Option<&TaskId>) -> Result<TaskId> {
        fix::command::task_of_fix(&self.world, fix, task).await
    }

    /// Applies a drafted fix as a commit of its own and has the failing step run again: green, it is verified; else it is
    /// rolled back by itself. A fix of an entry of a race that nobody won makes that entry the winner first. What a reviewer at work on the task asks for is applied once they have sent the work back: the
    /// files stay as they are while somebody judges them.
    ///
    /// # Errors
    /// `NotFound`; `fix_decided`, `fix_outdated`, `fix_blocked` or `workspace_locked` with the reason.
    pub async fn apply_fix(&self, actor: Actor, id: &TaskId, fix: &str) -> Result<FixProposal> {
        fix::command::apply_fix(&self.world, actor, id, fix).await
    }

    /// Takes an applied fix back by a commit of its own.
    ///
    /// # Errors
    /// As [`Engine::apply_fix`]; `fix_outdated` when its file moved on.
    pub async fn rollback_fix(&self, actor: Actor, id: &TaskId, fix: &str) -> Result<FixProposal> {
        fix::command::rollback_fix(&self.world, actor, id, fix).await
    }

    /// Puts a drafted fix aside.
    ///
    /// # Errors
    /// `NotFound`, `fix_decided`.
    pub async fn reject_fix(&self, actor: Actor, id: &TaskId, fix: &str) -> Result<FixProposal> {
        fix::command::reject_fix(&self.world, actor, id, fix).await
    }
}

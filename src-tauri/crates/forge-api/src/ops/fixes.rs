//! Drafted fixes.

use forge_model::actor::Actor;
use forge_model::fix::{FixProposal, Fixes};
use forge_model::ids::TaskId;

use super::{Page, TaskPath, input, projects::ProjectPath};
use crate::{Api, ApiError};

input! {
    /// A drafted fix.
    pub struct FixPath {
        /// The fix.
        pub fix_id: String,
        /// The task; needed only if several tasks have the same fix for the same files.
        #[serde(default)]
        pub task_id: Option<TaskId>,
    }
}

impl FixPath {
    async fn task(&self, api: &Api) -> Result<TaskId, ApiError> {
        Ok(api.engine().task_of_fix(&self.fix_id, self.task_id.as_ref()).await?)
    }
}

pub(crate) async fn list(api: Api, _: Actor, path: TaskPath) -> Result<Fixes, ApiError> {
    Ok(api.engine().fixes(&path.task_id).await?)
}

pub(crate) async fn of_task(api: Api, _: Actor, path: TaskPath) -> Result<Page<FixProposal>, ApiError> {
    Ok(Page::whole(api.engine().fixes(&path.task_id).await?.proposals))
}

pub(crate) async fn of_project(api: Api, _: Actor, path: ProjectPath) -> Result<Page<FixProposal>, ApiError> {
    Ok(Page::whole(api.engine().fixes_of_project(&path.project_id).await?))
}

pub(crate) async fn apply(api: Api, actor: Actor, path: FixPath) -> Result<FixProposal, ApiError> {
    let task = path.task(&api).await?;
    Ok(api.engine().apply_fix(actor, &task, &path.fix_id).await?)
}

pub(crate) async fn rollback(api: Api, actor: Actor, path: FixPath) -> Result<FixProposal, ApiError> {
    let task = path.task(&api).await?;
    Ok(api.engine().rollback_fix(actor, &task, &path.fix_id).await?)
}

pub(crate) async fn reject(api: Api, actor: Actor, path: FixPath) -> Result<FixProposal, ApiError> {
    let task = path.task(&api).await?;
    Ok(api.engine().reject_fix(actor, &task, &path.fix_id).await?)
}

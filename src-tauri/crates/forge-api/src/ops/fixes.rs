//! Drafted fixes.

use forge_model::actor::Via;
use forge_model::fix::{FixProposal, Fixes};
use forge_model::ids::TaskId;

use super::{Page, TaskPath, input, person, projects::ProjectPath};
use crate::{Api, ApiError};

input! {
    /// A drafted fix of a task.
    pub struct FixPath {
        /// The task.
        pub task_id: TaskId,
        /// The fix.
        pub fix_id: String,
    }
}

pub(crate) async fn list(api: Api, _: Via, path: TaskPath) -> Result<Fixes, ApiError> {
    Ok(api.engine().fixes(&path.task_id).await?)
}

pub(crate) async fn of_project(api: Api, _: Via, path: ProjectPath) -> Result<Page<FixProposal>, ApiError> {
    Ok(Page::whole(api.engine().fixes_of_project(&path.project_id).await?))
}

pub(crate) async fn apply(api: Api, via: Via, path: FixPath) -> Result<FixProposal, ApiError> {
    Ok(api.engine().apply_fix(person(via), &path.task_id, &path.fix_id).await?)
}

pub(crate) async fn rollback(api: Api, via: Via, path: FixPath) -> Result<FixProposal, ApiError> {
    Ok(api.engine().rollback_fix(person(via), &path.task_id, &path.fix_id).await?)
}

pub(crate) async fn reject(api: Api, via: Via, path: FixPath) -> Result<FixProposal, ApiError> {
    Ok(api.engine().reject_fix(person(via), &path.task_id, &path.fix_id).await?)
}

//! Startup files that a person trusts.

use forge_model::actor::Actor;
use forge_model::ids::{ProjectId, TaskId};
use forge_model::trust::{TrustListing, TrustedContent};

use super::input;
use crate::{Api, ApiError};

input! {
    /// Which startup files to show.
    pub struct TrustPath {
        /// The project.
        pub project_id: ProjectId,
        /// The task whose branch and worktree are examined. When absent: the branch that tasks start on, and the tasks
        /// that wait for trust.
        #[serde(default)]
        pub task_id: Option<TaskId>,
    }

    /// Startup files to trust, as shown to a person.
    pub struct TrustFiles {
        /// The project.
        pub project_id: ProjectId,
        /// The task that the files were shown for.
        #[serde(default)]
        pub task_id: Option<TaskId>,
        /// Hashes of the contents.
        pub files: Vec<TrustedContent>,
    }
}

pub(crate) async fn get(api: Api, _: Actor, path: TrustPath) -> Result<TrustListing, ApiError> {
    Ok(api.engine().trust_listing(&path.project_id, path.task_id.as_ref()).await?)
}

pub(crate) async fn accept(api: Api, actor: Actor, seen: TrustFiles) -> Result<TrustListing, ApiError> {
    let TrustFiles { project_id, task_id, files } = seen;
    api.engine().trust_files(actor, &project_id, task_id.as_ref(), &files).await?;
    Ok(api.engine().trust_listing(&project_id, task_id.as_ref()).await?)
}

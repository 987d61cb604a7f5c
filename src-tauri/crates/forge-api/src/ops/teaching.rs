//! What runs teach: what a task left behind, and the checks that a repository's files imply.

use forge_model::actor::Actor;
use forge_model::check_offer::CheckOffer;
use forge_model::debrief::Debrief;
use forge_model::ids::ProjectId;

use super::{Done, Page, TaskPath, input, projects::ProjectPath};
use crate::{Api, ApiError};

input! {
    /// A repository that is not a project yet.
    pub struct CheckFolder {
        /// The repository, or a folder in it.
        pub repo_path: String,
        /// The branch whose files are examined; detected when absent.
        #[serde(default)]
        pub default_branch: Option<String>,
    }

    /// Suggested checks to add.
    pub struct TakeChecks {
        /// The project.
        pub project_id: ProjectId,
        /// The commands, in the order in which they run.
        pub commands: Vec<String>,
    }
}

pub(crate) async fn debrief(api: Api, _: Actor, path: TaskPath) -> Result<Debrief, ApiError> {
    Ok(api.engine().debrief(&path.task_id).await?)
}

pub(crate) async fn checks(api: Api, _: Actor, path: ProjectPath) -> Result<Page<CheckOffer>, ApiError> {
    Ok(Page::whole(api.engine().check_offers(&path.project_id).await?))
}

pub(crate) async fn checks_of_folder(
    api: Api,
    _: Actor,
    folder: CheckFolder,
) -> Result<Page<CheckOffer>, ApiError> {
    let CheckFolder { repo_path, default_branch } = folder;
    Ok(Page::whole(api.engine().check_offers_of_folder(&repo_path, default_branch.as_deref()).await?))
}

pub(crate) async fn take_checks(api: Api, _: Actor, take: TakeChecks) -> Result<Done, ApiError> {
    api.engine().take_checks(&take.project_id, &take.commands).await?;
    Ok(Done::yes())
}

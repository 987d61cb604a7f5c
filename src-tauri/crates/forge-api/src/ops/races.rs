//! Races.

use forge_model::actor::Via;
use forge_model::race::Race;

use super::{Page, TaskPath};
use crate::{Api, ApiError};

pub(crate) async fn list(api: Api, _: Via, path: TaskPath) -> Result<Page<Race>, ApiError> {
    Ok(Page::whole(api.engine().races(&path.task_id).await?))
}

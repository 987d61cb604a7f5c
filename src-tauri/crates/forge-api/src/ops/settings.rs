//! Settings of Forge as a whole that no other operation has.

use forge_model::actor::Actor;

use super::{Empty, answer, input};
use crate::{Api, ApiError};

answer! {
    /// Settings of Forge as a whole.
    pub struct AppSettings {
        /// For how many minutes agents keep running while Forge is not; 0 stops them at once.
        pub orphan_minutes: u32,
    }
}

input! {
    /// Changes to the settings of Forge as a whole.
    pub struct UpdateAppSettings {
        /// For how many minutes agents keep running while Forge is not, at most 10080; 0 stops them at once.
        #[serde(default)]
        pub orphan_minutes: Option<u32>,
    }
}

pub(crate) async fn get(api: Api, _: Actor, _: Empty) -> Result<AppSettings, ApiError> {
    Ok(AppSettings { orphan_minutes: api.engine().orphan_minutes().await? })
}

pub(crate) async fn update(
    api: Api,
    actor: Actor,
    change: UpdateAppSettings,
) -> Result<AppSettings, ApiError> {
    if let Some(minutes) = change.orphan_minutes {
        api.engine().set_orphan_minutes(minutes).await?;
    }
    get(api, actor, Empty {}).await
}

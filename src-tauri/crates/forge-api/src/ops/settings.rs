//! Global settings that no other operation has.

use forge_model::actor::Actor;

use super::{Empty, answer, input};
use crate::{Api, ApiError};

answer! {
    /// Global settings.
    pub struct AppSettings {
        /// Minutes that agents keep running without Forge; 0 stops them immediately.
        pub orphan_minutes: u32,
        /// Maximum number of concurrent services.
        pub services_max: u32,
        /// Whether terminals are available over HTTP; in the window they always are.
        pub terminal_remote: bool,
    }
}

input! {
    /// Changes to the global settings.
    pub struct UpdateAppSettings {
        /// Minutes that agents keep running without Forge, at most 10080; 0 stops them immediately.
        #[serde(default)]
        pub orphan_minutes: Option<u32>,
        /// Maximum number of concurrent services, 1 to 64.
        #[serde(default)]
        pub services_max: Option<u32>,
        /// Whether terminals are available over HTTP.
        #[serde(default)]
        pub terminal_remote: Option<bool>,
    }
}

pub(crate) async fn get(api: Api, _: Actor, _: Empty) -> Result<AppSettings, ApiError> {
    let engine = api.engine();
    Ok(AppSettings {
        orphan_minutes: engine.orphan_minutes().await?,
        services_max: engine.services_max().await?,
        terminal_remote: engine.terminal_remote().await?,
    })
}

pub(crate) async fn update(
    api: Api,
    actor: Actor,
    change: UpdateAppSettings,
) -> Result<AppSettings, ApiError> {
    if let Some(minutes) = change.orphan_minutes {
        api.engine().set_orphan_minutes(minutes).await?;
    }
    if let Some(most) = change.services_max {
        api.engine().set_services_max(most).await?;
    }
    if let Some(on) = change.terminal_remote {
        api.engine().set_terminal_remote(on).await?;
    }
    get(api, actor, Empty {}).await
}

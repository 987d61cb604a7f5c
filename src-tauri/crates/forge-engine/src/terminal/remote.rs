//! Whether terminals are offered over HTTP.

use forge_model::terminal::REMOTE_KEY;
use serde_json::Value;

use crate::{
    World,
    core::app_settings::{app_setting, set_app_setting},
    error::Result,
};

/// Whether they are: not unless somebody said so.
pub(crate) async fn is_remote(world: &World) -> Result<bool> {
    Ok(app_setting(world, REMOTE_KEY).await?.as_ref().and_then(Value::as_bool).unwrap_or(false))
}

/// Sets it. Whoever reads a terminal over HTTP is told at the next question.
pub(crate) async fn set_remote(world: &World, on: bool) -> Result<()> {
    set_app_setting(world, REMOTE_KEY, &on.into()).await
}

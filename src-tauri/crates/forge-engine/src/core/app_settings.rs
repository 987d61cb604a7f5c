//! Global settings, kept in the database.

use serde_json::Value;

use crate::{World, error::Result};

/// A setting of Forge as a whole; none when nobody made it.
pub(crate) async fn app_setting(world: &World, key: &str) -> Result<Option<Value>> {
    Ok(world.store().read().await?.app_settings().get(key).await?)
}

/// Makes a setting of Forge as a whole.
pub(crate) async fn set_app_setting(world: &World, key: &str, value: &Value) -> Result<()> {
    let mut tx = world.store().write().await?;
    tx.app_settings_mut().put(key, value).await?;
    tx.commit().await?;
    Ok(())
}

//! Settings of Forge as a whole, kept in its database.

use forge_store::table::app_settings;
use serde_json::Value;

use crate::{Engine, error::Result};

/// A setting of Forge as a whole; none when nobody made it.
pub(crate) async fn app_setting(engine: &Engine, key: &str) -> Result<Option<Value>> {
    Ok(app_settings::get(&mut *engine.store().read().await?, key).await?)
}

/// Makes a setting of Forge as a whole.
pub(crate) async fn set_app_setting(engine: &Engine, key: &str, value: &Value) -> Result<()> {
    let mut tx = engine.store().write().await?;
    app_settings::put(&mut tx, key, value).await?;
    tx.commit().await?;
    Ok(())
}

//! What is set for Forge as a whole, kept in its database.

use forge_store::table::app_settings;
use serde_json::Value;

use crate::{Engine, error::Result};

impl Engine {
    /// A setting of Forge as a whole; none when nobody made it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn app_setting(&self, key: &str) -> Result<Option<Value>> {
        Ok(app_settings::get(&mut *self.store().read().await?, key).await?)
    }

    /// Makes a setting of Forge as a whole.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_app_setting(&self, key: &str, value: &Value) -> Result<()> {
        let mut tx = self.store().write().await?;
        app_settings::put(&mut tx, key, value).await?;
        tx.commit().await?;
        Ok(())
    }
}

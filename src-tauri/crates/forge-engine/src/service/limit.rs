//! How many services run at once.

use forge_model::service::{DEFAULT_SERVICES_MAX, MOST_SERVICES_MAX};
use forge_store::ReadConnection;
use serde_json::Value;

use crate::{EngineError, World, core::app_settings::set_app_setting, error::Result};

/// The setting of Forge as a whole.
const SERVICES_MAX: &str = "services_max";

/// How many services run at once.
pub(super) async fn services_max(conn: &mut ReadConnection) -> Result<u32> {
    let set = conn.app_settings().get(SERVICES_MAX).await?;
    let most = set.as_ref().and_then(Value::as_u64).and_then(|most| most.try_into().ok());
    Ok(most.unwrap_or(DEFAULT_SERVICES_MAX))
}

/// The same for whoever has no connection.
pub(crate) async fn services_max_of(world: &World) -> Result<u32> {
    services_max(&mut *world.store().read().await?).await
}

/// Sets it. Services that run already go on.
pub(crate) async fn set_services_max(world: &World, most: u32) -> Result<()> {
    if !(1..=MOST_SERVICES_MAX).contains(&most) {
        let message = format!("must be a whole number from 1 to {MOST_SERVICES_MAX}");
        return Err(EngineError::invalid(SERVICES_MAX, message));
    }
    set_app_setting(world, SERVICES_MAX, &most.into()).await
}

//! The keeper of this engine: where it is, how long programs may go on without an engine, and which engine of these
//! data this one is.

use std::{io, path::Path, time::Duration};

use forge_keeper::Keeper;
use forge_store::{Store, StoreError};
use serde_json::Value;

use super::{app_settings, private_data};
use crate::{EngineConfig, EngineError, World, error::Result};

/// The setting of Forge as a whole: for how many minutes agents go on without an engine.
const ORPHAN_MINUTES: &str = "orphan_minutes";

const DEFAULT_ORPHAN_MINUTES: u32 = 30;

/// A week.
const MOST_ORPHAN_MINUTES: u32 = 7 * 24 * 60;

/// The folder of the keeper, in the data folder.
const FOLDER: &str = "keeper";

/// The file that counts the engines that these data have had. It is no row: a database that is restored from a copy
/// would make the next engine an earlier one.
const EPOCH: &str = "keeper-epoch";

/// The keeper of an engine that is about to begin.
pub(crate) async fn keeper_of(config: &EngineConfig, store: &Store) -> io::Result<Keeper> {
    let minutes = minutes_in(store).await.map_err(io::Error::other)?;
    let epoch = next_epoch(&config.data_dir).await?;
    Ok(Keeper::new(config.data_dir.join(FOLDER), config.keeper.clone(), epoch, patience(minutes)))
}

/// For how many minutes agents go on without an engine.
pub(crate) async fn orphan_minutes(world: &World) -> Result<u32> {
    Ok(minutes_in(world.store()).await?)
}

/// Sets it, here and in the keeper.
pub(crate) async fn set_orphan_minutes(world: &World, minutes: u32) -> Result<()> {
    if minutes > MOST_ORPHAN_MINUTES {
        let message = format!("must be a whole number from 0 to {MOST_ORPHAN_MINUTES}");
        return Err(EngineError::invalid(ORPHAN_MINUTES, message));
    }
    app_settings::set_app_setting(world, ORPHAN_MINUTES, &minutes.into()).await?;
    let told = world.keeper().set_patience(patience(minutes)).await;
    told.map_err(EngineError::io("tell the keeper how long agents may go on without Forge"))
}

async fn minutes_in(store: &Store) -> Result<u32, StoreError> {
    let set = store.read().await?.app_settings().get(ORPHAN_MINUTES).await?;
    let minutes = set.as_ref().and_then(Value::as_u64).and_then(|minutes| minutes.try_into().ok());
    Ok(minutes.unwrap_or(DEFAULT_ORPHAN_MINUTES))
}

fn patience(minutes: u32) -> Duration {
    Duration::from_secs(u64::from(minutes) * 60)
}

async fn next_epoch(data_dir: &Path) -> io::Result<u64> {
    let path = data_dir.join(EPOCH);
    let last = match tokio::fs::read_to_string(&path).await {
        Ok(text) => text.trim().parse().unwrap_or(0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    let epoch: u64 = last + 1;
    let next = path.with_extension("next");
    private_data::write(&next, epoch.to_string()).await?;
    tokio::fs::rename(next, path).await?;
    Ok(epoch)
}

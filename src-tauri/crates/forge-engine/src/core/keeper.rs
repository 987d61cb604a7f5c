//! The keeper of this engine: where it is, how long programs may go on without an engine, and which engine of these
//! data this one is.

use std::{io, path::Path, time::Duration};

use forge_keeper::Keeper;
use forge_store::Store;
use serde_json::Value;

use crate::{EngineConfig, EngineError, World, core::private_data, error::Result};

/// The setting of Forge as a whole: for how many minutes agents go on without an engine.
pub(crate) const ORPHAN_MINUTES: &str = "orphan_minutes";

const DEFAULT_ORPHAN_MINUTES: u64 = 30;

/// A week.
const MOST_ORPHAN_MINUTES: u64 = 7 * 24 * 60;

/// The folder of the keeper, in the data folder.
const FOLDER: &str = "keeper";

/// The file that counts the engines that these data have had. It is no row: a database that is restored from a copy
/// would make the next engine an earlier one.
const EPOCH: &str = "keeper-epoch";

/// The keeper of an engine that is about to begin.
pub(crate) async fn keeper_of(config: &EngineConfig, store: &Store) -> io::Result<Keeper> {
    let set = match store.read().await {
        Ok(mut conn) => conn.app_settings().get(ORPHAN_MINUTES).await,
        Err(error) => Err(error),
    };
    let set = set.map_err(io::Error::other)?;
    let minutes = set.as_ref().and_then(Value::as_u64).unwrap_or(DEFAULT_ORPHAN_MINUTES);
    let epoch = next_epoch(&config.data_dir).await?;
    Ok(Keeper::new(config.data_dir.join(FOLDER), config.keeper.clone(), epoch, patience(minutes)))
}

/// Refuses a value that the setting cannot have.
pub(crate) fn check_setting(key: &str, value: &Value) -> Result<()> {
    let is_valid = value.as_u64().is_some_and(|minutes| minutes <= MOST_ORPHAN_MINUTES);
    if key == ORPHAN_MINUTES && !is_valid {
        let message = format!("must be a whole number from 0 to {MOST_ORPHAN_MINUTES}");
        return Err(EngineError::invalid(ORPHAN_MINUTES, message));
    }
    Ok(())
}

/// A setting was made: the keeper learns of its own.
pub(crate) async fn apply_setting(world: &World, key: &str, value: &Value) -> Result<()> {
    let Some(minutes) = value.as_u64().filter(|_| key == ORPHAN_MINUTES) else { return Ok(()) };
    let told = world.keeper().set_patience(patience(minutes)).await;
    told.map_err(EngineError::io("tell the keeper how long agents may go on without Forge"))
}

const fn patience(minutes: u64) -> Duration {
    Duration::from_secs(minutes * 60)
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

//! The keeper of this engine: where it is, how long programs may go on without an engine, and which engine of these
//! data this one is.

use std::{io, path::Path, time::Duration};

use forge_keeper::Keeper;
use forge_model::time::Timestamp;
use forge_store::{Store, StoreError};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

use super::{app_settings, private_data};
use crate::{EngineConfig, EngineError, World, error::Result};

/// The setting of Forge as a whole: for how many minutes agents go on without an engine.
const ORPHAN_MINUTES: &str = "orphan_minutes";

const DEFAULT_ORPHAN_MINUTES: u32 = 30;

/// A week.
const MOST_ORPHAN_MINUTES: u32 = 7 * 24 * 60;

/// The folder of the keeper, in the data folder.
const FOLDER: &str = "keeper";

/// The file with the epoch of the last engine that these data have had. It is no row: a database that is restored from a
/// copy would make the next engine an earlier one.
const EPOCH: &str = "keeper-epoch";

/// The file that names these data to machines. It goes with the data: an engine on a copy of them comes to the same
/// keepers, which let only the later one of the two go on.
const OWNER: &str = "keeper-owner";

/// The keeper of an engine that is about to begin.
pub(crate) async fn keeper_of(config: &EngineConfig, store: &Store) -> io::Result<Keeper> {
    let minutes = minutes_in(store).await.map_err(io::Error::other)?;
    let epoch = next_epoch(&config.data_dir, config.clock.now()).await?;
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

/// The epoch of an engine is when it began. Of two that have copies of the same data, a count would be the same; and data
/// that are restored from an older copy would have an engine that machines take for an earlier one. It grows with each
/// engine whatever the clock says.
async fn next_epoch(data_dir: &Path, now: Timestamp) -> io::Result<u64> {
    let last = read(&data_dir.join(EPOCH)).await?.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    let epoch = u64::try_from(now.0).unwrap_or(0).max(last + 1);
    write(&data_dir.join(EPOCH), epoch.to_string()).await?;
    Ok(epoch)
}

/// The name of these data, once it is known: several who ask at once must not all write it.
#[derive(Debug, Default)]
struct Owner(OnceCell<String>);

/// Whose programs run on machines: those of these data, wherever they were begun.
pub(crate) async fn owner_of(world: &World) -> Result<String> {
    let path = world.data_dir().join(OWNER);
    let name = || async {
        if let Some(owner) = read(&path).await?.map(|text| text.trim().to_owned()).filter(|it| is_owner(it)) {
            return Ok(owner);
        }
        let owner = first_owner(world.data_dir());
        write(&path, owner.clone()).await?;
        Ok(owner)
    };
    let owner = world.part::<Owner>();
    owner.0.get_or_try_init(name).await.cloned().map_err(EngineError::io("name these data to machines"))
}

/// A name is a part of paths there.
fn is_owner(name: &str) -> bool {
    !name.is_empty() && name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The name of data that have none: other data on this computer, and the same folder on another one, have another.
fn first_owner(data_dir: &Path) -> String {
    let host = nix::unistd::gethostname().unwrap_or_default();
    let mut hash = Sha256::new();
    hash.update(host.as_encoded_bytes());
    hash.update([0]);
    hash.update(data_dir.as_os_str().as_encoded_bytes());
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

async fn read(path: &Path) -> io::Result<Option<String>> {
    match tokio::fs::read_to_string(path).await {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

async fn write(path: &Path, text: String) -> io::Result<()> {
    let next = path.with_extension("next");
    private_data::write(&next, text).await?;
    tokio::fs::rename(next, path).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn later_engine_has_a_higher_epoch_on_the_same_data_and_on_a_copy_of_them() {
        let (data, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let next =
            async |data: &tempfile::TempDir, at: i64| next_epoch(data.path(), Timestamp(at)).await.unwrap();
        let first = next(&data, 1000).await;
        std::fs::copy(data.path().join(EPOCH), copy.path().join(EPOCH)).unwrap();
        let second = next(&data, 2000).await;
        assert!(first < second);
        assert!(second < next(&copy, 3000).await, "the copy's engine began later");
        assert!(second < next(&data, 500).await, "a clock that was set back");
    }
}

//! Services that run by their rows, and that nobody follows in this process.

use forge_model::ids::TaskId;
use forge_store::table::services::ServiceRow;

use super::{
    ends::write_end,
    follow::{begin, lost},
    running::{Found, services},
};
use crate::{EngineError, World, error::Result};

/// All of them, with where they are.
pub(super) async fn unfollowed(world: &World) -> Result<Vec<(ServiceRow, Found)>> {
    let followed = services(world);
    let mut rows = world.store().read().await?.services().active().await?;
    rows.retain(|row| followed.get(&row.service.id).is_none());
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let kept = world.keeper().runs().await.map_err(EngineError::io("ask which services went on"))?;
    let with_place = |row: ServiceRow| {
        let found = match (kept.iter().any(|kept| kept.id == row.service.log_id), row.spawned) {
            (true, _) => Found::Kept,
            (false, true) => Found::Lost,
            (false, false) => Found::New,
        };
        (row, found)
    };
    Ok(rows.into_iter().map(with_place).collect())
}

/// Before a service starts: writes the end of those that are lost, which would take its place, and goes on with the same
/// service of the task. Others are left to the engine that does everything.
pub(super) async fn take_up(world: &World, task: &TaskId, name: &str) -> Result<()> {
    for (row, found) in unfollowed(world).await? {
        if found == Found::Lost {
            write_end(world, &row.service, &lost(&row.service).await).await?;
        } else if row.service.task_id == *task && row.service.name == name {
            begin(world, row, found);
        }
    }
    Ok(())
}

//! Going on without a machine that cannot be reached.

use forge_model::ids::TaskId;

use crate::{World, error::Result, machine};

/// Gives up the machine that a task is on.
pub(crate) async fn give_up_machine(world: &World, id: &TaskId) -> Result<()> {
    machine::leaving::leave(world, id, None).await
}

//! Records what a part of the inner loop did last.

use forge_model::ids::{ProjectId, TaskId};
use forge_model::loop_status::Subsystem;
use forge_store::Tx;
use forge_store::table::loop_effects::EffectRow;

use crate::{World, error::Result};

/// Writes down what a part of the inner loop did.
pub(crate) async fn record_effect(
    world: &World,
    tx: &mut Tx,
    project: &ProjectId,
    part: Subsystem,
    task: Option<&TaskId>,
    effect: String,
) -> Result<()> {
    let row = EffectRow { task_id: task.cloned(), effect, at: world.now() };
    Ok(tx.loop_effects_mut().put(project, part, &row).await?)
}

//! Recording a run as lost: one that the end of Forge cut short.

use forge_model::execution::{Execution, ExecutionStatus};
use forge_model::transition::StepKind;
use forge_store::Tx;
use forge_store::table::tasks::TaskRow;

use crate::{
    World,
    core::{self, lineage::audits},
    error::Result,
};

/// Writes down that a run was cut short by no fault of its own; it goes on in another one.
pub(crate) async fn lose_run(world: &World, tx: &mut Tx, task: &TaskRow, mut run: Execution) -> Result<()> {
    run.status = ExecutionStatus::Lost;
    run.finished_at = Some(world.now());
    tx.executions_mut().update(&run).await?;
    tx.slots_mut().release(&task.id).await?;
    let follows = if audits(run.role) { StepKind::Advance } else { StepKind::Restart };
    core::entry::append_work_steps(tx, task, &run.id, &[follows]).await
}

//! Recording a run that was cut short without an outcome of its own.

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
pub(crate) async fn lose_run(world: &World, tx: &mut Tx, task: &TaskRow, run: Execution) -> Result<()> {
    cut_short(world, tx, task, Execution { status: ExecutionStatus::Lost, ..run }).await
}

/// The same of one that would be cut short again: it counts as a failure.
pub(crate) async fn fail_run(world: &World, tx: &mut Tx, task: &TaskRow, run: Execution) -> Result<()> {
    cut_short(world, tx, task, Execution { status: ExecutionStatus::Failed, ..run }).await
}

async fn cut_short(world: &World, tx: &mut Tx, task: &TaskRow, mut run: Execution) -> Result<()> {
    run.finished_at = Some(world.now());
    tx.executions_mut().update(&run).await?;
    tx.slots_mut().release(&task.id).await?;
    let follows = if audits(run.role) { StepKind::Advance } else { StepKind::Restart };
    core::entry::append_work_steps(tx, task, &run.id, &[follows]).await
}

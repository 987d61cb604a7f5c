//! Runs that end in a panic, and runs that were recorded but not started by a worker that panicked.

use std::time::Duration;

use forge_agents::marker_of;
use forge_exec::sweep;
use forge_model::execution::{Execution, ExecutionError};
use forge_model::ids::ExecutionId;
use forge_store::Tx;
use forge_store::table::tasks::TaskRow;

use crate::{
    World,
    core::{
        self,
        panics::{PANICKED, give_to_person},
    },
    error::{Panic, Result},
    run,
};

/// From the gentle signal to the kill of what a run leaves behind that panicked.
const GRACE: Duration = Duration::from_secs(2);

/// Ends what a run left that panicked, and begins it again, unless the run before it panicked, too.
pub(crate) async fn run_panicked(world: &World, id: &ExecutionId, panic: &Panic) -> Result<()> {
    let marker = marker_of(id.as_str());
    sweep(&marker, GRACE).await;
    let mut tx = world.store().write().await?;
    tx.processes_mut().delete(&marker.0).await?;
    let found = tx.executions().get(id).await?.filter(|row| row.execution.finished_at.is_none());
    if let Some(row) = found {
        let run = Execution { error: Some(panic.error()), ..row.execution };
        let Some(mut task) = tx.tasks().get(&run.task_id).await? else { return Ok(()) };
        let runs = tx.executions().list(&task.id).await?;
        let earlier = runs.iter().map(|row| &row.execution).rfind(|one| one.id != run.id);
        let gives_up = earlier.is_some_and(|earlier| has_panicked(earlier) && earlier.role == run.role);
        let id = run.id.clone();
        run::lost::lose_run(world, &mut tx, &task, run).await?;
        if gives_up {
            let context = core::contexts::context_of(world, &mut tx, &task).await?;
            let mut trouble = panic.trouble("a run of an agent");
            trouble.execution = Some(id);
            give_to_person(world, &mut tx, &context, &mut task, trouble).await?;
        }
    }
    tx.commit().await?;
    Ok(())
}

/// Loses the runs of a task that are recorded, but whose worker panicked before their process began.
pub(crate) async fn lose_unstarted(
    world: &World,
    tx: &mut Tx,
    task: &TaskRow,
    error: &ExecutionError,
) -> Result<()> {
    for row in tx.executions().open(Some(std::slice::from_ref(&task.id))).await? {
        if !run::running::is_running(world, &task.id) {
            let run = Execution { error: Some(error.clone()), ..row.execution };
            run::lost::lose_run(world, tx, task, run).await?;
        }
    }
    Ok(())
}

fn has_panicked(run: &Execution) -> bool {
    run.error.as_ref().is_some_and(|error| error.code == PANICKED)
}

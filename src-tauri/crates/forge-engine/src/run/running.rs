//! The runs that are active in this process: finding, stopping and messaging them.

use std::collections::HashMap;
use std::sync::Mutex;

use forge_agents::{Handle, RunCommand};
use forge_model::ids::{ExecutionId, TaskId};
use tokio::sync::watch;

use crate::{
    World,
    core::{
        redaction::{general_redactor, redacted_command},
        sync::locked,
    },
    run,
};

/// The runs of this process.
#[derive(Debug, Default)]
pub(crate) struct Running {
    pub runs: Mutex<HashMap<TaskId, Run>>,
    /// Those that draft fixes, beside the task's own.
    pub drafts: Mutex<HashMap<ExecutionId, Handle>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub execution: ExecutionId,
    pub handle: Handle,
    pub gone: watch::Receiver<bool>,
}

/// Whether an agent runs for a task in this process.
pub(crate) fn is_running(world: &World, task: &TaskId) -> bool {
    locked(&world.part::<Running>().runs).contains_key(task)
}

/// Ends the run of a task, if there is one, and waits until nothing of it is left.
pub(crate) async fn stop_run(world: &World, task: &TaskId) -> bool {
    let run = locked(&world.part::<Running>().runs).get(task).cloned();
    let Some(mut run) = run else {
        if let Err(error) = run::kept::end_unattended(world, task).await {
            tracing::error!(%task, %error, "failed to end a run that goes on without an engine");
        }
        return false;
    };
    run.handle.cancel.cancel();
    // An error means the run's sender is dropped: it is gone, or left to go on by an engine that ends.
    if run.gone.wait_for(|gone| *gone).await.is_err() && world.inner.leave.is_cancelled() {
        run::kept::forget_processes(world, &run.execution).await;
    }
    true
}

/// Tells the run of a task something; false when none runs, or it is over.
pub(crate) fn tell_run(world: &World, task: &TaskId, execution: &ExecutionId, command: RunCommand) -> bool {
    let command = redacted_command(&general_redactor(world), command);
    if let Some(draft) = locked(&world.part::<Running>().drafts).get(execution) {
        return draft.tell(command);
    }
    let run = locked(&world.part::<Running>().runs).get(task).cloned();
    run.is_some_and(|run| run.execution == *execution && run.handle.tell(command))
}

/// Lets a draft that runs be told something.
pub(crate) fn keep_draft(world: &World, execution: &ExecutionId, handle: Handle) {
    locked(&world.part::<Running>().drafts).insert(execution.clone(), handle);
}

/// The draft is over.
pub(crate) fn forget_draft(world: &World, execution: &ExecutionId) {
    locked(&world.part::<Running>().drafts).remove(execution);
}

/// What the agent of a task is doing now.
pub(crate) fn activity_of(world: &World, task: &TaskId) -> Option<(ExecutionId, String)> {
    let running = world.part::<Running>();
    let runs = locked(&running.runs);
    let redacted = |activity: &str| general_redactor(world).text(activity).into_owned();
    runs.get(task).map(|run| (run.execution.clone(), redacted(&run.handle.activity.borrow())))
}

//! Processes that are recorded before they start, so that a later engine can find and end them.

use std::{sync::Arc, time::Duration};

use forge_exec::Command;
use forge_exec::ExecError;
use forge_exec::Exit;
use forge_exec::Finished;
use forge_exec::OutputSink;
use forge_exec::ProcessIdentity;
use forge_git::REPOSITORY_VARIABLES;
use forge_keeper::{KeepError, Keeper, KeptRun, Limits, Plain};
use forge_model::ids::TaskId;
use forge_model::redact::Redactor;
use forge_store::table::{processes::ProcessRow, tasks::TaskRow};
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{self, location::Location, redaction::Redacting},
    error::Result,
};

/// Runs a process on a task's behalf, recorded before it starts so that a later engine can end it. Its git
/// commands work where it runs, wherever Forge itself was started from. The sink gets its output without secrets.
pub(crate) async fn run_recorded(
    world: &World,
    task: &TaskRow,
    location: &Location,
    command: Command,
    cancel: &CancellationToken,
    (output, redactor): (&mut (dyn OutputSink + Send), &Arc<Redactor>),
) -> Result<Finished, RunError> {
    run_recorded_for(world, &task.id, location, command, cancel, (output, redactor)).await
}

/// The same for whatever has no task's row.
pub(crate) async fn run_recorded_for(
    world: &World,
    owner: &TaskId,
    location: &Location,
    command: Command,
    cancel: &CancellationToken,
    (output, redactor): (&mut (dyn OutputSink + Send), &Arc<Redactor>),
) -> Result<Finished, RunError> {
    let command = REPOSITORY_VARIABLES.iter().fold(command, |command, name| command.env_remove(name));
    let marker = command.marker.0.clone();
    let row = ProcessRow {
        marker: marker.clone(),
        task_id: owner.clone(),
        pid: 0,
        start_time: 0,
        boot_id: String::new(),
        started_at: world.now(),
        machine_id: location.machine().cloned(),
    };
    let record = || async {
        let mut tx = world.store().write().await?;
        tx.processes_mut().insert(&row).await?;
        Ok(tx.commit().await?)
    };
    core::disk::with_patience_until(world, cancel, record).await.map_err(Box::new)?;
    let started = |identity: ProcessIdentity| {
        if matches!(location, Location::Here) {
            core::worktree_lock::name_script(world, owner, &identity);
        }
        world.point("process.started");
    };
    let program = command.program.clone();
    let mut output = Redacting::new(output, redactor);
    let (id, task, limits) = (marker.clone(), owner.0.clone(), Limits::default());
    let kept = KeptRun { id, task, command, limits, memo: Vec::new(), goes_on: false, tools: None };
    let keeper = location.keeper(world);
    let begun = world.now();
    let given_up = async {
        match location.given_up() {
            Some(given_up) => given_up.cancelled().await,
            None => std::future::pending().await,
        }
    };
    let (finished, is_there) = tokio::select! {
        biased;
        () = given_up => (Ok(interrupted(world.now().since(begun))), false),
        finished = follow(&keeper, kept, cancel, started, &mut output) => (finished, true),
    };
    let written =
        output.finish().await.map_err(|source| KeepError::Run(ExecError::Output { program, source }));
    let finished = finished.and_then(|finished| written.map(|()| finished));
    let forget = || async {
        let mut tx = world.store().write().await?;
        tx.processes_mut().delete(&marker).await?;
        Ok(tx.commit().await?)
    };
    // What a machine has that the task left is ended when it can be reached again.
    if is_there && let Err(error) = keeper.forget(&marker).await {
        tracing::warn!(%error, "failed to drop a process that ended");
    }
    // What the process came to is worth the wait; a record that stays is settled by the next start.
    if let Err(error) = core::disk::with_patience_until(world, cancel, forget).await {
        tracing::warn!(%error, "failed to forget a process that ended");
    }
    Ok(finished?)
}

/// What a process came to whose machine is gone: it is done again elsewhere.
fn interrupted(after_ms: i64) -> Finished {
    Finished {
        exit: Exit::Signal(nix::sys::signal::Signal::SIGKILL as i32),
        timed_out: false,
        cancelled: true,
        duration: Duration::from_millis(u64::try_from(after_ms).unwrap_or_default()),
        left_behind: 0,
    }
}

async fn follow(
    keeper: &Keeper,
    kept: KeptRun,
    cancel: &CancellationToken,
    started: impl FnOnce(ProcessIdentity),
    output: &mut (dyn OutputSink + Send),
) -> Result<Finished, KeepError> {
    let session = keeper.open(kept).await?;
    if let Some(identity) = session.opened().identity.clone() {
        started(identity);
    }
    session.run(cancel, &mut Plain(output)).await
}

/// Why a process on a task's behalf could not be run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error(transparent)]
    Record(#[from] Box<EngineError>),
    #[error(transparent)]
    Keep(#[from] KeepError),
}

//! The step runner: runs the pending steps of a task in order.
//!
//! Instant steps only read and write the database; a sequence of them is one transaction. Acting steps use processes
//! and git: they are marked running, run, and their end is written with what follows from it. A step whose task was
//! moved meanwhile finds itself done, and its end is dropped. Every step may run again after a kill, so it first
//! looks at what is there.

use super::leaving;
use std::sync::Arc;

use forge_model::ids::TaskId;
use forge_model::task::AnnotationType;
use forge_model::transition::{StepKind, StepStatus};
use forge_model::workflow::Action;
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{
        block_reason::{BlockReason, block_reason_of},
        follow::act,
        instant::skip_with_needed,
        outcome::{finish_step, record},
        world::{
            features::Run,
            step::{End, Stepping, name_of},
        },
    },
    error::Result,
};

enum Next {
    Nothing,
    Later(forge_model::time::Timestamp),
    Run(Box<Stepping>),
}

/// Runs the task's steps until none is left, one waits, or `cancel` fires.
pub(crate) async fn work(world: &World, task: &TaskId, cancel: &CancellationToken) {
    let mut pause = super::disk::FIRST_PAUSE;
    while !cancel.is_cancelled() {
        let next = match run_instant_steps(world, task).await {
            Ok(next) => next,
            Err(error) if super::disk::passes_with_storage(world, &error).await => {
                super::disk::say_waits_for_disk(task, &error);
                if !super::disk::wait_for_storage(world, &mut pause, cancel).await {
                    return;
                }
                continue;
            }
            Err(error) => {
                tracing::error!(%task, %error, "failed to go on with a task; its steps stay pending");
                return;
            }
        };
        match next {
            Next::Nothing => return,
            Next::Later(at) => return super::workers::kick_at(world, task, at),
            Next::Run(stepping) => {
                let name = name_of(&stepping.step);
                world.point(&format!("step.begin:{name}"));
                let end = match Box::pin(ask_and_run(world, &stepping, cancel)).await {
                    Ok(Some(end)) => end,
                    Ok(None) => continue,
                    Err(_) if cancel.is_cancelled() => End::Interrupted,
                    // Begun again as after a kill: it looks first at what is there.
                    Err(error) if super::disk::passes_with_storage(world, &error).await => {
                        super::disk::say_waits_for_disk(task, &error);
                        if !super::disk::wait_for_storage(world, &mut pause, cancel).await {
                            return;
                        }
                        continue;
                    }
                    Err(error) => broken(&stepping, &error),
                };
                world.point(&format!("step.ran:{name}"));
                // What a step came to is kept until it can be written.
                let finish = || finish_step(world, &stepping, end.clone());
                match super::disk::with_patience_until(world, cancel, finish).await {
                    Ok(true) => {
                        pause = super::disk::FIRST_PAUSE;
                        world.made_progress();
                    }
                    Ok(false) => return world.made_progress(),
                    Err(error) => {
                        tracing::error!(%task, %error, "failed to record a step; it stays pending");
                        return;
                    }
                }
                world.point(&format!("step.end:{name}"));
            }
        }
    }
}

/// A step that could not even be tried: the task needs a person, who sees the error itself.
fn broken(stepping: &Stepping, error: &EngineError) -> End {
    tracing::warn!(task = %stepping.task.id, step = %name_of(&stepping.step), %error, "step failed");
    let kind = match (stepping.step.kind, stepping.step.action) {
        _ if matches!(error, EngineError::Login(_)) => AnnotationType::EnvironmentNotReady,
        (StepKind::PrepareWorkspace, _) => AnnotationType::WorkspaceError,
        (_, Some(Action::RunMerge)) => AnnotationType::MergeError,
        _ => AnnotationType::RecoveryRequired,
    };
    End::Block(block_reason_of(error, kind))
}

/// Runs instant steps in one transaction, up to the first that acts on the world or must wait.
async fn run_instant_steps(world: &World, task_id: &TaskId) -> Result<Next> {
    let mut effects = Vec::new();
    let mut tx = world.store().write().await?;
    let next = loop {
        let Some(mut step) = tx.steps().next(task_id).await? else {
            for go_on in &world.features().moments.on_idle {
                effects.extend(go_on(world, &mut tx, task_id).await?);
            }
            break Next::Nothing;
        };
        if let Some(at) = step.not_before.filter(|at| *at > world.now()) {
            break Next::Later(at);
        }
        let Some(mut task) = tx.tasks().get(task_id).await? else { break Next::Nothing };
        let context = super::contexts::context_of(world, &mut tx, &task).await?;
        if task.held
            && let Some(end) = super::held::hold_back(&mut tx, &step, &mut effects).await?
        {
            record(world, &mut tx, &context, &mut task, &mut step, end, &mut effects).await?;
            break Next::Nothing;
        }
        let transition = match step.transition_seq {
            Some(seq) => tx.transitions().get(seq).await?,
            None => tx.transitions().last(task_id).await?,
        };
        let transition = transition.ok_or_else(|| EngineError::not_found("transition of step", step.id))?;
        step.runs += 1;
        step.started_at.get_or_insert(world.now());
        let mut stepping = Stepping { step, task: task.clone(), context: Arc::clone(&context), transition };
        let spec = (world.features().steps.of_step)(&stepping.step);
        let instant = match spec.run {
            Run::Instant(run) if !leaving::must_be_asked(&stepping) => Some(run),
            Run::Instant(_) | Run::Acting(_) => None,
        };
        let Some(instant) = instant else {
            stepping.step.status = StepStatus::Running;
            if let Some(begin) = spec.begin {
                begin(world, &mut tx, &mut stepping.step).await?;
            }
            tx.steps_mut().update(&stepping.step).await?;
            break Next::Run(Box::new(stepping));
        };
        let end = match skip_with_needed(&mut tx, &stepping, stepping.step.action).await? {
            Some(end) => end,
            None => instant(world, &mut tx, &mut stepping, &mut effects).await?,
        };
        task = stepping.task;
        let mut step = stepping.step;
        if !record(world, &mut tx, &context, &mut task, &mut step, end, &mut effects).await? {
            break Next::Nothing;
        }
    };
    tx.commit().await?;
    world.made_progress();
    act(world, effects);
    Ok(next)
}

/// Runs a step. None when it only asked whether its task may leave, and may be run now.
async fn ask_and_run(world: &World, s: &Stepping, cancel: &CancellationToken) -> Result<Option<End>> {
    if leaving::must_be_asked(s) {
        return leaving::ask_to_leave(world, s).await;
    }
    match Box::pin(run_step(world, s, cancel)).await? {
        End::Found(found) => match Arc::clone(&found).at_gate() {
            Some(at_gate) => leaving::ask_to_pass(world, s, at_gate).await.map(Some),
            None => Ok(Some(End::Found(found))),
        },
        end => Ok(Some(end)),
    }
}

async fn run_step(world: &World, s: &Stepping, cancel: &CancellationToken) -> Result<End> {
    if !super::confinement::recover(world, &s.context, &s.task.id, cancel).await? {
        return Ok(End::Interrupted);
    }
    match (world.features().steps.of_step)(&s.step).run {
        Run::Acting(run) => run(world, s, cancel).await,
        // Only those are begun here that their task's guards are asked about first.
        Run::Instant(_) => Ok(End::Interrupted),
    }
}

/// The end of a step about what is to be learned: an error only fails it, unless it passes with the disk's trouble.
pub(crate) async fn or_not_kept(world: &World, end: Result<End>) -> Result<End> {
    match end {
        Err(error) if super::disk::passes_with_storage(world, &error).await => Err(error),
        Err(error) => Ok(End::Failed(BlockReason::new(AnnotationType::RecoveryRequired, error.to_string()))),
        end => end,
    }
}

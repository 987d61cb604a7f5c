//! The entry plan: the steps that entering a state queues, in their order.

use forge_model::event::EventType;
use forge_model::ids::ExecutionId;
use forge_model::task::EntryBarrier;
use forge_model::transition::{StepKind, StepOutcome, StepStatus};
use forge_model::workflow::{Action, Hook, OnFailure, Phase, State, StateKind};
use forge_store::Tx;
use forge_store::table::{steps::StepRow, tasks::TaskRow, transitions::TransitionRow};
use serde_json::Value;

use crate::{
    EngineError, World,
    core::{
        context::ProjectContext,
        lineage::{is_entry, is_ordered},
        moves::{EntryInput, Move},
        world::{cx::Cx, features::Entering},
    },
    error::Result,
};

/// The steps of entering a state by a move, with those of features, and whether a feature took the entry over.
pub(crate) async fn collect_entry(
    world: &World,
    tx: &mut Tx,
    entering: Entering<'_>,
    mv: &Move,
) -> Result<(Vec<StepRow>, bool)> {
    let mut instead = None;
    for take_over in &world.features().moments.takes_over {
        instead = take_over(tx, entering).await?;
        if instead.is_some() {
            break;
        }
    }
    let taken_over = instead.is_some();
    let mut list = entry_steps(entering, mv, instead)?;
    if !taken_over {
        for add in &world.features().moments.adds_steps {
            add(tx, entering, &mut list).await?;
        }
    }
    Ok((list, taken_over))
}

/// Ends the open steps of a task that goes elsewhere. Hooks of what has happened stay; a blocking one
/// that was cut short is over.
pub(crate) async fn skip_open(world: &World, tx: &mut Tx, task: &TaskRow, reason: &str) -> Result<()> {
    for tell in &world.features().moments.on_skip {
        tell(&mut Cx::of(world, tx), task).await?;
    }
    Ok(tx.steps_mut().skip_open(&task.id, reason, world.now()).await?)
}

/// The steps of entering a state, in order: undo, what leaving does, the barrier with what it waits for,
/// dispatch, what may send the task on, and cleanup.
fn entry_steps(
    Entering { context, task, left, state, row }: Entering<'_>,
    mv: &Move,
    instead: Option<Vec<StepRow>>,
) -> Result<Vec<StepRow>> {
    let mut list = Vec::new();
    let own = |kind, phase: &str, params: Option<Value>| {
        let mut step = StepRow::pending(&task.id, &state.name, kind, phase);
        step.transition_seq = Some(row.seq);
        step.params = params;
        step
    };
    let input = serde_json::to_value(&mv.input)
        .map_err(|error| EngineError::Io { doing: "write a step".to_owned(), source: error.into() })?;
    if let Some(until) = mv.undo_until {
        list.push(StepRow { not_before: Some(until), ..own(StepKind::UndoWindow, "undo", None) });
    }
    let hooks = |list: &mut Vec<StepRow>, phase: Phase, hooks: &[Hook]| {
        for hook in hooks {
            let mut step = own(StepKind::Action, phase.as_str(), None);
            step.action = Some(hook.action);
            step.applies_to = hook.applies_to;
            step.on_failure.clone_from(&hook.on_failure);
            step.params = if hook.action == Action::DispatchRoleAgent {
                Some(input.clone())
            } else {
                hook.params.clone()
            };
            if !hook.answers_to(row.audience) {
                step.status = StepStatus::Done;
                step.outcome = Some(StepOutcome::Skipped);
                step.reason = Some(format!("answers to {} moves", hook.applies_to));
                step.finished_at = Some(row.at);
            }
            list.push(step);
        }
    };
    if is_ordered(task) {
        // The parent has the run, the worktree and the checks; others may wait for this part all the same.
        let told = |hook: &&Hook| hook.action == Action::SatisfyDependents;
        let told: Vec<Hook> = state.hooks.on_enter.iter().filter(told).cloned().collect();
        hooks(&mut list, Phase::OnEnter, &told);
        return Ok(list);
    }
    if let Some(left) = context.workflow.state(left) {
        hooks(&mut list, Phase::OnExit, &left.hooks.on_exit);
    }
    if let Some(instead) = instead {
        list.extend(instead);
        return Ok(list);
    }
    if state.kind == StateKind::Gate {
        list.push(own(StepKind::Capture, Phase::BeforeEnter.as_str(), Some(input.clone())));
    }
    let works = (state.kind == StateKind::Active && state.role.is_some()) || state.plans();
    // A place is for an agent that this move starts.
    let is_dispatched = state.dispatches_for(row.audience);
    if works {
        if is_dispatched {
            list.push(own(StepKind::Admit, Phase::BeforeEnter.as_str(), None));
        }
        list.push(own(StepKind::PrepareWorkspace, Phase::BeforeEnter.as_str(), None));
    }
    hooks(&mut list, Phase::BeforeEnter, &state.hooks.before_enter);
    if works || !state.hooks.before_enter.is_empty() {
        list.push(own(StepKind::ClearBarrier, Phase::BeforeEnter.as_str(), None));
    }
    if state.audits() && is_dispatched {
        list.push(own(StepKind::Admit, Phase::OnEnter.as_str(), None));
    }
    let taught = context.hooks_of_teaching(state);
    hooks(&mut list, Phase::OnEnter, &taught);
    if debriefs(context, task, state) {
        list.push(own(StepKind::Debrief, Phase::OnEnter.as_str(), None));
    }
    hooks(&mut list, Phase::OnEnter, &state.hooks.on_enter);
    hooks(&mut list, Phase::AfterEnter, &state.hooks.after_enter);
    let is_merge_failed = context.workflow.merge_failed().is_some_and(|failed| failed.name == state.name);
    if is_merge_failed {
        list.push(own(StepKind::Restart, Phase::AfterEnter.as_str(), Some(input.clone())));
    }
    let cleans =
        state.has_action(Action::CleanupWorkspaceNow) || state.has_action(Action::ScheduleWorkspaceCleanup);
    if state.is_terminal() && !cleans {
        list.push(own(StepKind::Cleanup, Phase::OnEnter.as_str(), None));
    }
    Ok(list)
}

/// Whether a task that enters a state is over and leaves something behind.
fn debriefs(context: &ProjectContext, task: &TaskRow, state: &State) -> bool {
    let config = &context.settings.inner_loop;
    state.is_terminal() && !is_entry(task) && (config.trajectory.enabled || config.postmortem.enabled)
}

/// What a failing action does when its hook does not say.
pub(crate) fn failure_policy(step: &StepRow) -> OnFailure {
    step.on_failure.clone().unwrap_or(if step.phase == Phase::BeforeEnter.as_str() {
        OnFailure::Block
    } else {
        OnFailure::Log
    })
}

/// Writes the steps of entering the task's state once more, without a move.
pub(crate) async fn insert_entry(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
    last: &TransitionRow,
    input: EntryInput,
) -> Result<()> {
    let state =
        context.workflow.state(&task.status).ok_or_else(|| EngineError::not_found("state", &task.status))?;
    let mut mv = Move::by(&task.status, &last.trigger, last.actor.clone());
    mv.input = input;
    let entering = Entering { context, task, left: "", state, row: last };
    let (entry, _) = collect_entry(world, tx, entering, &mv).await?;
    let now = world.now();
    let barrier = entry.iter().any(|step| step.kind == StepKind::ClearBarrier);
    task.entry_barrier = barrier.then(|| EntryBarrier { state: state.name.clone(), since: now });
    task.error_annotation = None;
    task.waiting = None;
    for mut step in entry {
        tx.steps_mut().insert(&mut step).await?;
    }
    tx.tasks_mut().update(task, now).await?;
    world.emit(tx, EventType::TaskUpdated, task, task.id.as_str(), &Value::Null).await
}

/// A step's parameters do not read back.
pub(crate) fn corrupt_step(error: serde_json::Error) -> EngineError {
    EngineError::Io { doing: "read the parameters of a step".to_owned(), source: error.into() }
}

/// Queues what follows the end of an execution.
pub(crate) async fn append_work_steps(
    tx: &mut Tx,
    task: &TaskRow,
    execution: &ExecutionId,
    kinds: &[StepKind],
) -> Result<()> {
    let last = tx.transitions().last(&task.id).await?;
    for kind in kinds {
        let mut step = StepRow::pending(&task.id, &task.status, *kind, "work_end");
        step.execution_id = Some(execution.clone());
        step.transition_seq = last.as_ref().map(|last| last.seq);
        tx.steps_mut().insert(&mut step).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;

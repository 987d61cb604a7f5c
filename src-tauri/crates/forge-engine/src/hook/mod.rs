//! The project's lifecycle hooks as durable steps: which hooks an event asks for, and where among the steps of a
//! move they stand.
//!
//! Each hook run is a row, written in the transaction of its cause with all that it needs: the hook as it was then
//! and the states of that moment. Pending rows of events that have happened survive any later move of the task;
//! those of a `before_work` that is called off do not.

pub(crate) mod command;
pub(crate) mod contribution;
pub(crate) mod script;
pub(crate) mod step;

use forge_model::actor::Actor;
use forge_model::event::EventType;
use forge_model::hook::{HookRef, HookStatus, LifecycleHook};
use forge_model::ids::{AgentId, ExecutionId};
use forge_model::time::Timestamp;
use forge_model::transition::{StepKind, StepStatus};
use forge_model::workflow::{Action, LifecycleEvent, Phase, StateKind};
use forge_store::Tx;
use forge_store::table::{steps::StepRow, tasks::TaskRow, transitions::TransitionRow};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    EngineError,
    core::{
        context::ProjectContext,
        lineage::is_ordered,
        world::{cx::Cx, features::Entering},
    },
    error::Result,
};

/// What a hook's row holds besides its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct HookStep {
    pub event: LifecycleEvent,
    pub index: u32,
    /// As it was configured at that moment.
    pub hook: LifecycleHook,
    /// The task's state at that moment.
    pub status: String,
    /// The state before.
    pub previous: String,
    /// The agent concerned, when it is known from the start.
    #[serde(default)]
    pub agent: Option<AgentId>,
    /// The run concerned, when there is one.
    #[serde(default)]
    pub execution: Option<ExecutionId>,
    /// Who went on without it, when somebody did.
    #[serde(default)]
    pub skipped_once: Option<SkippedOnce>,
}

/// A person's decision to go on without a hook, this once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SkippedOnce {
    pub actor: Actor,
    pub at: Timestamp,
    pub reason: String,
}

impl HookStep {
    pub(crate) fn of(step: &StepRow) -> Result<Self> {
        let params = step.params.clone().unwrap_or_default();
        serde_json::from_value(params).map_err(|error| EngineError::Io {
            doing: "read the parameters of a hook's step".to_owned(),
            source: error.into(),
        })
    }

    pub(crate) fn params(&self) -> Result<Value> {
        serde_json::to_value(self).map_err(|error| EngineError::Io {
            doing: "write a hook's step".to_owned(),
            source: error.into(),
        })
    }

    pub(crate) fn reference(&self) -> HookRef {
        HookRef { event: self.event, index: self.index, command: self.hook.command().to_owned() }
    }
}

/// Work that a move ends, or another entry into the same state.
struct Stopped {
    state: String,
    agent: Option<AgentId>,
    execution: Option<ExecutionId>,
}

/// The hooks that an entry into a state asks for, by their place among its steps.
#[derive(Debug, Default)]
struct EntryHooks {
    /// The work that was going on has stopped.
    stopped: Vec<StepRow>,
    /// Scripts that must pass before the barrier opens.
    blocking: Vec<StepRow>,
    /// What must be known before the agent is started.
    informing: Vec<StepRow>,
    /// What runs beside the agent.
    beside: Vec<StepRow>,
    /// The task is closed; its worktree is still there.
    closed: Vec<StepRow>,
}

/// A moment at which hooks run.
struct Moment<'a> {
    event: LifecycleEvent,
    task: &'a TaskRow,
    /// The state that the rows belong to.
    state: &'a str,
    row: &'a TransitionRow,
    agent: Option<AgentId>,
    execution: Option<ExecutionId>,
}

impl Moment<'_> {
    /// A row for each hook of the event, in order.
    fn rows(self, context: &ProjectContext) -> Result<Vec<StepRow>> {
        let hooks = context.settings.lifecycle_hooks.of(self.event);
        hooks
            .iter()
            .zip(0..)
            .map(|(hook, index)| {
                let params = HookStep {
                    event: self.event,
                    index,
                    hook: hook.clone(),
                    status: self.row.to.clone(),
                    previous: self.row.from.clone(),
                    agent: self.agent.clone(),
                    execution: self.execution.clone(),
                    skipped_once: None,
                };
                let mut step =
                    StepRow::pending(&self.task.id, self.state, StepKind::Hook, self.event.as_str());
                step.transition_seq = Some(self.row.seq);
                step.execution_id.clone_from(&self.execution);
                step.on_failure = hook.is_blocking().then_some(forge_model::workflow::OnFailure::Block);
                step.params = Some(params.params()?);
                Ok(step)
            })
            .collect()
    }
}

/// Whether a hook's row holds its task up until it passes.
pub(crate) fn is_blocking(step: &StepRow) -> bool {
    step.kind == StepKind::Hook && step.on_failure.is_some()
}

/// The work that going on from the task's state would stop; none when none had begun, when nobody wants
/// to know, or when it has been told already.
async fn work_that_stops(tx: &mut Tx, context: &ProjectContext, task: &TaskRow) -> Result<Option<Stopped>> {
    let listened = !context.settings.lifecycle_hooks.on_work_stop.is_empty();
    let active = context.workflow.state(&task.status).is_some_and(|s| s.kind == StateKind::Active);
    if !listened || !active || is_ordered(task) || task.entry_barrier.is_some() {
        return Ok(None);
    }
    if tx.steps().is_work_stopped(&task.id, &task.status).await? {
        return Ok(None);
    }
    let run = tx.executions().last(&task.id).await?.map(|row| row.execution);
    let run = run.filter(|run| run.started_at >= task.status_since);
    Ok(Some(Stopped {
        state: task.status.clone(),
        agent: run.as_ref().map(|run| run.agent_id.clone()),
        execution: run.map(|run| run.id),
    }))
}

/// Puts the hooks of an entry among its steps.
pub(crate) async fn add_hooks(
    tx: &mut Tx,
    Entering { context, task, state, row, .. }: Entering<'_>,
    list: &mut Vec<StepRow>,
) -> Result<()> {
    let mut hooks = EntryHooks::default();
    let stopped = work_that_stops(tx, context, task).await?;
    let moment = |event| Moment { event, task, state: &state.name, row, agent: None, execution: None };
    if let Some(stopped) = stopped.filter(|_| !state.is_terminal()) {
        hooks.stopped = stopped_rows(context, task, row, &stopped)?;
    }
    // An ordered part is worked on in its parent's run, behind its parent's barrier.
    if state.kind == StateKind::Active && !is_ordered(task) {
        for step in moment(LifecycleEvent::BeforeWork).rows(context)? {
            let place = match HookStep::of(&step)?.hook {
                LifecycleHook::Script(script) if script.blocking => &mut hooks.blocking,
                LifecycleHook::Plugin(plugin) if plugin.name == Action::KnowledgeInject => {
                    &mut hooks.informing
                }
                LifecycleHook::Script(_) | LifecycleHook::Plugin(_) => &mut hooks.beside,
            };
            place.push(step);
        }
    }
    if state.is_terminal() {
        let cancelled = state.name == context.workflow.cancellation_state;
        let event = if cancelled { LifecycleEvent::OnTaskCancel } else { LifecycleEvent::OnTaskDone };
        let run = tx.executions().last(&task.id).await?.map(|row| row.execution);
        let closed = Moment {
            agent: run.as_ref().map(|run| run.agent_id.clone()),
            execution: run.map(|run| run.id),
            ..moment(event)
        };
        hooks.closed = closed.rows(context)?;
    }
    hooks.weave_into(list);
    Ok(())
}

/// Queues the hooks that hear of an agent's start. Where no work is done, none begins: a planner's run is
/// the gate's business.
pub(crate) async fn queue_work_start(
    tx: &mut Tx,
    context: &ProjectContext,
    task: &TaskRow,
    row: &TransitionRow,
    (agent, execution): (&AgentId, &ExecutionId),
) -> Result<()> {
    if context.workflow.state(&task.status).is_none_or(|state| state.kind != StateKind::Active) {
        return Ok(());
    }
    let moment = Moment {
        event: LifecycleEvent::OnWorkStart,
        task,
        state: &task.status,
        row,
        agent: Some(agent.clone()),
        execution: Some(execution.clone()),
    };
    for mut step in moment.rows(context)? {
        tx.steps_mut().insert(&mut step).await?;
    }
    Ok(())
}

/// Queues the hooks that hear of work that stopped while the task stays in its state.
pub(crate) async fn queue_work_stop(
    tx: &mut Tx,
    context: &ProjectContext,
    task: &TaskRow,
    row: &TransitionRow,
) -> Result<()> {
    let Some(stopped) = work_that_stops(tx, context, task).await? else { return Ok(()) };
    for mut step in stopped_rows(context, task, row, &stopped)? {
        tx.steps_mut().insert(&mut step).await?;
    }
    Ok(())
}

/// Tells of a blocking hook that is cut short, as the open steps of its task are skipped.
pub(crate) async fn tell_cut_short(cx: &mut Cx<'_>, task: &TaskRow) -> Result<()> {
    match cx.tx.steps().next(&task.id).await? {
        Some(step) if is_blocking(&step) && step.status == StepStatus::Running => {
            emit_hook_run(cx, task, &step, HookStatus::Interrupted).await
        }
        _ => Ok(()),
    }
}

/// Tells that a hook ran.
pub(crate) async fn emit_hook_run(
    cx: &mut Cx<'_>,
    task: &TaskRow,
    step: &StepRow,
    status: HookStatus,
) -> Result<()> {
    let hook = HookStep::of(step)?;
    let facts = json!({
        "event": hook.event, "index": hook.index, "type": hook.hook.kind(), "status": status, "log_id": step.log_id,
    });
    cx.emit(EventType::HookRun, task, task.id.as_str(), &facts).await
}

fn stopped_rows(
    context: &ProjectContext,
    task: &TaskRow,
    row: &TransitionRow,
    stopped: &Stopped,
) -> Result<Vec<StepRow>> {
    let moment = Moment {
        event: LifecycleEvent::OnWorkStop,
        task,
        state: &stopped.state,
        row,
        agent: stopped.agent.clone(),
        execution: stopped.execution.clone(),
    };
    moment.rows(context)
}

impl EntryHooks {
    /// Puts the hooks at their places among the steps of an entry.
    fn weave_into(self, list: &mut Vec<StepRow>) {
        let undo = list.first().is_some_and(|step| step.kind == StepKind::UndoWindow);
        insert(list, usize::from(undo), self.stopped);
        weave_blocking(list, self.blocking);
        let entered = place(list, |step| step.kind == StepKind::ClearBarrier)
            .map_or_else(|| entered(list), |at| at + 1);
        insert(list, entered, self.informing);
        let dispatched = place(list, |step| step.action == Some(Action::DispatchRoleAgent));
        insert(list, dispatched.map_or(entered, |at| at + 1), self.beside);
        let cleaned = place(list, |step| {
            step.kind == StepKind::Cleanup
                || matches!(step.action, Some(Action::CleanupWorkspaceNow | Action::ScheduleWorkspaceCleanup))
        });
        insert(list, cleaned.unwrap_or(list.len()), self.closed);
    }
}

/// Blocking hooks run where the workflow says, else last before the barrier opens; a state without a barrier
/// gets one.
fn weave_blocking(list: &mut Vec<StepRow>, mut blocking: Vec<StepRow>) {
    let Some(model) = blocking.first().cloned() else { return };
    if let Some(at) = place(list, |step| step.action == Some(Action::RunBeforeWorkHooks)) {
        if let Some(action) = list.get(at).filter(|action| action.status == StepStatus::Done) {
            // The move is none that the workflow's action answers to.
            for step in &mut blocking {
                (step.status, step.outcome) = (action.status, action.outcome);
                (step.reason, step.finished_at) = (action.reason.clone(), action.finished_at);
            }
        }
        return insert(list, at + 1, blocking);
    }
    let at = place(list, |step| step.kind == StepKind::ClearBarrier).unwrap_or_else(|| {
        let at = entered(list);
        let mut clear = StepRow::pending(
            &model.task_id,
            &model.state,
            StepKind::ClearBarrier,
            Phase::BeforeEnter.as_str(),
        );
        clear.transition_seq = model.transition_seq;
        list.insert(at, clear);
        at
    });
    insert(list, at, blocking);
}

fn place(list: &[StepRow], is: impl Fn(&StepRow) -> bool) -> Option<usize> {
    list.iter().position(is)
}

/// Where the actions of the entered state begin.
fn entered(list: &[StepRow]) -> usize {
    let phases = [Phase::OnEnter.as_str(), Phase::AfterEnter.as_str()];
    place(list, |step| phases.contains(&step.phase.as_str())).unwrap_or(list.len())
}

fn insert(list: &mut Vec<StepRow>, at: usize, steps: Vec<StepRow>) {
    list.splice(at..at, steps);
}

#[cfg(test)]
mod tests;

//! Giving a task its place: of its agent, of its project and on a machine, in the transaction that starts it.
//!
//! Invariant: nothing passes the limits. Every start asks [`take_place`] or [`reserve`], which decide for all tasks that
//! wait as the scheduler's pass does. The machine of the place is the one that the worktree is made on.

use std::{collections::HashMap, sync::Arc, sync::Mutex};

use forge_model::agent::{Agent, Profile};
use forge_model::ids::{MachineId, TaskId};
use forge_model::task::{HolderKind, WaitReason, Waiting};
use forge_model::transition::StepKind;
use forge_model::workflow::Action;
use forge_store::table::slots::Slot;
use forge_store::table::tasks::{QueuedTask, TaskRow};
use forge_store::{ReadConnection, Tx};

use crate::{
    EngineError, Work, World,
    core::{
        context::ProjectContext,
        fleet::{
            policy::{Decision, Waiter, plan, still_fits, unreachable_for, wait},
            situation::{Asking, Situation, situation},
        },
        prerequisites::{named, open_prerequisites, prerequisite_cancelled},
        sync::locked,
        world::step::{Effect, End, Stepping},
    },
    error::Result,
};

/// The machines that the scheduler's last pass chose for tasks that it wakes.
#[derive(Default)]
pub(crate) struct Planned(Mutex<HashMap<TaskId, MachineId>>);

impl Planned {
    /// Forgets what an earlier pass chose.
    pub(crate) fn clear(&self) {
        locked(&self.0).clear();
    }

    /// Has a task prefer a machine.
    pub(crate) fn put(&self, task: &TaskId, machine: MachineId) {
        locked(&self.0).insert(task.clone(), machine);
    }

    fn take(&self, task: &TaskId) -> Option<MachineId> {
        locked(&self.0).remove(task)
    }
}

/// Gives the task a place, or lets it wait for one. A place that it was given with its start stays, where its machine can
/// still run it.
pub(crate) async fn take_place(
    world: &World,
    tx: &mut Tx,
    s: &Stepping,
    agent: &Agent,
    effects: &mut Vec<Effect>,
) -> Result<End> {
    let kept = tx.slots().of(&s.task.id).await?;
    if kept.is_some() {
        // Its own place keeps it off no place.
        tx.slots_mut().release(&s.task.id).await?;
    }
    let end = match before_a_start(tx, s).await? {
        Some(end) => end,
        None => decide(world, tx, s, agent, (kept.as_ref(), &mut *effects)).await?,
    };
    let has_place = matches!(end, End::Ok(_));
    if kept.is_some() && !has_place {
        effects.push(Effect::WakeWaiting);
    }
    let reason = |waiting: &Waiting| waiting.reason;
    if let End::Wait(waiting) = &end
        && s.task.waiting.as_ref().map(reason).is_some_and(|before| before != waiting.reason)
    {
        // Whoever was kept waiting for this one need not be.
        effects.push(Effect::WakeWaiting);
    }
    Ok(end)
}

async fn decide(
    world: &World,
    tx: &mut Tx,
    s: &Stepping,
    agent: &Agent,
    (kept, effects): (Option<&Slot>, &mut Vec<Effect>),
) -> Result<End> {
    let own = own(tx, &s.task.id).await?;
    if let Some(kept) = kept.filter(|kept| kept.agent_id == agent.id) {
        let read = situation(world, tx, vec![asking_of(&own, &s.context)], None).await?;
        if read.asking.first().is_some_and(|(_, waiter)| still_fits(&read.fleet, waiter, kept)) {
            tx.slots_mut().take(&s.task.id, &s.task.project_id, kept, world.now()).await?;
            return Ok(End::Ok(Some(agent.name.clone())));
        }
    }
    let planned = world.part::<Planned>().take(&s.task.id);
    Ok(match decide_for(world, tx, asking_of(&own, &s.context), planned, effects).await? {
        Decision::Start(machine_id) => {
            let slot = Slot { agent_id: agent.id.clone(), machine_id };
            tx.slots_mut().take(&s.task.id, &s.task.project_id, &slot, world.now()).await?;
            End::Ok(Some(agent.name.clone()))
        }
        Decision::Wait(waiting) => End::Wait(waiting),
    })
}

/// Gives a task that the scheduler has just moved its place, if the entered state gives one. What it waits for, when it is
/// given none.
pub(crate) async fn reserve(
    world: &World,
    tx: &mut Tx,
    context: &Arc<ProjectContext>,
    task: &TaskRow,
    planned: Option<MachineId>,
    effects: &mut Vec<Effect>,
) -> Result<Option<Waiting>> {
    if !tx.steps().open(&task.id).await?.iter().any(|step| step.kind == StepKind::Admit) {
        return Ok(None);
    }
    let own = asking_of(&own(tx, &task.id).await?, context);
    let Some(agent_id) = own.agent().cloned() else { return Ok(None) };
    Ok(match decide_for(world, tx, own, planned, effects).await? {
        Decision::Start(machine_id) => {
            let slot = Slot { agent_id, machine_id };
            tx.slots_mut().take(&task.id, &task.project_id, &slot, world.now()).await?;
            None
        }
        Decision::Wait(waiting) => Some(waiting),
    })
}

/// Whether the place of a task is still good for making its worktree: its machine can run it.
pub(crate) async fn is_place_good(world: &World, tx: &mut Tx, s: &Stepping, slot: &Slot) -> Result<bool> {
    let own = own(tx, &s.task.id).await?;
    let read = situation(world, tx, vec![asking_of(&own, &s.context)], Some(&s.task.id)).await?;
    Ok(read.asking.first().is_some_and(|(_, waiter)| still_fits(&read.fleet, waiter, slot)))
}

/// Where a task would run of which no agent is given a place now: a person works on it, or its checks need the worktree.
pub(crate) async fn place_without_agent(
    world: &World,
    tx: &mut Tx,
    s: &Stepping,
    effects: &mut Vec<Effect>,
) -> Result<Decision> {
    let own = own(tx, &s.task.id).await?;
    let agent = agent_for(tx, &s.context, &s.task).await?;
    let of_agent = agent.and_then(|agent| Profile::of(&agent).machines);
    let wanting =
        Asking { row: own, context: Arc::clone(&s.context), is_begun: true, role: None, needs: Vec::new() };
    let read = Situation::of_nobody(world, tx, wanting, of_agent.as_deref()).await?;
    let decisions = plan(read.fleet.clone(), &read.waiters(), world.now()).decisions;
    let decision = decisions.into_iter().next().ok_or_else(|| EngineError::not_found("task", &s.task.id))?;
    if let (Decision::Wait(waiting), Some((_, waiter))) = (&decision, read.asking.first()) {
        effects.extend(effects_of_wait(&read, waiter, waiting));
    }
    Ok(decision)
}

/// What makes a task that waits look again.
pub(crate) fn effects_of_wait(read: &Situation, waiter: &Waiter, waiting: &Waiting) -> Vec<Effect> {
    let mut effects: Vec<Effect> = waiting.until.map(Effect::WakeAt).into_iter().collect();
    if is_for_machine(waiting.reason) {
        effects.extend(unreachable_for(&read.fleet, waiter).into_iter().map(Effect::AwaitMachine));
    }
    effects
}

/// Whether it is a machine that a task waits for.
pub(crate) const fn is_for_machine(reason: WaitReason) -> bool {
    matches!(
        reason,
        WaitReason::NoMachine
            | WaitReason::MachineBusy
            | WaitReason::MachineQuota
            | WaitReason::MachineUnreachable
    )
}

/// Whether the next step of a task is one that gives a place.
pub(crate) fn asks_for_place(row: &QueuedTask) -> bool {
    row.next_step.as_ref().is_some_and(|(kind, action)| {
        [StepKind::Admit, StepKind::PrepareWorkspace].iter().any(|it| it.as_str() == kind)
            || action.as_deref() == Some(Action::DispatchRoleAgent.as_str())
    })
}

/// The agent that holds the role of the state that a task is in.
pub(crate) async fn agent_for(
    conn: &mut ReadConnection,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<Option<Agent>> {
    let Some(role) = context.workflow.state(&task.status).and_then(|state| state.role.as_deref()) else {
        return Ok(None);
    };
    let holder = conn.roles().holder(&task.id, role).await?;
    match holder.filter(|holder| holder.kind == HolderKind::Agent).and_then(|holder| holder.id) {
        Some(id) => Ok(conn.agents().get(&id).await?),
        None => Ok(None),
    }
}

/// Decides for one task beside all others that wait for a place now.
async fn decide_for(
    world: &World,
    tx: &mut Tx,
    own: Asking,
    planned: Option<MachineId>,
    effects: &mut Vec<Effect>,
) -> Result<Decision> {
    let task = own.row.id.clone();
    let mut asking = vec![own];
    if world.inner.config.work == Work::All {
        // Elsewhere nothing else is started, so nobody is kept waiting for it.
        for row in tx.tasks().asking().await? {
            let waits = row.waiting.as_ref().is_some_and(|waiting| waits_for_place(waiting.reason));
            if row.id != task && waits && asks_for_place(&row) {
                let context = super::contexts::context(world, tx, &row.project_id).await?;
                let is_open = row.waiting.as_ref().is_some_and(|it| it.reason == WaitReason::DependencyOpen);
                if !is_open {
                    asking.push(Asking::begun(row, &context)?);
                }
            }
        }
    }
    let read = situation(world, tx, asking, Some(&task)).await?;
    let Some(at) = read.asking.iter().position(|(it, _)| it.row.id == task) else {
        return Ok(Decision::Wait(wait(WaitReason::AgentBusy, "its agent is gone")));
    };
    let mut waiters = read.waiters();
    waiters[at].planned = planned;
    let decision = plan(read.fleet.clone(), &waiters, world.now()).decisions.swap_remove(at);
    if let Decision::Wait(waiting) = &decision {
        effects.extend(effects_of_wait(&read, &waiters[at], waiting));
    }
    Ok(decision)
}

async fn own(conn: &mut ReadConnection, task: &TaskId) -> Result<QueuedTask> {
    conn.tasks().as_queued(task).await?.ok_or_else(|| EngineError::not_found("task", task))
}

/// A task in the context that its caller has.
fn asking_of(own: &QueuedTask, context: &Arc<ProjectContext>) -> Asking {
    let role = context.workflow.state(&own.status).and_then(|state| state.role.clone());
    Asking { row: own.clone(), context: Arc::clone(context), is_begun: true, role, needs: Vec::new() }
}

/// What keeps a task from starting that a person, or the scheduler, has not put there in spite of it: its dependencies.
async fn before_a_start(tx: &mut Tx, s: &Stepping) -> Result<Option<End>> {
    if !is_start(tx, s).await? {
        return Ok(None);
    }
    let open = open_prerequisites(tx, &s.context, &s.task.id).await?;
    if let Some(gone) = open.iter().find(|task| s.context.is_cancelled(task)) {
        return Ok(Some(End::Block(prerequisite_cancelled(gone))));
    }
    let message = || format!("waits for {}", named(&open));
    Ok((!open.is_empty()).then(|| End::wait(WaitReason::DependencyOpen, message())))
}

/// Whether an agent's work begins here without a person having put the card there by hand.
async fn is_start(conn: &mut ReadConnection, s: &Stepping) -> Result<bool> {
    if !["claim", "start"].contains(&s.transition.trigger.as_str()) {
        return Ok(false);
    }
    let last = conn.executions().last(&s.task.id).await?;
    Ok(last.is_none_or(|row| row.after_transition < s.transition.seq))
}

/// Whether it is a place, or what goes with one, that a task waits for.
pub(crate) const fn waits_for_place(reason: WaitReason) -> bool {
    is_for_machine(reason)
        || matches!(
            reason,
            WaitReason::AgentBusy
                | WaitReason::ProjectBusy
                | WaitReason::Paused
                | WaitReason::Held
                | WaitReason::RateLimited
                | WaitReason::CostLimit
                | WaitReason::DependencyOpen
        )
}

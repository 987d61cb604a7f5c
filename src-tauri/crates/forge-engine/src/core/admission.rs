//! Giving a task its place: of its agent, of its project and on a machine.
//!
//! Who is next is decided by the scheduler's pass, for all tasks that wait: a task without a place asks for a pass and does
//! nothing more. The transaction that gives the place looks at that place alone ([`grant`]): whether it is still free, its
//! machine still fits, and the project still has it. Only an engine for one command decides in the step itself ([`look`]).
//!
//! Invariant: nothing passes the limits, because every place is given by [`grant`]. The machine of the place is the one
//! that the worktree is made on.

use std::sync::Arc;

use forge_model::agent::{Agent, Profile};
use forge_model::ids::{AgentId, MachineId, TaskId};
use forge_model::task::{HolderKind, WaitReason, Waiting};
use forge_model::transition::{StepKind, StepStatus};
use forge_store::table::{slots::Slot, steps::StepRow, tasks::TaskRow, turns::Oldest};
use forge_store::{ReadConnection, Tx};

use crate::{
    Work, World,
    core::{
        context::ProjectContext,
        contexts,
        fleet::{
            policy::{Decision, Fleet, Waiter, is_spent_for, plan, still_fits, unreachable_for, wait},
            situation::{Asking, obstacle_to, situation, situation_of_nobody, situation_of_one},
            waiting::{Whose, is_for_machine, waits_for_place, who_waits},
        },
        prerequisites::{named, open_prerequisites, prerequisite_cancelled},
        world::step::{Effect, End, Stepping},
    },
    error::Result,
};

/// What is decided on a task beside all others that wait.
#[derive(Clone)]
pub(crate) enum Looked {
    /// It has a place, or asks for none.
    Nothing,
    /// It is next.
    Next(Chosen),
    /// It waits, until something of this happens at the latest.
    Waits(Waiting, Vec<Again>),
}

/// The place that is to be given to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// The machine; none is this computer.
    pub machine: Option<MachineId>,
    /// Of whose tasks it is the one that had waited longest.
    pub oldest: Oldest,
}

/// What makes a task that waits be looked at again, where nothing of Forge does.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Again {
    At(forge_model::time::Timestamp),
    Reachable(MachineId),
}

impl From<Again> for Effect {
    fn from(again: Again) -> Self {
        match again {
            Again::At(at) => Self::WakeAt(at),
            Again::Reachable(machine) => Self::AwaitMachine(machine),
        }
    }
}

/// Decides on a task that is about to ask for a place, beside the others of an engine for one command. Where all tasks
/// are worked on, the scheduler's pass alone decides. Nothing is written.
pub(crate) async fn look(world: &World, id: &TaskId) -> Result<Looked> {
    if whose(world) == Whose::Everyones {
        return Ok(Looked::Nothing);
    }
    let mut conn = world.store().read().await?;
    if conn.slots().of(id).await?.is_some() {
        return Ok(Looked::Nothing);
    }
    let asking = who_waits(world, &mut conn, whose(world)).await?.asking;
    let read = situation(world, &mut conn, asking).await?;
    let Some(at) = read.asking.iter().position(|(it, _)| it.row.id == *id) else {
        return Ok(Looked::Nothing);
    };
    let mut decided = plan(read.fleet.clone(), &read.waiters(), world.now());
    let start = decided.starts.iter().find(|start| start.at == at);
    let oldest = start.map(|start| start.oldest).unwrap_or_default();
    Ok(match decided.decisions.swap_remove(at) {
        Decision::Start(machine) => Looked::Next(Chosen { machine, oldest }),
        Decision::Wait(waiting) => {
            let again = looks_again(&decided.fleet, &read.asking[at].1, &waiting);
            Looked::Waits(waiting, again)
        }
    })
}

/// Whose tasks wait for a place here. An engine for one command starts nothing else, so nobody is kept waiting for it.
pub(crate) fn whose(world: &World) -> Whose {
    if world.inner.config.work == Work::All { Whose::Everyones } else { Whose::Ours }
}

/// Gives a task a place that was chosen for it, in the transaction that writes what it is given for. What it waits for,
/// when the place is not there any more or does not fit. What the project says counts as it is now: a person may have
/// paused it since the place was chosen.
pub(crate) async fn grant(
    world: &World,
    tx: &mut Tx,
    it: Asking,
    chosen: &Chosen,
) -> Result<Option<Waiting>> {
    let (task, project) = (it.row.id.clone(), it.row.project_id.clone());
    let context = contexts::context(world, tx, &project).await?;
    let it = Asking::begun(it.row, &context)?;
    let one = situation_of_one(world, tx, it, chosen.machine.as_ref()).await?;
    let Some((fleet, waiter)) = one else {
        return Ok(Some(wait(WaitReason::AgentBusy, "its agent is gone")));
    };
    let agent_id = waiter.agent.clone();
    let decision = plan(fleet, &[waiter], world.now()).decisions.pop();
    match decision {
        Some(Decision::Start(machine_id)) if machine_id == chosen.machine => {
            let slot = Slot { agent_id, machine_id };
            tx.slots_mut().take(&task, &project, &slot, world.now()).await?;
            tx.turns_mut().end(&project, Some(&slot), chosen.oldest).await?;
            Ok(None)
        }
        Some(Decision::Wait(waiting)) => Ok(Some(waiting)),
        Some(Decision::Start(_)) | None => {
            Ok(Some(wait(WaitReason::AgentBusy, "queued for another machine")))
        }
    }
}

/// Has a task keep the place that it was given with its start, take the one that it is next for, or wait.
pub(crate) async fn take_place(
    world: &World,
    tx: &mut Tx,
    s: &Stepping,
    (agent, looked): (&Agent, Looked),
    effects: &mut Vec<Effect>,
) -> Result<End> {
    let kept = tx.slots().of(&s.task.id).await?;
    if let Some(end) = before_a_start(tx, s).await? {
        needs_no_place(tx, &s.task.id, effects).await?;
        return Ok(end);
    }
    if let Some(kept) = kept {
        if is_place_good(world, tx, s, &kept).await? {
            let Some(own) = own(tx, s).await? else { return Ok(End::Interrupted) };
            // What a day may cost can have been reached since.
            let Some(waiting) = obstacle_to(world, tx, &own).await? else {
                return Ok(End::Ok(Some(agent.name.clone())));
            };
            needs_no_place(tx, &s.task.id, effects).await?;
            effects.extend(waiting.until.map(Effect::WakeAt));
            return Ok(End::Wait(waiting));
        }
        return give_back(world, tx, s, (agent, &kept), effects).await;
    }
    match looked {
        Looked::Next(chosen) => {
            let Some(own) = own(tx, s).await? else { return Ok(End::Interrupted) };
            Ok(match grant(world, tx, own, &chosen).await? {
                None => End::Ok(Some(agent.name.clone())),
                Some(waiting) => {
                    // Another place may be free: the next pass looks for it.
                    effects.push(Effect::WakeWaiting);
                    End::Wait(waiting)
                }
            })
        }
        Looked::Waits(waiting, again) => {
            effects.extend(again.into_iter().map(Effect::from));
            Ok(End::Wait(waiting))
        }
        Looked::Nothing => ask_for_pass(tx, s, agent, effects).await,
    }
}

/// Leaves it to the scheduler's next pass to give the task a place, or to say what it waits for. Until then it says what
/// it said before, unless that was nothing that a pass is asked for.
async fn ask_for_pass(tx: &mut Tx, s: &Stepping, agent: &Agent, effects: &mut Vec<Effect>) -> Result<End> {
    if s.task.waiting.as_ref().is_some_and(|waiting| !waits_for_place(waiting.reason)) {
        return Ok(stand_in_line(agent, effects));
    }
    let reason = Some(format!("queued for {}", agent.name));
    tx.steps_mut().update(&StepRow { status: StepStatus::Pending, reason, ..s.step.clone() }).await?;
    effects.push(Effect::WakeWaiting);
    Ok(End::Written(false))
}

/// Takes back the place of a task that needs none after all.
pub(crate) async fn needs_no_place(tx: &mut Tx, task: &TaskId, effects: &mut Vec<Effect>) -> Result<()> {
    if tx.slots_mut().release(task).await? {
        effects.push(Effect::WakeWaiting);
    }
    Ok(())
}

/// Has a task without a place ask for one where its worktree is: it was on hold since it had one, or its agent came later.
pub(crate) async fn take_place_again(
    world: &World,
    tx: &mut Tx,
    s: &Stepping,
    agent: &Agent,
    effects: &mut Vec<Effect>,
) -> Result<End> {
    if whose(world) == Whose::Everyones {
        return Ok(stand_in_line(agent, effects));
    }
    let machine = tx.workspaces().last(&s.task.id).await?.and_then(|workspace| workspace.machine_id);
    let chosen = Chosen { machine, oldest: Oldest::default() };
    let Some(own) = own(tx, s).await? else { return Ok(End::Interrupted) };
    if let Some(waiting) = obstacle_to(world, tx, &own).await? {
        effects.extend(waiting.until.map(Effect::WakeAt));
        return Ok(End::Wait(waiting));
    }
    Ok(match grant(world, tx, own, &chosen).await? {
        None => End::Ok(Some(agent.name.clone())),
        Some(waiting) => {
            effects.extend(waiting.until.map(Effect::WakeAt));
            End::Wait(waiting)
        }
    })
}

/// The scheduler's next pass gives it a place, or says what it waits for.
pub(crate) fn stand_in_line(agent: &Agent, effects: &mut Vec<Effect>) -> End {
    effects.push(Effect::WakeWaiting);
    End::wait(WaitReason::AgentBusy, format!("queued for {}", agent.name))
}

/// Gives a place back that its task cannot use, and has the task wait for another one.
pub(crate) async fn give_back(
    world: &World,
    tx: &mut Tx,
    s: &Stepping,
    (agent, kept): (&Agent, &Slot),
    effects: &mut Vec<Effect>,
) -> Result<End> {
    tx.slots_mut().release(&s.task.id).await?;
    let in_line = stand_in_line(agent, effects);
    let Some(own) = own(tx, s).await? else { return Ok(End::Interrupted) };
    let one = situation_of_one(world, tx, own, kept.machine_id.as_ref()).await?;
    let decision = one.and_then(|(fleet, waiter)| plan(fleet, &[waiter], world.now()).decisions.pop());
    Ok(match decision {
        Some(Decision::Wait(waiting)) => End::Wait(waiting),
        Some(Decision::Start(_)) | None => in_line,
    })
}

/// Whether the place of a task is still good for it: it is of its agent, which may begin, the task is not on hold, and the
/// machine can run it.
pub(crate) async fn is_place_good(
    world: &World,
    conn: &mut ReadConnection,
    s: &Stepping,
    slot: &Slot,
) -> Result<bool> {
    let Some(own) = own(conn, s).await? else { return Ok(false) };
    let one = situation_of_one(world, conn, own, slot.machine_id.as_ref()).await?;
    Ok(one.is_some_and(|(fleet, waiter)| still_fits(&fleet, &waiter, slot)))
}

/// Where a task would run of which no agent is given a place now: a person works on it, or its checks need the worktree.
pub(crate) async fn place_without_agent(world: &World, s: &Stepping) -> Result<Looked> {
    let mut conn = world.store().read().await?;
    let Some(row) = conn.tasks().as_queued(&s.task.id).await? else { return Ok(Looked::Nothing) };
    let of_agent = agent_for(&mut conn, &s.context, &s.task).await?;
    let of_agent = of_agent.and_then(|agent| Profile::of(&agent).machines);
    let it = Asking::nobodys(row, &s.context);
    let (fleet, waiter) = situation_of_nobody(world, &mut conn, it, of_agent.as_deref()).await?;
    let decision = plan(fleet.clone(), std::slice::from_ref(&waiter), world.now()).decisions.pop();
    Ok(match decision {
        Some(Decision::Start(machine)) => Looked::Next(Chosen { machine, oldest: Oldest::default() }),
        Some(Decision::Wait(waiting)) => {
            let again = looks_again(&fleet, &waiter, &waiting);
            Looked::Waits(waiting, again)
        }
        None => Looked::Nothing,
    })
}

/// What makes a task that waits be looked at again: a time, a day that begins, a machine that can be reached.
pub(crate) fn looks_again(fleet: &Fleet, waiter: &Waiter, waiting: &Waiting) -> Vec<Again> {
    let mut again: Vec<Again> = waiting.until.map(Again::At).into_iter().collect();
    if !is_for_machine(waiting.reason) {
        return again;
    }
    // Also where one machine is only full: another one is there again tomorrow.
    if is_spent_for(fleet, waiter) {
        again.push(Again::At(fleet.tomorrow));
    }
    again.extend(unreachable_for(fleet, waiter).into_iter().map(Again::Reachable));
    again
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

/// Gives a task that the scheduler has just moved its place, if the entered state asks for one. What it waits for, when
/// it is given none.
pub(crate) async fn reserve(
    world: &World,
    tx: &mut Tx,
    context: &Arc<ProjectContext>,
    task: &TaskRow,
    (agent, chosen): (Option<&AgentId>, &Chosen),
) -> Result<Reserved> {
    let open = tx.steps().open(&task.id).await?;
    // A race's parent and a gate that checks first are given none with their start.
    let prepares = open.iter().any(|step| step.kind == StepKind::PrepareWorkspace);
    if !prepares || !open.iter().any(|step| step.kind == StepKind::Admit) {
        return Ok(Reserved::AsksForNone);
    }
    let Some(it) = asking_of(tx, &task.id, context).await? else { return Ok(Reserved::AsksForNone) };
    if it.agent() != agent {
        // A guard sent it elsewhere: another agent starts there, which its own step asks for.
        return Ok(Reserved::AsksForNone);
    }
    Ok(match grant(world, tx, it, chosen).await? {
        None => Reserved::Given,
        Some(_) => Reserved::Refused,
    })
}

/// Whether a task was given its place with its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reserved {
    Given,
    /// Its first steps need no place.
    AsksForNone,
    /// Others took the place meanwhile.
    Refused,
}

async fn own(conn: &mut ReadConnection, s: &Stepping) -> Result<Option<Asking>> {
    asking_of(conn, &s.task.id, &s.context).await
}

/// A task in the context that its caller has.
async fn asking_of(
    conn: &mut ReadConnection,
    task: &TaskId,
    context: &Arc<ProjectContext>,
) -> Result<Option<Asking>> {
    let Some(row) = conn.tasks().as_queued(task).await? else { return Ok(None) };
    let role = context.workflow.state(&row.status).and_then(|state| state.role.clone());
    let context = Arc::clone(context);
    Ok(Some(Asking { row, context, is_begun: true, role, needs: Vec::new(), is_raced: false }))
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

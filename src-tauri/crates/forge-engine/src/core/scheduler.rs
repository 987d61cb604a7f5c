//! The scheduler: wakes tasks that wait for a place when they are given one, and starts tasks that need no person.
//!
//! Nothing is polled: a pass runs when something changed that may free a place or a task, after the commit of that. It
//! decides for all tasks at once (`core/fleet`) and wakes those alone that are given a place; each start takes it in its
//! own transaction (`core/admission.rs`).

use std::{collections::HashSet, sync::Mutex};

use forge_model::actor::{Actor, Cause};
use forge_model::event::EventType;
use forge_model::ids::{MachineId, TaskId};
use forge_model::task::{AnnotationType, WaitReason, Waiting};
use forge_model::time::Timestamp;
use forge_model::workflow::{Audience, State};
use forge_store::ReadConnection;
use serde_json::json;

use crate::{
    EngineError, Work, World,
    core::{
        admission::{Planned, asks_for_place, effects_of_wait, is_for_machine, reserve, waits_for_place},
        block_reason::BlockReason,
        fleet::{
            policy::{Decision, plan},
            situation::{Asking, situation},
        },
        guarded::guarded,
        moves::Move,
        prerequisites::prerequisite_cancelled,
        sync::locked,
        world::step::Effect,
    },
    error::Result,
};

/// Passes run one at a time; whoever asks meanwhile gets one more after it.
#[derive(Debug, Default)]
pub(crate) struct Scheduler {
    state: Mutex<Pass>,
    /// The times at which a pass is due.
    due: Mutex<HashSet<Timestamp>>,
}

#[derive(Debug, Default)]
struct Pass {
    running: bool,
    again: bool,
}

/// Looks whether something can be started or woken. Cheap when nothing can.
pub(crate) fn look_for_work(world: &World) {
    if world.inner.shutdown.is_cancelled() || world.inner.config.work == Work::Nothing {
        return;
    }
    {
        let scheduler = world.part::<Scheduler>();
        let mut pass = locked(&scheduler.state);
        if pass.running {
            pass.again = true;
            return;
        }
        pass.running = true;
    }
    let world = world.clone();
    world.clone().inner.tracker.spawn(async move {
        loop {
            // The next pass is not kept off by a panic in this one.
            if let Ok(Err(error)) = guarded(run_pass(&world)).await {
                tracing::error!(%error, "failed to look for work to start");
            }
            let scheduler = world.part::<Scheduler>();
            let mut pass = locked(&scheduler.state);
            if !std::mem::take(&mut pass.again) || world.inner.shutdown.is_cancelled() {
                pass.running = false;
                break;
            }
        }
    });
}

pub(crate) fn wake_lines(world: &World) {
    world.features().moments.wake.iter().for_each(|wake| wake(world));
}

/// Asks whoever waits for a place or stands in a line, and looks for work to start.
pub(crate) fn wake_waiting(world: &World) {
    look_for_work(world);
    wake_lines(world);
}

/// Has those who wait asked again at `until`.
pub(crate) fn wake_at(world: &World, until: Timestamp) {
    if !locked(&world.part::<Scheduler>().due).insert(until) {
        return;
    }
    let world = world.clone();
    super::guarded::in_background(&world.clone(), async move {
        if super::sleep::sleep_until(&world, until).await {
            locked(&world.part::<Scheduler>().due).remove(&until);
            wake_waiting(&world);
        }
    });
}

/// Everything that waits for a place, and where an engine `starts_tasks`, what may be started by itself.
pub(crate) async fn all_asking(
    world: &World,
    conn: &mut ReadConnection,
    starts_tasks: bool,
) -> Result<Vec<Asking>> {
    let mut all = Vec::new();
    for row in conn.tasks().asking().await? {
        let context = super::contexts::context(world, conn, &row.project_id).await?;
        let it = Asking::begun(row, &context)?;
        let is_initial = it.context.workflow.initial().is_some_and(|initial| initial.name == it.row.status);
        // What is under way of a task that was not started yet is no start of it.
        if it.row.is_admitted_later || !is_initial || !starts_tasks {
            all.push(it);
        }
    }
    if starts_tasks {
        for row in conn.projects().list().await? {
            let context = super::contexts::context(world, conn, &row.project.id).await?;
            let Some(initial) = context.workflow.initial() else { continue };
            // Without auto-start only an explanation that is out of date is looked at.
            let role = context.work_role().filter(|_| context.settings.auto_start);
            let queue = conn.tasks().queued(&row.project.id, &initial.name, role).await?;
            let queue = queue.into_iter().filter(|row| !row.is_admitted_later);
            all.extend(queue.map(|row| Asking::queued(row, &context)));
        }
    }
    let is_open = |it: &Asking| {
        let waiting = it.row.waiting.as_ref().map(|waiting| waiting.reason);
        !it.is_begun || waiting == Some(WaitReason::DependencyOpen)
    };
    let ids: Vec<TaskId> = all.iter().filter(|it| is_open(it)).map(|it| it.row.id.clone()).collect();
    let mut needs = conn.dependencies().of_tasks(&ids).await?;
    for it in &mut all {
        it.needs = needs.remove(&it.row.id).unwrap_or_default();
    }
    Ok(all)
}

async fn run_pass(world: &World) -> Result<()> {
    let planned = world.part::<Planned>();
    let read = {
        let mut conn = world.store().read().await?;
        let asking = all_asking(world, &mut conn, world.inner.config.work == Work::All).await?;
        situation(world, &mut conn, asking, None).await?
    };
    for it in &read.others {
        if it.is_begun {
            wake(world, it, None);
        } else {
            explain(world, it, None).await?;
        }
    }
    let decided = plan(read.fleet.clone(), &read.waiters(), world.now());
    planned.clear();
    for at in decided.starts {
        let (it, _) = &read.asking[at];
        let Some(Decision::Start(machine)) = decided.decisions.get(at) else { continue };
        if it.is_begun {
            if let Some(machine) = machine {
                planned.put(&it.row.id, machine.clone());
            }
            wake(world, it, None);
        } else {
            start_or_explain(world, it, machine.clone()).await?;
        }
    }
    let mut effects = Vec::new();
    for ((it, waiter), decision) in read.asking.iter().zip(&decided.decisions) {
        let Decision::Wait(waiting) = decision else { continue };
        effects.extend(effects_of_wait(&read, waiter, waiting));
        if it.is_begun {
            wake(world, it, Some(waiting));
            if is_other_wait(it, waiting) {
                explain(world, it, Some(waiting.clone())).await?;
            }
        } else if let Some(gone) = it.cancelled_need() {
            block_for_cancelled(world, it, gone).await?;
        } else if target_of(it).is_some() {
            explain(world, it, Some(waiting.clone())).await?;
        } else {
            explain(world, it, None).await?;
        }
    }
    look_again(world, effects);
    Ok(())
}

/// Has those who wait looked at again. Each machine and time is awaited once.
fn look_again(world: &World, effects: Vec<Effect>) {
    let (mut times, mut machines) = (HashSet::new(), HashSet::new());
    for effect in effects {
        match effect {
            Effect::WakeAt(at) => drop(times.insert(at)),
            Effect::AwaitMachine(machine) => drop(machines.insert(machine)),
            Effect::Launch(..) | Effect::Kick(_) | Effect::WakeWaiting | Effect::WakeLines => {}
        }
    }
    times.into_iter().for_each(|at| wake_at(world, at));
    for machine in machines {
        world.features().moments.on_machine_awaited.iter().for_each(|tell| tell(world, &machine));
    }
}

/// Wakes a task whose steps are under way and that waits. One whose next step asks for a place is left where it is while it
/// would not be given one.
fn wake(world: &World, it: &Asking, still_waits: Option<&Waiting>) {
    let Some(waiting) = it.row.waiting.as_ref().filter(|waiting| waits_for_place(waiting.reason)) else {
        return;
    };
    // A dependency that was cancelled is told by the step itself.
    let is_decided = waiting.reason == WaitReason::DependencyOpen && it.cancelled_need().is_some();
    if still_waits.is_none() || is_decided || !asks_for_place(&it.row) {
        super::workers::kick(world, &it.row.id);
    }
}

/// Whether a task that waits for a place waits for something else now.
fn is_other_wait(it: &Asking, now: &Waiting) -> bool {
    let Some(before) = it.row.waiting.as_ref() else { return false };
    waits_for_place(before.reason)
        && asks_for_place(&it.row)
        && (before.reason != now.reason || is_for_machine(now.reason) && before.message != now.message)
}

/// Where a task goes that is started by itself.
fn target_of(it: &Asking) -> Option<&State> {
    it.context.workflow.claim_target(&it.row.status).filter(|_| it.context.settings.auto_start)
}

async fn start_or_explain(world: &World, it: &Asking, machine: Option<MachineId>) -> Result<()> {
    match target_of(it) {
        Some(target) => match start_by_itself(world, it, target, machine).await? {
            Some(waiting) => explain(world, it, Some(waiting)).await,
            None => Ok(()),
        },
        None => explain(world, it, None).await,
    }
}

/// Says on a task why it is not started, or that nothing is to be said.
async fn explain(world: &World, it: &Asking, waiting: Option<Waiting>) -> Result<()> {
    if it.row.waiting == waiting {
        return Ok(());
    }
    let mut tx = world.store().write().await?;
    let Some(mut now) = tx.tasks().get(&it.row.id).await? else { return Ok(()) };
    if now.version == it.row.version {
        let facts = json!({ "waiting": waiting.as_ref().map(|waiting| waiting.reason) });
        now.waiting = waiting;
        tx.tasks_mut().update(&mut now, world.now()).await?;
        world.emit(&mut tx, EventType::TaskUpdated, &now, now.id.as_str(), &facts).await?;
        tx.commit().await?;
    }
    Ok(())
}

/// Blocks a task whose prerequisite is cancelled, unless the task changed since it was looked at: it would wait for ever.
async fn block_for_cancelled(world: &World, it: &Asking, prerequisite: &TaskId) -> Result<()> {
    let mut tx = world.store().write().await?;
    let Some(prerequisite) = tx.tasks().get(prerequisite).await? else { return Ok(()) };
    let Some(mut now) = tx.tasks().get(&it.row.id).await? else { return Ok(()) };
    if now.version == it.row.version && it.context.is_cancelled(&prerequisite) {
        let trouble = prerequisite_cancelled(&prerequisite);
        super::transition::block(world, &mut tx, &it.context, &mut now, trouble, Cause::Scheduler).await?;
        tx.commit().await?;
        super::workers::kick(world, &it.row.id);
    }
    Ok(())
}

/// Starts a task with its place, unless it changed since it was looked at. What it waits for, when others took the place
/// meanwhile: then nothing of it is written.
async fn start_by_itself(
    world: &World,
    it: &Asking,
    target: &State,
    machine: Option<MachineId>,
) -> Result<Option<Waiting>> {
    let (context, id) = (&it.context, &it.row.id);
    let task = world.store().read().await?.tasks().get(id).await?;
    let Some(task) = task.filter(|task| task.version == it.row.version) else { return Ok(None) };
    let (mut redirect, mut refused) = (None, None);
    match super::guards::ask_guards(world, context, &task, Audience::AgentOnly).await {
        Ok(sent) => redirect = sent,
        Err(EngineError::GuardRejected { action, reason, details }) => {
            let mut trouble = BlockReason::new(AnnotationType::GuardRejected, reason);
            trouble.details = json!({ "action": action, "details": details });
            refused = Some(trouble);
        }
        Err(other) => return Err(other),
    }
    let mut effects = Vec::new();
    let mut tx = world.store().write().await?;
    let Some(mut now) = tx.tasks().get(id).await? else { return Ok(None) };
    if now.version != task.version {
        return Ok(None);
    }
    match refused {
        None => {
            let actor = Actor::System { cause: Cause::Scheduler };
            let mv = Move::by(&target.name, "start", actor);
            let mv = redirect.map_or_else(|| mv.clone(), |redirect| redirect.instead_of(&mv));
            super::transition::apply(world, &mut tx, context, &mut now, mv).await?;
            let waiting = reserve(world, &mut tx, context, &now, machine, &mut effects).await?;
            if waiting.is_some() {
                look_again(world, effects);
                return Ok(waiting);
            }
        }
        Some(trouble) => drop(
            super::transition::block(world, &mut tx, context, &mut now, trouble, Cause::Scheduler).await?,
        ),
    }
    tx.commit().await?;
    world.point("schedule.committed");
    super::workers::kick(world, id);
    Ok(None)
}

/// Whether no pass runs.
#[cfg(test)]
pub(crate) fn is_idle(world: &World) -> bool {
    let scheduler = world.part::<Scheduler>();
    let pass = locked(&scheduler.state);
    !pass.running && !pass.again
}

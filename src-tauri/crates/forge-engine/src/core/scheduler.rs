//! The scheduler: what keeps an agent from starting on a task, which waiting task is next, and the start of tasks
//! that need no person.
//!
//! Invariant: nothing passes the limits. Every start asks [`obstacle`] in the transaction that takes the place.
//! Nothing is polled: a pass runs when something changed that may free a place or a task.

use std::{collections::HashMap, sync::Mutex};

use forge_model::actor::{Actor, Cause};
use forge_model::agent::Agent;
use forge_model::event::EventType;
use forge_model::ids::{AgentId, TaskId};
use forge_model::task::{AnnotationType, HolderKind, WaitReason, Waiting};
use forge_model::time::Timestamp;
use forge_model::workflow::{Audience, State};
use forge_store::table::tasks::TaskRow;
use forge_store::{ReadConnection, Tx};
use serde_json::json;

use crate::{
    EngineError, Work, World,
    core::{
        block_reason::BlockReason,
        context::ProjectContext,
        guarded::guarded,
        lineage::is_entry,
        moves::Move,
        prerequisites::{is_done_state, named, open_prerequisites, prerequisite_cancelled},
        sync::locked,
        world::step::{End, Stepping},
    },
    error::Result,
};

/// How many tasks of a queue are in memory at once.
const READ_AT_ONCE: usize = 200;

/// Passes run one at a time; whoever asks meanwhile gets one more after it.
#[derive(Debug, Default)]
pub(crate) struct Scheduler {
    state: Mutex<Pass>,
}

#[derive(Debug, Default)]
struct Pass {
    running: bool,
    again: bool,
}

/// What an agent's places look like during a pass.
struct Places {
    agent: Agent,
    limited_until: Option<Timestamp>,
    spoken_for: u32,
}

/// What becomes of a task that stands where tasks are created.
enum Verdict {
    Start,
    Wait(Waiting),
    /// It is not for the engine to start.
    Leave,
}

fn wait(reason: WaitReason, message: impl Into<String>) -> Waiting {
    Waiting { reason, until: None, files: Vec::new(), message: message.into() }
}

fn limited(agent: &Agent, until: Timestamp) -> Waiting {
    let message = format!("the provider of {} is rate limited", agent.name);
    Waiting { until: Some(until), ..wait(WaitReason::RateLimited, message) }
}

/// What keeps an agent from starting on a task now, apart from others that were there first.
pub(crate) async fn obstacle(
    world: &World,
    conn: &mut ReadConnection,
    context: &ProjectContext,
    task: &TaskRow,
    agent: &Agent,
) -> Result<Option<Waiting>> {
    // What is held is nothing that its race starts, either.
    let raced = task.parent_id.as_ref().filter(|_| is_entry(task));
    let raced_held = match raced {
        Some(parent) => conn.tasks().get(parent).await?.is_some_and(|parent| parent.held),
        None => false,
    };
    if task.held || raced_held {
        return Ok(Some(wait(WaitReason::Held, "on hold")));
    }
    if let Some(paused) = paused(context, agent) {
        return Ok(Some(paused));
    }
    if let Some(until) = conn.limits().of(&agent.id).await?.filter(|until| *until > world.now()) {
        return Ok(Some(limited(agent, until)));
    }
    for look in &world.features().moments.obstacle {
        if let Some(waiting) = look(world, conn, context, task).await? {
            return Ok(Some(waiting));
        }
    }
    let (of_agent, of_project) = conn.slots().taken(&agent.id, &task.project_id, &task.id).await?;
    Ok(busy(context, agent, of_agent, of_project))
}

/// Gives the task a place of its agent, or lets it wait for one. No start bypasses this.
pub(crate) async fn take_place(world: &World, tx: &mut Tx, s: &Stepping, agent: &Agent) -> Result<End> {
    if is_start(tx, s).await? {
        let open = open_prerequisites(tx, &s.context, &s.task.id).await?;
        if let Some(gone) = open.iter().find(|task| s.context.is_cancelled(task)) {
            return Ok(End::Block(prerequisite_cancelled(gone)));
        }
        if !open.is_empty() {
            return Ok(End::wait(WaitReason::DependencyOpen, format!("waits for {}", named(&open))));
        }
    }
    if let Some(waiting) = obstacle(world, tx, &s.context, &s.task, agent).await? {
        return Ok(End::Wait(waiting));
    }
    if somebody_is_before(world, tx, &s.task, agent).await? {
        return Ok(End::wait(WaitReason::AgentBusy, format!("queued for {}", agent.name)));
    }
    tx.slots_mut().take(&s.task.id, &s.task.project_id, &agent.id, world.now()).await?;
    Ok(End::Ok(Some(agent.name.clone())))
}

/// Whether an agent's work begins here without a person having put the card there by hand.
async fn is_start(conn: &mut ReadConnection, s: &Stepping) -> Result<bool> {
    if !["claim", "start"].contains(&s.transition.trigger.as_str()) {
        return Ok(false);
    }
    let last = conn.executions().last(&s.task.id).await?;
    Ok(last.is_none_or(|row| row.after_transition < s.transition.seq))
}

/// Whether a task of higher priority, or an older one, could take the place that this one is about to.
async fn somebody_is_before(
    world: &World,
    conn: &mut ReadConnection,
    task: &TaskRow,
    agent: &Agent,
) -> Result<bool> {
    if world.inner.config.work != Work::All {
        // Nothing else is started here, so nobody is kept waiting for it.
        return Ok(false);
    }
    let rank = |task: &TaskRow| (std::cmp::Reverse(task.priority), task.status_since, task.number);
    for other in conn.tasks().waiting().await? {
        // They come in the order of their ranks.
        if rank(&other) >= rank(task) {
            break;
        }
        let depends =
            other.waiting.as_ref().is_some_and(|waiting| waiting.reason == WaitReason::DependencyOpen);
        if other.id == task.id || depends || !waits_for_place(&other) {
            continue;
        }
        let context = super::contexts::context_of(world, conn, &other).await?;
        let Some(rival) = agent_for(conn, &context, &other).await? else { continue };
        let same_place = rival.id == agent.id || other.project_id == task.project_id;
        if same_place && obstacle(world, conn, &context, &other, &rival).await?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
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

/// Looks whether something can be started. Cheap when nothing can.
pub(crate) fn look_for_work(world: &World) {
    if world.inner.shutdown.is_cancelled() || world.inner.config.work != Work::All {
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

async fn run_pass(world: &World) -> Result<()> {
    let all = world.store().read().await?.projects().list().await?;
    let mut places = HashMap::new();
    for row in all {
        let mut conn = world.store().read().await?;
        let context = super::contexts::context(world, &mut conn, &row.project.id).await?;
        let Some(initial) = context.workflow.initial() else { continue };
        // Without auto-start only an explanation that is out of date is looked at.
        let role = context.work_role().filter(|_| context.settings.auto_start);
        let queue = conn.tasks().queue(&row.project.id, &initial.name, role).await?;
        drop(conn);
        let mut of_project = None;
        for ids in queue.chunks(READ_AT_ONCE) {
            let part = world.store().read().await?.tasks().of_ids(ids).await?;
            run_queue(world, &context, initial, part, (&mut places, &mut of_project)).await?;
        }
    }
    Ok(())
}

async fn run_queue(
    world: &World,
    context: &ProjectContext,
    initial: &State,
    queue: Vec<TaskRow>,
    (places, of_project): (&mut HashMap<AgentId, Places>, &mut Option<u32>),
) -> Result<()> {
    let ids: Vec<TaskId> = queue.iter().map(|task| task.id.clone()).collect();
    let (mut held, needs) = {
        let mut conn = world.store().read().await?;
        (conn.roles().of_tasks(&ids).await?, conn.dependencies().of_tasks(&ids).await?)
    };
    let target = context.workflow.claim_target(&initial.name).filter(|_| context.settings.auto_start);
    for task in queue {
        // It may have been started since the queue was read.
        if task.status != initial.name {
            continue;
        }
        let role = context.work_role();
        let agent = held
            .remove(&task.id)
            .into_iter()
            .flatten()
            .find(|(name, _)| Some(name.as_str()) == role)
            .and_then(|(_, holder)| holder.id);
        let (Some(agent), Some(target)) = (agent, target) else {
            explain(world, &task, None).await?;
            continue;
        };
        let (place, taken) = {
            let mut conn = world.store().read().await?;
            let place = place(world, &mut conn, places, &agent, &task).await?;
            let taken = match *of_project {
                Some(taken) => taken,
                None => conn.slots().spoken_for(&agent, &task.project_id, &task.id).await?.1,
            };
            (place, taken)
        };
        *of_project = Some(taken);
        let needs = needs.get(&task.id).map(Vec::as_slice).unwrap_or_default();
        if let Some((gone, _)) = needs.iter().find(|(_, state)| *state == context.workflow.cancellation_state)
        {
            block_for_cancelled(world, context, &task, gone).await?;
            continue;
        }
        let open = needs.iter().any(|(_, state)| !is_done_state(context, state));
        match judge(context, &task, place, open, taken) {
            Verdict::Leave => explain(world, &task, None).await?,
            Verdict::Wait(waiting) => explain(world, &task, Some(waiting)).await?,
            Verdict::Start => {
                if start_by_itself(world, context, &task, target).await? {
                    *of_project = Some(taken + 1);
                    if let Some(Some(place)) = places.get_mut(&agent).map(Some) {
                        place.spoken_for += 1;
                    }
                }
            }
        }
    }
    Ok(())
}

async fn place<'a>(
    world: &World,
    conn: &mut ReadConnection,
    places: &'a mut HashMap<AgentId, Places>,
    id: &AgentId,
    task: &TaskRow,
) -> Result<Option<&'a Places>> {
    if !places.contains_key(id) {
        let Some(agent) = conn.agents().get(id).await? else { return Ok(None) };
        let (spoken_for, _) = conn.slots().spoken_for(id, &task.project_id, &task.id).await?;
        let limited_until = conn.limits().of(id).await?.filter(|until| *until > world.now());
        places.insert(id.clone(), Places { agent, limited_until, spoken_for });
    }
    Ok(places.get(id))
}

fn judge(
    context: &ProjectContext,
    task: &TaskRow,
    place: Option<&Places>,
    open: bool,
    of_project: u32,
) -> Verdict {
    let Some(place) = place else { return Verdict::Leave };
    if task.held {
        return Verdict::Wait(wait(WaitReason::Held, "on hold"));
    }
    if open {
        return Verdict::Wait(wait(WaitReason::DependencyOpen, "starts when its dependencies are done"));
    }
    if let Some(paused) = paused(context, &place.agent) {
        return Verdict::Wait(paused);
    }
    if let Some(until) = place.limited_until {
        return Verdict::Wait(limited(&place.agent, until));
    }
    match busy(context, &place.agent, place.spoken_for, of_project) {
        Some(waiting) => Verdict::Wait(waiting),
        None => Verdict::Start,
    }
}

/// Says on a task why it is not started by itself, or that nothing is to be said.
async fn explain(world: &World, task: &TaskRow, waiting: Option<Waiting>) -> Result<()> {
    if task.waiting == waiting {
        return Ok(());
    }
    let mut tx = world.store().write().await?;
    let Some(mut now) = tx.tasks().get(&task.id).await? else { return Ok(()) };
    if now.version == task.version {
        let facts = json!({ "waiting": waiting.as_ref().map(|waiting| waiting.reason) });
        now.waiting = waiting;
        tx.tasks_mut().update(&mut now, world.now()).await?;
        world.emit(&mut tx, EventType::TaskUpdated, &now, now.id.as_str(), &facts).await?;
        tx.commit().await?;
    }
    Ok(())
}

/// Blocks a task whose prerequisite is cancelled, unless the task changed since it was looked at: it would wait for ever.
async fn block_for_cancelled(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
    prerequisite: &TaskId,
) -> Result<()> {
    let mut tx = world.store().write().await?;
    let Some(prerequisite) = tx.tasks().get(prerequisite).await? else { return Ok(()) };
    let Some(mut now) = tx.tasks().get(&task.id).await? else { return Ok(()) };
    if now.version == task.version && context.is_cancelled(&prerequisite) {
        let trouble = prerequisite_cancelled(&prerequisite);
        super::transition::block(world, &mut tx, context, &mut now, trouble, Cause::Scheduler).await?;
        tx.commit().await?;
        super::workers::kick(world, &task.id);
    }
    Ok(())
}

/// Starts a task, unless it changed since it was looked at. Says whether it did.
async fn start_by_itself(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
    target: &State,
) -> Result<bool> {
    let (mut redirect, mut refused) = (None, None);
    match super::guards::ask_guards(world, context, task, Audience::AgentOnly).await {
        Ok(sent) => redirect = sent,
        Err(EngineError::GuardRejected { action, reason, details }) => {
            let mut trouble = BlockReason::new(AnnotationType::GuardRejected, reason);
            trouble.details = json!({ "action": action, "details": details });
            refused = Some(trouble);
        }
        Err(other) => return Err(other),
    }
    let mut tx = world.store().write().await?;
    let Some(mut now) = tx.tasks().get(&task.id).await? else { return Ok(false) };
    if now.version != task.version {
        return Ok(false);
    }
    let started = refused.is_none() && redirect.is_none();
    match refused {
        None => {
            let actor = Actor::System { cause: Cause::Scheduler };
            let mv = Move::by(&target.name, "start", actor);
            let mv = redirect.map_or_else(|| mv.clone(), |redirect| redirect.instead_of(&mv));
            super::transition::apply(world, &mut tx, context, &mut now, mv).await?;
        }
        Some(trouble) => drop(
            super::transition::block(world, &mut tx, context, &mut now, trouble, Cause::Scheduler).await?,
        ),
    }
    tx.commit().await?;
    world.point("schedule.committed");
    super::workers::kick(world, &task.id);
    Ok(started)
}

/// Asks those who wait for an agent's provider again at `until`.
pub(crate) fn wake_at(world: &World, until: Timestamp) {
    let world = world.clone();
    super::guarded::in_background(&world.clone(), async move {
        if super::sleep::sleep_until(&world, until).await {
            wake_waiting(&world);
        }
    });
}

fn paused(context: &ProjectContext, agent: &Agent) -> Option<Waiting> {
    if agent.paused {
        return Some(wait(WaitReason::Paused, format!("{} is paused", agent.name)));
    }
    context.project.paused.then(|| wait(WaitReason::Paused, "the project is paused"))
}

fn busy(context: &ProjectContext, agent: &Agent, of_agent: u32, of_project: u32) -> Option<Waiting> {
    if of_agent >= agent.max_concurrent {
        return Some(wait(WaitReason::AgentBusy, format!("{} is working on another task", agent.name)));
    }
    (of_project >= context.settings.max_concurrent).then(|| {
        wait(
            WaitReason::ProjectBusy,
            format!("the project's limit of {of_project} concurrent agents is reached"),
        )
    })
}

pub(crate) fn wake_lines(world: &World) {
    world.features().moments.wake.iter().for_each(|wake| wake(world));
}

/// Asks every task that waits for a place again, in order of priority, and looks for work to start.
pub(crate) fn wake_waiting(world: &World) {
    look_for_work(world);
    wake_lines(world);
    let world = world.clone();
    super::guarded::in_background(&world.clone(), async move {
        let waiting = async {
            let mut conn = world.store().read().await?;
            conn.tasks().waiting().await
        };
        match waiting.await {
            Ok(tasks) => {
                for task in tasks.iter().filter(|task| waits_for_place(task)) {
                    super::workers::kick(&world, &task.id);
                }
            }
            Err(error) => tracing::error!(%error, "failed to look for waiting tasks"),
        }
    });
}

pub(crate) fn waits_for_place(task: &TaskRow) -> bool {
    task.waiting.as_ref().is_some_and(|waiting| {
        matches!(
            waiting.reason,
            WaitReason::AgentBusy
                | WaitReason::ProjectBusy
                | WaitReason::Paused
                | WaitReason::Held
                | WaitReason::RateLimited
                | WaitReason::CostLimit
                | WaitReason::DependencyOpen
                | WaitReason::NoMachine
                | WaitReason::MachineBusy
                | WaitReason::MachineUnreachable
        )
    })
}

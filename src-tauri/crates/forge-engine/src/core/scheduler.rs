//! The scheduler: wakes tasks that wait for a place when they are given one, and starts tasks that need no person.
//!
//! Nothing is polled: a pass runs when something changed that may free a place or a task, after the commit of that. It
//! decides for all tasks at once (`core/fleet`) and gives those that are next their places, each in a transaction of its
//! own that looks whether the place is still there (`core/admission.rs`). What one of them comes to is no matter to the
//! others.

use std::{
    collections::{HashMap, HashSet},
    sync::Mutex,
};

use forge_model::actor::{Actor, Cause};
use forge_model::event::EventType;
use forge_model::ids::TaskId;
use forge_model::task::{AnnotationType, Waiting};
use forge_model::time::Timestamp;
use forge_model::workflow::{Audience, State};
use forge_store::table::tasks::QueuedTask;
use serde_json::json;

use crate::{
    EngineError, Work, World,
    core::{
        admission::{Again, Chosen, Reserved, grant, looks_again, reserve, whose},
        block_reason::BlockReason,
        context::ProjectContext,
        fleet::{
            policy::{Decision, Plan, plan},
            situation::{Asking, Situation, situation},
            waiting::{Waiters, Whose, asks, starts_by_itself, who_waits},
        },
        guarded::guarded,
        moves::Move,
        prerequisites::prerequisite_cancelled,
        sync::locked,
    },
    error::Result,
};

/// How many explanations are written in one transaction.
const WRITTEN_AT_ONCE: usize = 100;

/// How often a pass decides anew because a start failed, before it is another pass.
const ROUNDS: usize = 8;

/// How many starts that ask guards are made in one pass.
const GUARDED_STARTS: usize = 32;

/// Passes run one at a time; whoever asks meanwhile gets one more after it.
#[derive(Debug, Default)]
pub(crate) struct Scheduler {
    state: Mutex<Pass>,
    /// The times at which a pass is due.
    due: Mutex<HashSet<Timestamp>>,
    /// Tasks whose start failed, with the version that they had and how often it did.
    failed: Mutex<HashMap<TaskId, (u32, u32)>>,
}

#[derive(Debug, Default)]
struct Pass {
    running: bool,
    again: bool,
    /// When a pass is due because the last ones came to no good end, and how many of those there were.
    retry: Option<(Timestamp, u32)>,
}

impl Pass {
    /// When another pass is due after one that ended, if that has not been said yet. The more of them come to no good end
    /// one after the other, the later it is.
    fn retry_after(&mut self, is_well: bool, now: Timestamp) -> Option<Timestamp> {
        if is_well {
            self.retry = None;
            return None;
        }
        let failures = match self.retry {
            Some((at, _)) if at > now => return None,
            Some((_, failures)) => failures + 1,
            None => 1,
        };
        let at = now.plus_ms((60_000 << (failures - 1).min(4)).min(600_000));
        self.retry = Some((at, failures));
        Some(at)
    }
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
            let ended = guarded(run_pass(&world)).await;
            if let Ok(Err(error)) = &ended {
                tracing::error!(%error, "failed to look for work to start");
            }
            let scheduler = world.part::<Scheduler>();
            let is_well = matches!(ended, Ok(Ok(Ended::Well)));
            let retry = locked(&scheduler.state).retry_after(is_well, world.now());
            // Where nothing else happens, nobody else would ask.
            retry.into_iter().for_each(|at| wake_at(&world, at));
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

/// Gives places until no start fails. A task whose start fails keeps its place from nobody: the others are decided on
/// without it, and from then on those that failed are tried after all others, until they change.
async fn run_pass(world: &World) -> Result<Ended> {
    for _ in 0..ROUNDS {
        let round = read_round(world, whose(world), Tries::First).await?;
        let failed = give_places(world, &round).await;
        if failed != Failed::ForTheFirstTime {
            return last_round(world, (round, failed)).await;
        }
    }
    look_for_work(world);
    Ok(Ended::Well)
}

/// How a pass came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// Each task has its place, or says what it waits for, or the next pass has begun.
    Well,
    /// Starts failed, or what tasks wait for could not be written.
    WithFailures,
}

/// Tries those once more whose start failed before, then tells all others what they wait for.
async fn last_round(world: &World, (round, failed): (Round, Failed)) -> Result<Ended> {
    let (round, failed) = match round.left_out {
        0 => (round, failed),
        _ => {
            let last = read_round(world, whose(world), Tries::All).await?;
            let failed = give_places(world, &last).await;
            (last, failed)
        }
    };
    let is_told = tell(world, &round).await;
    Ok(if is_told && failed == Failed::None { Ended::Well } else { Ended::WithFailures })
}

/// Which tasks a round decides on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tries {
    /// Those whose start did not fail.
    First,
    All,
}

/// What was read, and what was decided on it.
struct Round {
    waiting: Waiters,
    read: Situation,
    decided: Plan,
    tries: Tries,
    /// How many tasks were not decided on because their start failed.
    left_out: usize,
}

async fn read_round(world: &World, whose: Whose, tries: Tries) -> Result<Round> {
    let (waiting, read, left_out) = {
        let mut conn = world.store().read().await?;
        let mut waiting = who_waits(world, &mut conn, whose).await?;
        let mut asking = std::mem::take(&mut waiting.asking);
        let all = asking.len();
        if tries == Tries::First {
            let scheduler = world.part::<Scheduler>();
            let mut failed = locked(&scheduler.failed);
            if !failed.is_empty() {
                let asks: HashMap<&TaskId, u32> =
                    asking.iter().map(|it| (&it.row.id, it.row.version)).collect();
                failed.retain(|id, (version, _)| asks.get(id) == Some(version));
            }
            asking.retain(|it| !failed.contains_key(&it.row.id));
        }
        let left_out = all - asking.len();
        (waiting, situation(world, &mut conn, asking).await?, left_out)
    };
    let decided = plan(read.fleet.clone(), &read.waiters(), world.now());
    Ok(Round { waiting, read, decided, tries, left_out })
}

/// Has tasks look at themselves that a pass does not decide on, and tells the others what they wait for. Whether all of
/// it could be written.
async fn tell(world: &World, round: &Round) -> bool {
    let Round { waiting, read, decided, .. } = round;
    for row in &waiting.to_wake {
        super::workers::kick(world, &row.id);
    }
    let mut said: Vec<Explanation> =
        waiting.to_clear.iter().filter_map(|row| Explanation::of(row, None)).collect();
    for it in &read.others {
        if it.is_begun {
            super::workers::kick(world, &it.row.id);
        } else {
            said.extend(Explanation::of(&it.row, None));
        }
    }
    let mut again = HashSet::new();
    for ((it, waiter), decision) in read.asking.iter().zip(&decided.decisions) {
        let Decision::Wait(waiting) = decision else { continue };
        // As the machines are once those before it have started: what this pass used up is there again tomorrow.
        again.extend(looks_again(&decided.fleet, waiter, waiting));
        match it.cancelled_need() {
            // It is told by the step itself.
            Some(_) if it.is_begun => super::workers::kick(world, &it.row.id),
            Some(gone) => log(it, block_for_cancelled(world, it, gone).await),
            None => said.extend(Explanation::of(&it.row, Some(waiting))),
        }
    }
    let mut is_written = true;
    for part in said.chunks(WRITTEN_AT_ONCE) {
        if let Err(error) = say(world, part).await {
            tracing::error!(%error, "failed to write what tasks wait for; the next pass writes it");
            is_written = false;
        }
    }
    again.into_iter().for_each(|again| look_again(world, again));
    // Whoever waits until a task waits sees that it does.
    if !said.is_empty() {
        world.made_progress();
    }
    is_written
}

/// Has tasks that wait looked at again, once it is time or their machine can be reached.
fn look_again(world: &World, again: Again) {
    match again {
        Again::At(at) => wake_at(world, at),
        Again::Reachable(machine) => {
            world.features().moments.on_machine_awaited.iter().for_each(|tell| tell(world, &machine));
        }
    }
}

/// Which starts failed in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Failed {
    None,
    /// Those alone that had failed before.
    Again,
    ForTheFirstTime,
}

/// Gives those that are next their places, first to those that are under way already: no guard is asked for them. Those
/// whose start failed most often are last.
async fn give_places(world: &World, round: &Round) -> Failed {
    let (read, decided) = (&round.read, &round.decided);
    let mut starts: Vec<_> = decided.starts.iter().collect();
    {
        let scheduler = world.part::<Scheduler>();
        let failed = locked(&scheduler.failed);
        let tries = |at: usize| failed.get(&read.asking[at].0.row.id).map_or(0, |(_, tries)| *tries);
        starts.sort_by_key(|start| tries(start.at));
    }
    let mut worst = Failed::None;
    let mut guarded_starts = 0;
    for is_begun in [true, false] {
        for start in &starts {
            let (it, _) = &read.asking[start.at];
            let Some(Decision::Start(machine)) = decided.decisions.get(start.at) else { continue };
            if it.is_begun != is_begun {
                continue;
            }
            // Guards may take long, and what changes meanwhile is seen by the next pass alone.
            if !is_begun && it.has_guards() {
                guarded_starts += 1;
                if guarded_starts > GUARDED_STARTS {
                    // Those that failed before are in the way of nobody: the others of them come first the next time.
                    if round.tries == Tries::First {
                        look_for_work(world);
                    }
                    continue;
                }
            }
            let chosen = Chosen { machine: machine.clone(), oldest: start.oldest };
            let given = if is_begun {
                go_on(world, it, &chosen).await
            } else {
                start_by_itself(world, it, &chosen).await
            };
            match given {
                // The place that was meant for it is free.
                Ok(Meant::Free) => look_for_work(world),
                Ok(Meant::Given) => drop(locked(&world.part::<Scheduler>().failed).remove(&it.row.id)),
                Err(_) => {
                    let scheduler = world.part::<Scheduler>();
                    let mut failed = locked(&scheduler.failed);
                    let (version, tries) = failed.entry(it.row.id.clone()).or_default();
                    let is_known = *tries > 0 && *version == it.row.version;
                    (*version, *tries) = (it.row.version, if is_known { *tries + 1 } else { 1 });
                    worst = worst.max(if is_known { Failed::Again } else { Failed::ForTheFirstTime });
                    log(it, given.map(drop));
                }
            }
        }
    }
    worst
}

/// What became of a place that was meant for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meant {
    Given,
    /// The task changed, it needs none, or others took it. Each of them changes what the next pass decides.
    Free,
}

fn log(it: &Asking, done: Result<()>) {
    if let Err(error) = done {
        tracing::error!(task = %it.row.id, %error, "failed to start a task; the others are started");
    }
}

/// Gives a task a place whose steps are under way, and has them run.
async fn go_on(world: &World, it: &Asking, chosen: &Chosen) -> Result<Meant> {
    let mut tx = world.store().write().await?;
    let Some(row) = tx.tasks().as_queued(&it.row.id).await? else { return Ok(Meant::Free) };
    if row.status != it.row.status || !asks(&row, &it.context) || tx.slots().of(&it.row.id).await?.is_some() {
        return Ok(Meant::Free);
    }
    let now = Asking { row, ..it.clone() };
    if grant(world, &mut tx, now, chosen).await?.is_some() {
        return Ok(Meant::Free);
    }
    // With its place it waits no more, whenever its worker comes to it.
    if let Some(mut task) = tx.tasks().get(&it.row.id).await?.filter(|task| task.waiting.is_some()) {
        task.waiting = None;
        tx.tasks_mut().update(&mut task, world.now()).await?;
        world
            .emit(&mut tx, EventType::TaskUpdated, &task, task.id.as_str(), &json!({ "waiting": null }))
            .await?;
    }
    tx.commit().await?;
    super::workers::kick(world, &it.row.id);
    Ok(Meant::Given)
}

/// What is to be said on a task of what it waits for.
struct Explanation {
    task: TaskId,
    version: u32,
    waiting: Option<Waiting>,
}

impl Explanation {
    /// None where the task says it already: its reason and its time are what counts, whatever the words.
    fn of(row: &QueuedTask, waiting: Option<&Waiting>) -> Option<Self> {
        let counts = |waiting: &Waiting| (waiting.reason, waiting.until);
        let is_said = row.waiting.as_ref().map(counts) == waiting.map(counts);
        (!is_said).then(|| Self { task: row.id.clone(), version: row.version, waiting: waiting.cloned() })
    }
}

/// Writes what tasks wait for, except on those that changed since they were looked at.
async fn say(world: &World, all: &[Explanation]) -> Result<()> {
    let mut tx = world.store().write().await?;
    for said in all {
        let Some(mut now) = tx.tasks().get(&said.task).await? else { continue };
        if now.version == said.version {
            let facts = json!({ "waiting": said.waiting.as_ref().map(|waiting| waiting.reason) });
            now.waiting.clone_from(&said.waiting);
            tx.tasks_mut().update(&mut now, world.now()).await?;
            world.emit(&mut tx, EventType::TaskUpdated, &now, now.id.as_str(), &facts).await?;
        }
    }
    tx.commit().await?;
    Ok(())
}

/// Where a task goes that is started by itself.
fn target_of<'c>(context: &'c ProjectContext, status: &str) -> Option<&'c State> {
    context.workflow.claim_target(status).filter(|_| starts_by_itself(context))
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

/// Starts a task with its place, unless it changed since it was looked at. Nothing of it is written when others took the
/// place meanwhile.
async fn start_by_itself(world: &World, it: &Asking, chosen: &Chosen) -> Result<Meant> {
    let id = &it.row.id;
    if target_of(&it.context, &it.row.status).is_none() {
        return Ok(Meant::Free);
    }
    let task = world.store().read().await?.tasks().get(id).await?;
    let Some(task) = task.filter(|task| task.version == it.row.version) else { return Ok(Meant::Free) };
    let (mut redirect, mut refused) = (None, None);
    match super::guards::ask_guards(world, &it.context, &task, Audience::AgentOnly).await {
        Ok(sent) => redirect = sent,
        Err(EngineError::GuardRejected { action, reason, details }) => {
            let mut trouble = BlockReason::new(AnnotationType::GuardRejected, reason);
            trouble.details = json!({ "action": action, "details": details });
            refused = Some(trouble);
        }
        Err(other) => return Err(other),
    }
    let mut tx = world.store().write().await?;
    let Some(mut now) = tx.tasks().get(id).await? else { return Ok(Meant::Free) };
    // The project as it is now: a person may have paused it, or turned such starts off, since the pass began.
    let context = super::contexts::context(world, &mut tx, &now.project_id).await?;
    let Some(target) = target_of(&context, &now.status) else { return Ok(Meant::Free) };
    if now.version != task.version || context.project.paused {
        return Ok(Meant::Free);
    }
    let given = match refused {
        None => {
            let actor = Actor::System { cause: Cause::Scheduler };
            let mv = Move::by(&target.name, "start", actor);
            let mv = redirect.map_or_else(|| mv.clone(), |redirect| redirect.instead_of(&mv));
            super::transition::apply(world, &mut tx, &context, &mut now, mv).await?;
            // A race asks for no place, wherever a guard sends its task.
            let agent = it.agent().filter(|_| !it.is_raced);
            match reserve(world, &mut tx, &context, &now, (agent, chosen)).await? {
                Reserved::Given => Meant::Given,
                Reserved::AsksForNone => {
                    if it.is_raced {
                        tx.turns_mut().end(&now.project_id, None, chosen.oldest).await?;
                    }
                    Meant::Free
                }
                Reserved::Refused => return Ok(Meant::Free),
            }
        }
        Some(trouble) => {
            super::transition::block(world, &mut tx, &context, &mut now, trouble, Cause::Scheduler).await?;
            Meant::Free
        }
    };
    tx.commit().await?;
    world.point("schedule.committed");
    super::workers::kick(world, id);
    Ok(given)
}

/// Whether no pass runs or is due.
#[cfg(test)]
pub(crate) fn is_idle(world: &World) -> bool {
    let scheduler = world.part::<Scheduler>();
    let is_due = locked(&scheduler.due).iter().any(|at| *at <= world.now());
    let pass = locked(&scheduler.state);
    !pass.running && !pass.again && !is_due
}

#[cfg(test)]
mod tests;

//! Where a task would run now and why, for people, by the decision of the scheduler's pass. Nothing is written, and nobody
//! is woken.

use std::sync::Arc;

use forge_model::ids::{MachineId, TaskId};
use forge_model::machine::LOCAL;
use forge_model::machine::fleet::{MachineChoice, PlacementVerdict, TaskPlacement};
use forge_model::task::Waiting;
use forge_store::{ReadConnection, table::tasks::TaskRow};

use super::{
    placement::fitness,
    policy::{Decision, Fleet, Plan, Waiter, Wants, plan},
    situation::{Asking, situation},
    waiting::{Whose, who_waits},
};
use crate::{
    World,
    core::{context::ProjectContext, lineage::is_ordered, load::load, prerequisites::prerequisite_cancelled},
    error::Result,
};

/// Where a task would run now, and why.
pub(crate) async fn placement(world: &World, id: &TaskId) -> Result<TaskPlacement> {
    let mut conn = world.store().read().await?;
    let (task, context) = load(world, &mut conn, id, None).await?;
    if let Some(slot) = conn.slots().of(id).await? {
        let machine = name_of(&mut conn, slot.machine_id.as_ref()).await?;
        let runs = !conn.executions().open(Some(std::slice::from_ref(id))).await?.is_empty();
        let place = place_name(&machine);
        let reason = match runs {
            true => format!("an agent is at work on {place}"),
            false => format!("it has its slot on {place}; the steps before its run are in progress"),
        };
        return Ok(TaskPlacement {
            machine_id: slot.machine_id,
            machine: Some(machine),
            ..told(id, PlacementVerdict::AtWork, reason)
        });
    }
    if is_ordered(&task) {
        let reason = "its parent's agent works on it, where the parent is".to_owned();
        return Ok(told(id, PlacementVerdict::Rests, reason));
    }
    // Also where this engine starts nothing: another one will.
    let mut asking = who_waits(world, &mut conn, Whose::Everyones).await?.asking;
    if !asking.iter().any(|it| it.row.id == *id) {
        match in_queue(world, &mut conn, &task, &context).await? {
            Ok(it) => asking.push(it),
            Err(told) => return Ok(*told),
        }
    }
    let read = situation(world, &mut conn, asking).await?;
    let Some(at) = read.asking.iter().position(|(it, _)| it.row.id == *id) else {
        let role = context.work_role().unwrap_or("that works");
        let reason = format!("no agent has the role {role}: assign one");
        return Ok(told(id, PlacementVerdict::Rests, reason));
    };
    if let Some(reason) = never_starts(world, &mut conn, &read.asking[at].0, &task, &context).await? {
        return Ok(told(id, PlacementVerdict::Rests, reason));
    }
    let waiters = read.waiters();
    let decided = plan(read.fleet.clone(), &waiters, world.now());
    Ok(match &decided.decisions[at] {
        Decision::Start(machine_id) => {
            starts(&waiters[at], machine_id.clone(), &before(&read.fleet, &decided, at))
        }
        Decision::Wait(waiting) => waits(&waiters[at], waiting.clone(), &decided.fleet),
    })
}

/// A task that asks for no place now as if it waited where tasks are made; what is told of it where it does not.
async fn in_queue(
    world: &World,
    conn: &mut ReadConnection,
    task: &TaskRow,
    context: &Arc<ProjectContext>,
) -> Result<std::result::Result<Asking, Box<TaskPlacement>>> {
    let id = &task.id;
    let rests = |reason: String| Ok(Err(Box::new(told(id, PlacementVerdict::Rests, reason))));
    let state = context.workflow.state(&task.status);
    let name = state.map_or(task.status.as_str(), |state| state.display_name.as_str());
    let row = conn.tasks().as_queued(id).await?;
    let Some(row) = row.filter(|_| context.workflow.claim_target(&task.status).is_some()) else {
        if !conn.steps().any_open(id).await? {
            return rests(format!("no agent starts on a task in {name}"));
        }
        // Its steps are under way, and the next one is no agent's.
        let Some(waiting) = task.waiting.clone() else {
            return rests(format!("Forge is working on it in {name}: no agent is needed now"));
        };
        let placement = told(id, PlacementVerdict::Waits, waiting.message.clone());
        return Ok(Err(Box::new(TaskPlacement { waiting: Some(waiting), ..placement })));
    };
    let mut it = Asking::queued(world, row, context);
    it.needs = conn.dependencies().of_tasks(std::slice::from_ref(id)).await?.remove(id).unwrap_or_default();
    Ok(Ok(it))
}

/// Why a task is blocked in place of its start.
async fn never_starts(
    world: &World,
    conn: &mut ReadConnection,
    it: &Asking,
    task: &TaskRow,
    context: &ProjectContext,
) -> Result<Option<String>> {
    if let Some(gone) = it.cancelled_need()
        && let Some(gone) = conn.tasks().get(gone).await?
    {
        return Ok(Some(prerequisite_cancelled(&gone).message));
    }
    for refuses in &world.features().moments.refuses_start {
        if let Some(reason) = refuses(world, conn, context, task).await? {
            return Ok(Some(reason));
        }
    }
    Ok(None)
}

/// What is there when a task starts: those before it have started.
fn before(fleet: &Fleet, decided: &Plan, at: usize) -> Fleet {
    let mut fleet = fleet.clone();
    for start in decided.starts.iter().take_while(|start| start.at != at) {
        let Decision::Start(Some(id)) = &decided.decisions[start.at] else { continue };
        if let Some(on) = fleet.machines.iter_mut().find(|it| it.machine.id == *id) {
            on.runs += 1;
            on.today.runs += 1;
        }
    }
    fleet
}

fn told(id: &TaskId, verdict: PlacementVerdict, reason: String) -> TaskPlacement {
    TaskPlacement {
        task_id: id.clone(),
        verdict,
        machine_id: None,
        machine: None,
        reason,
        waiting: None,
        machines: Vec::new(),
    }
}

async fn name_of(conn: &mut ReadConnection, machine: Option<&MachineId>) -> Result<String> {
    let Some(id) = machine else { return Ok(LOCAL.to_owned()) };
    Ok(conn.machines().get(id).await?.map_or_else(|| id.0.clone(), |machine| machine.name))
}

fn place_name(machine: &str) -> &str {
    if machine == LOCAL { "this computer" } else { machine }
}

/// What is told of a task that an agent would start on now.
pub(super) fn starts(waiter: &Waiter, machine_id: Option<MachineId>, fleet: &Fleet) -> TaskPlacement {
    if waiter.wants == Wants::Race {
        let reason = "its race would begin: each entry is given a place of its own".to_owned();
        return told(&waiter.task, PlacementVerdict::Starts, reason);
    }
    let found = machine_id.as_ref().and_then(|id| fleet.machines.iter().find(|it| it.machine.id == *id));
    let machine = match (&machine_id, found) {
        (None, _) => LOCAL.to_owned(),
        (Some(id), None) => id.0.clone(),
        (Some(_), Some(candidate)) => candidate.machine.name.clone(),
    };
    let reason = match (&waiter.wants, found) {
        (Wants::Race | Wants::Here, _) => "would run on this computer".to_owned(),
        (Wants::Its(..), _) => format!("would run on {machine}: its worktree is there"),
        (Wants::Labels(labels), Some(candidate)) => format!(
            "would run on {machine}: of the machines that have {}, it has the smallest load ({})",
            labels.join(", "),
            candidate.at_work()
        ),
        (Wants::Labels(_), None) => format!("would run on {machine}"),
    };
    TaskPlacement {
        machine_id,
        machine: Some(machine),
        machines: choices(waiter, fleet),
        ..told(&waiter.task, PlacementVerdict::Starts, reason)
    }
}

/// What is told of a task that would wait, with the machines as they are once those before it have started.
pub(super) fn waits(waiter: &Waiter, waiting: Waiting, fleet: &Fleet) -> TaskPlacement {
    TaskPlacement {
        machines: choices(waiter, fleet),
        waiting: Some(waiting.clone()),
        ..told(&waiter.task, PlacementVerdict::Waits, waiting.message)
    }
}

fn choices(waiter: &Waiter, fleet: &Fleet) -> Vec<MachineChoice> {
    let choice = |labels: &[String]| {
        let choice = |it: &super::placement::Candidate| {
            let (fits, reason) = fitness(labels, it);
            MachineChoice { machine_id: it.machine.id.clone(), name: it.machine.name.clone(), fits, reason }
        };
        fleet.machines.iter().map(choice).collect()
    };
    match &waiter.wants {
        Wants::Labels(labels) => choice(labels),
        Wants::Race | Wants::Here | Wants::Its(..) => Vec::new(),
    }
}

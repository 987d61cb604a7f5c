//! Where a task would run now and why, for people, by the decision of the scheduler's pass. Nothing is written, and nobody
//! is woken.

use forge_model::ids::{MachineId, TaskId};
use forge_model::machine::LOCAL;
use forge_model::machine::fleet::{MachineChoice, PlacementVerdict, TaskPlacement};
use forge_model::task::Waiting;
use forge_store::ReadConnection;

use super::{
    placement::fitness,
    policy::{Decision, Fleet, Waiter, Wants, plan},
    situation::{Asking, situation},
    waiting::{Whose, who_waits},
};
use crate::{
    World,
    core::{lineage::is_ordered, load::load},
    error::Result,
};

/// Where a task would run now, and why.
pub(crate) async fn placement(world: &World, id: &TaskId) -> Result<TaskPlacement> {
    let mut conn = world.store().read().await?;
    let (task, context) = load(world, &mut conn, id, None).await?;
    if let Some(slot) = conn.slots().of(id).await? {
        let machine = name_of(&mut conn, slot.machine_id.as_ref()).await?;
        let reason = format!("an agent is at work on {}", place_name(&machine));
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
        let state = context.workflow.state(&task.status);
        let row = conn
            .tasks()
            .as_queued(id)
            .await?
            .filter(|_| context.workflow.claim_target(&task.status).is_some());
        let Some(row) = row else {
            let name = state.map_or(task.status.as_str(), |state| state.display_name.as_str());
            return Ok(told(id, PlacementVerdict::Rests, format!("no agent starts on a task in {name}")));
        };
        let mut it = Asking::queued(row, &context);
        it.needs =
            conn.dependencies().of_tasks(std::slice::from_ref(id)).await?.remove(id).unwrap_or_default();
        asking.push(it);
    }
    let read = situation(world, &mut conn, asking).await?;
    let Some(at) = read.asking.iter().position(|(it, _)| it.row.id == *id) else {
        let role = context.work_role().unwrap_or("that works");
        let reason = format!("no agent has the role {role}: assign one");
        return Ok(told(id, PlacementVerdict::Rests, reason));
    };
    let waiters = read.waiters();
    let decided = plan(read.fleet.clone(), &waiters, world.now());
    let waiter = &waiters[at];
    Ok(match decided.decisions.into_iter().nth(at) {
        Some(Decision::Start(machine_id)) => starts(waiter, machine_id, &read.fleet),
        Some(Decision::Wait(waiting)) => waits(waiter, waiting, &decided.fleet),
        None => told(id, PlacementVerdict::Rests, "nothing is decided on it".to_owned()),
    })
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
    let found = machine_id.as_ref().and_then(|id| fleet.machines.iter().find(|it| it.machine.id == *id));
    let machine = match (&machine_id, found) {
        (None, _) => LOCAL.to_owned(),
        (Some(id), None) => id.0.clone(),
        (Some(_), Some(candidate)) => candidate.machine.name.clone(),
    };
    let reason = match (&waiter.wants, found) {
        (Wants::Here, _) => "would run on this computer".to_owned(),
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
        Wants::Here | Wants::Its(..) => Vec::new(),
    }
}

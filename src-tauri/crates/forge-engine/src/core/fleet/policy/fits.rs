//! What one place, and each machine, is to one task, whoever else waits.

use forge_model::ids::MachineId;
use forge_model::machine::{Machine, MachineContact};
use forge_store::table::slots::Slot;

use super::{Fleet, Waiter, Wants};

/// Whether a place that a task was given is one that it can use: it is its agent's, which may begin, and its machine has
/// what the task wants, and can run it. Places of the task itself are not counted.
pub(crate) fn still_fits(fleet: &Fleet, waiter: &Waiter, slot: &Slot) -> bool {
    let agent = fleet.agents.get(&waiter.agent);
    let may_begin = agent.is_some_and(|it| !it.is_paused && it.limited_until.is_none())
        && fleet.projects.get(&waiter.project).is_some_and(|it| !it.is_paused);
    if waiter.is_held || waiter.agent != slot.agent_id || !may_begin {
        return false;
    }
    let candidate = |id: &MachineId| fleet.machines.iter().find(|it| it.machine.id == *id);
    match (&waiter.wants, &slot.machine_id) {
        (Wants::Here, None) => true,
        (Wants::Labels(labels), Some(id)) => {
            candidate(id).is_some_and(|it| it.machine.has_labels(labels) && it.obstacle().is_none())
        }
        // Whoever needs a machine that cannot be reached waits for it.
        (Wants::Its(its, _), Some(id)) => its == id,
        (Wants::Race, _) | (Wants::Here, Some(_)) | (Wants::Labels(_) | Wants::Its(..), None) => false,
    }
}

/// Whether a machine that could run a task has run on this day what it may: on the next day it may again.
pub(crate) fn is_spent_for(fleet: &Fleet, waiter: &Waiter) -> bool {
    let is_spent = |wanted: &dyn Fn(&Machine) -> bool| {
        fleet.machines.iter().any(|it| it.is_spent() && wanted(&it.machine))
    };
    match &waiter.wants {
        Wants::Race | Wants::Here => false,
        Wants::Labels(labels) => is_spent(&|machine| machine.has_labels(labels)),
        Wants::Its(id, _) => is_spent(&|machine| machine.id == *id),
    }
}

/// The machines that could run a task and cannot be reached.
pub(crate) fn unreachable_for(fleet: &Fleet, waiter: &Waiter) -> Vec<MachineId> {
    let away = |wanted: &dyn Fn(&Machine) -> bool| {
        let away = fleet.machines.iter().filter(|it| it.is_unreachable && wanted(&it.machine));
        away.map(|it| it.machine.id.clone()).collect()
    };
    match &waiter.wants {
        Wants::Race | Wants::Here => Vec::new(),
        Wants::Labels(labels) => away(&|machine| machine.has_labels(labels)),
        Wants::Its(id, Some(contact)) if contact.contact == MachineContact::Unreachable => vec![id.clone()],
        Wants::Its(_, Some(_)) => Vec::new(),
        Wants::Its(id, None) => away(&|machine| machine.id == *id),
    }
}

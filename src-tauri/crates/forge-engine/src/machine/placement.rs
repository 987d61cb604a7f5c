//! Which machine a task runs on, and what it waits for while it can run on none.
//!
//! Invariant: the choice depends on the arguments alone; a machine is chosen exactly if one fits.

use std::cmp::Ordering;

use forge_model::ids::MachineId;
use forge_model::machine::{Machine, MachineContact, MachineKind};
use forge_model::task::{WaitReason, Waiting};

/// A machine that a task may run on, as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The machine.
    pub machine: Machine,
    /// Runs that are open there.
    pub runs: u32,
    /// Whether it was asked something and did not answer.
    pub is_unreachable: bool,
}

/// Where a task runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    /// On the computer that the engine is on.
    Local,
    /// On this machine.
    On(MachineId),
    /// Nowhere yet.
    Wait(WaitFor),
}

/// What keeps a task from every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitFor {
    /// No machine has the labels.
    NoMachine,
    /// Those that could run it run as much as they may.
    Full,
    /// Those that have the labels start nothing new.
    Draining,
    /// Those that could run it cannot be reached.
    Unreachable,
}

/// Where a task that requires these labels runs: on the machine with the least load of those that have all labels and
/// a free place, can be reached and are not draining. The load is what runs there, as a share of the cap where there is
/// one. Of equal loads the first name counts.
#[must_use]
pub fn choose(required: &[String], candidates: &[Candidate]) -> Placement {
    if required.is_empty() {
        return Placement::Local;
    }
    let labelled = || candidates.iter().filter(|it| it.machine.has_labels(required));
    let fitting = labelled().filter(|it| it.obstacle().is_none());
    match fitting.min_by(|a, b| a.compare(b)) {
        Some(chosen) => Placement::On(chosen.machine.id.clone()),
        None => Placement::Wait(nearest_obstacle(labelled()).unwrap_or(WaitFor::NoMachine)),
    }
}

/// What a person is told of a task that waits for a machine.
#[must_use]
pub fn waiting(required: &[String], candidates: &[Candidate], wait: WaitFor) -> Waiting {
    let labelled = candidates.iter().filter(|it| it.machine.has_labels(required));
    let held_up: Vec<&Candidate> = labelled.filter(|it| it.obstacle() == Some(wait)).collect();
    let names = held_up.iter().map(|it| it.machine.name.as_str()).collect::<Vec<&str>>().join(", ");
    let is_one = held_up.len() == 1;
    let (reason, message) = match wait {
        WaitFor::NoMachine => (WaitReason::NoMachine, no_machine(required)),
        WaitFor::Draining => {
            let are = if is_one { "is" } else { "are" };
            (WaitReason::NoMachine, format!("waits for {names}: {are} draining, so nothing new starts there"))
        }
        WaitFor::Full => {
            let verb = if is_one { "runs" } else { "run" };
            let pronoun = if is_one { "it" } else { "they" };
            (WaitReason::MachineBusy, format!("waits for {names}: {verb} as many agents as {pronoun} may"))
        }
        WaitFor::Unreachable => {
            let only = held_up.first().filter(|_| is_one).map(|it| &it.machine);
            let since = only.and_then(|machine| machine.contact_since);
            let since = since.map(|at| format!(" since {}", spoken(at.0))).unwrap_or_default();
            let message = match only.and_then(|machine| Some((machine.kind, machine.contact_error.as_ref()?)))
            {
                // There is no way to it that could be cut: something is wrong.
                Some((MachineKind::Container, fault)) => format!("waits for {names}: {}", fault.message),
                _ => format!("waits for {names}: not reachable{since}"),
            };
            (WaitReason::MachineUnreachable, message)
        }
    };
    Waiting { reason, until: None, files: Vec::new(), message }
}

fn no_machine(required: &[String]) -> String {
    match required {
        [label] => format!("no machine has the label {label}"),
        _ => format!("no machine has all of the labels {}", required.join(", ")),
    }
}

/// A time as people read it.
fn spoken(milliseconds: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(milliseconds).unwrap_or_default();
    time.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// The obstacle that goes away first: a run ends by itself, a machine comes back, and a person ends draining.
fn nearest_obstacle<'c>(candidates: impl Iterator<Item = &'c Candidate>) -> Option<WaitFor> {
    candidates.filter_map(Candidate::obstacle).min_by_key(|obstacle| match obstacle {
        WaitFor::Full => 0,
        WaitFor::Unreachable => 1,
        WaitFor::Draining => 2,
        WaitFor::NoMachine => 3,
    })
}

impl From<Machine> for Candidate {
    /// A machine as it is listed: with its open runs and what is known of the contact.
    fn from(machine: Machine) -> Self {
        let is_unreachable = machine.contact == MachineContact::Unreachable;
        Self { runs: machine.runs, is_unreachable, machine }
    }
}

impl Candidate {
    /// What keeps new runs from it, whatever their labels.
    fn obstacle(&self) -> Option<WaitFor> {
        if self.machine.draining {
            Some(WaitFor::Draining)
        } else if self.is_unreachable {
            Some(WaitFor::Unreachable)
        } else if self.machine.caps.runs.is_some_and(|cap| self.runs >= cap) {
            Some(WaitFor::Full)
        } else {
            None
        }
    }

    /// The order by load, then by name.
    fn compare(&self, other: &Self) -> Ordering {
        // runs / cap of both, multiplied by both caps, so that nothing is rounded.
        let cap = |it: &Self| u64::from(it.machine.caps.runs.unwrap_or(1));
        let load = u64::from(self.runs) * cap(other);
        let name = |it: &Self| (it.machine.name.clone(), it.machine.id.0.clone());
        load.cmp(&(u64::from(other.runs) * cap(self))).then_with(|| name(self).cmp(&name(other)))
    }
}

#[cfg(test)]
mod tests;

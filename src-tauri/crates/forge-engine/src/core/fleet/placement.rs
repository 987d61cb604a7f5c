//! Which machine a task runs on, and what it waits for while it can run on none.
//!
//! Invariant: the choice depends on the arguments alone; a machine is chosen exactly if one fits.

use std::cmp::Ordering;

use forge_model::machine::{Machine, MachineContact, MachineKind};
use forge_model::task::{WaitReason, Waiting};
use forge_model::words::{counted, dollars};

/// How many machines a sentence names; the rest is counted.
const NAMED: usize = 5;

/// A machine that a task may run on, as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The machine.
    pub machine: Machine,
    /// Runs that are open there, and places that were given for runs to come.
    pub runs: u32,
    /// What counts for the quota of this day.
    pub today: Today,
    /// Whether it was asked something and did not answer.
    pub is_unreachable: bool,
}

/// What a machine did on a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Today {
    /// Runs that began, and places that were given for runs to come.
    pub runs: u32,
    /// What the runs have cost so far, in micro-dollars.
    pub micro_usd: u64,
}

/// What keeps a task from every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitFor {
    /// No machine has the labels.
    NoMachine,
    /// Those that could run it run as much as they may.
    Full,
    /// Those that could run it have run on this day what they may.
    Spent,
    /// Those that have the labels start nothing new.
    Draining,
    /// Those that could run it cannot be reached.
    Unreachable,
}

/// The machine that a task runs on which could run on these: the one with the least load of those that have a free place,
/// can be reached and are not draining; else the obstacle that goes away first. The load is what runs there, as a share
/// of the cap where there is one. Of equal loads the first name counts.
pub(crate) fn least_loaded(machines: &[Candidate], labelled: &[usize]) -> Result<usize, WaitFor> {
    let of = |at: &usize| &machines[*at];
    let fitting = labelled.iter().filter(|at| of(at).obstacle().is_none());
    match fitting.min_by(|a, b| of(a).compare(of(b))) {
        Some(at) => Ok(*at),
        None => Err(nearest_obstacle(labelled.iter().map(of)).unwrap_or(WaitFor::NoMachine)),
    }
}

/// What a person is told of a task that waits for a machine.
#[must_use]
pub fn waiting(required: &[String], candidates: &[Candidate], wait: WaitFor) -> Waiting {
    let labelled = candidates.iter().filter(|it| it.machine.has_labels(required));
    let held_up: Vec<&Candidate> = labelled.filter(|it| it.obstacle() == Some(wait)).collect();
    let reason = match wait {
        WaitFor::NoMachine | WaitFor::Draining => WaitReason::NoMachine,
        WaitFor::Full => WaitReason::MachineBusy,
        WaitFor::Spent => WaitReason::MachineQuota,
        WaitFor::Unreachable => WaitReason::MachineUnreachable,
    };
    let message = match (wait, held_up.as_slice()) {
        (WaitFor::NoMachine, _) => no_machine(required),
        (_, [only]) => format!("waits for {}: {}", only.machine.name, only.told(wait)),
        (_, several) => {
            let why = match wait {
                WaitFor::NoMachine | WaitFor::Draining => "are draining, so no new runs start there",
                WaitFor::Full => "are at their limit of runs",
                WaitFor::Spent => "have reached their daily quota",
                WaitFor::Unreachable => "not reachable",
            };
            format!("waits for {}: {why}", named(several))
        }
    };
    Waiting { reason, until: None, files: Vec::new(), message }
}

/// Why a task that requires these labels could run on a machine, or could not; and whether it could.
#[must_use]
pub fn fitness(required: &[String], candidate: &Candidate) -> (bool, String) {
    let lacks: Vec<&str> = required
        .iter()
        .filter(|label| !candidate.machine.has_labels(std::slice::from_ref(*label)))
        .map(String::as_str)
        .collect();
    match (lacks.as_slice(), candidate.obstacle()) {
        ([], None) => (true, format!("can run it: {}", candidate.at_work())),
        ([], Some(WaitFor::Spent)) => (false, candidate.spent()),
        ([], Some(obstacle)) => (false, candidate.told(obstacle)),
        ([label], _) => (false, format!("lacks the label {label}")),
        (labels, _) => (false, format!("lacks the labels {}", labels.join(", "))),
    }
}

fn named(machines: &[&Candidate]) -> String {
    let names: Vec<&str> = machines.iter().take(NAMED).map(|it| it.machine.name.as_str()).collect();
    match machines.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
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

/// The obstacle that goes away first: a run ends by itself, so does a day, a machine comes back, and a person ends
/// draining.
fn nearest_obstacle<'c>(candidates: impl Iterator<Item = &'c Candidate>) -> Option<WaitFor> {
    candidates.filter_map(Candidate::obstacle).min_by_key(|obstacle| match obstacle {
        WaitFor::Full => 0,
        WaitFor::Spent => 1,
        WaitFor::Unreachable => 2,
        WaitFor::Draining => 3,
        WaitFor::NoMachine => 4,
    })
}

impl From<Machine> for Candidate {
    /// A machine as it is listed: with its open runs and what is known of the contact.
    fn from(machine: Machine) -> Self {
        let is_unreachable = machine.contact == MachineContact::Unreachable;
        Self { runs: machine.runs, today: Today::default(), is_unreachable, machine }
    }
}

impl Candidate {
    /// What keeps new runs from it, whatever their labels.
    pub(crate) fn obstacle(&self) -> Option<WaitFor> {
        if self.machine.draining { Some(WaitFor::Draining) } else { self.obstacle_to_its_own() }
    }

    /// What keeps runs from it of tasks whose worktree is there already: that it is draining does not matter to them.
    pub(crate) fn obstacle_to_its_own(&self) -> Option<WaitFor> {
        if self.is_unreachable {
            Some(WaitFor::Unreachable)
        } else if self.is_spent() {
            Some(WaitFor::Spent)
        } else if self.machine.caps.runs.is_some_and(|cap| self.runs >= cap) {
            Some(WaitFor::Full)
        } else {
            None
        }
    }

    /// Whether it has reached its daily quota.
    pub(crate) fn is_spent(&self) -> bool {
        let quota = &self.machine.quota;
        quota.runs_per_day.is_some_and(|most| self.today.runs >= most)
            || quota.micro_usd_per_day.is_some_and(|most| self.today.micro_usd >= most)
    }

    /// What was run today of what may, in words.
    fn spent(&self) -> String {
        let runs = self.machine.quota.runs_per_day.filter(|most| self.today.runs >= *most);
        match (runs, self.machine.quota.micro_usd_per_day) {
            (Some(most), _) => {
                format!("has had {} today, its maximum", counted(most.into(), "run", "runs"))
            }
            (None, Some(most)) => {
                let cost = dollars(self.today.micro_usd);
                format!("its runs have cost {cost} today, of at most {}", dollars(most))
            }
            (None, None) => "has reached its daily quota".to_owned(),
        }
    }

    /// What keeps runs from it, in words.
    pub(crate) fn told(&self, obstacle: WaitFor) -> String {
        match obstacle {
            WaitFor::NoMachine => "lacks the labels".to_owned(),
            WaitFor::Draining => "is draining, so no new runs start there".to_owned(),
            WaitFor::Full => "is at its limit of runs".to_owned(),
            WaitFor::Spent => "has reached its daily quota".to_owned(),
            WaitFor::Unreachable => match (self.machine.kind, &self.machine.contact_error) {
                // There is no way to it that could be cut: something is wrong.
                (MachineKind::Container | MachineKind::Slurm | MachineKind::Kubernetes, Some(fault)) => {
                    fault.message.clone()
                }
                _ => {
                    let since = self.machine.contact_since;
                    let since = since.map(|at| format!(" since {}", spoken(at.0))).unwrap_or_default();
                    format!("not reachable{since}")
                }
            },
        }
    }

    /// How much is at work there, of what may.
    pub(crate) fn at_work(&self) -> String {
        let cap = self.machine.caps.runs.map(|cap| format!(" of {cap}")).unwrap_or_default();
        format!("{}{cap} at work", self.runs)
    }

    /// The order by load, then by name.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        // runs / cap of both, multiplied by both caps, so that nothing is rounded.
        let cap = |it: &Self| u64::from(it.machine.caps.runs.unwrap_or(1));
        let load = u64::from(self.runs) * cap(other);
        load.cmp(&(u64::from(other.runs) * cap(self)))
            .then_with(|| self.machine.name.cmp(&other.machine.name))
            .then_with(|| self.machine.id.0.cmp(&other.machine.id.0))
    }
}

#[cfg(test)]
mod tests;

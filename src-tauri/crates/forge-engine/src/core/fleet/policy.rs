//! Who is next, and where: the decision for all tasks that wait, as a function of what is taken.
//!
//! - Within a project: what was begun before what was not; then by priority and age, where a day of waiting counts as
//!   much as a level of priority, so that nothing is passed for ever.
//! - Between projects: the one with the fewest places where the task would run (on its machine, else of its agent), and
//!   of equals the one whose last turn is the longest ago. A task that has waited for more than a day goes before those
//!   shares, so that runs that last long elsewhere do not keep a project off.
//! - A task that cannot run now keeps nobody behind it: whatever fits goes first.

use std::collections::HashMap;

use forge_model::ids::{AgentId, MachineId, ProjectId, TaskId};
use forge_model::machine::{Machine, MachineContact};
use forge_model::task::{WaitReason, Waiting};
use forge_model::time::Timestamp;
use forge_store::table::slots::Slot;

use super::placement::{Candidate, WaitFor, waiting};

/// A day, in milliseconds.
const DAY: i64 = 24 * 3_600_000;

/// What is there and what of it is taken.
#[derive(Debug, Clone)]
pub(crate) struct Fleet {
    pub machines: Vec<Candidate>,
    /// Places on machines, by machine and project.
    pub on_machines: HashMap<(MachineId, ProjectId), u32>,
    pub agents: HashMap<AgentId, AgentPlaces>,
    pub projects: HashMap<ProjectId, ProjectPlaces>,
    /// When the next day begins.
    pub tomorrow: Timestamp,
}

impl Fleet {
    /// Nothing is there yet, and the next day begins at `tomorrow`.
    pub(crate) fn empty(tomorrow: Timestamp) -> Self {
        Self {
            machines: Vec::new(),
            on_machines: HashMap::new(),
            agents: HashMap::new(),
            projects: HashMap::new(),
            tomorrow,
        }
    }
}

/// The places of an agent.
#[derive(Debug, Clone, Default)]
pub(crate) struct AgentPlaces {
    pub name: String,
    pub most: u32,
    pub taken: u32,
    /// Those on this computer, by project.
    pub here: HashMap<ProjectId, u32>,
    pub is_paused: bool,
    /// Until when its provider takes nothing.
    pub limited_until: Option<Timestamp>,
}

/// The places of a project.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProjectPlaces {
    pub most: u32,
    pub taken: u32,
    pub is_paused: bool,
    /// What keeps all of its tasks from starting.
    pub obstacle: Option<Waiting>,
    /// When it was given a place last, as a number that rises.
    pub turn: u64,
}

/// A task that waits for a place.
#[derive(Debug, Clone)]
pub(crate) struct Waiter {
    pub task: TaskId,
    pub project: ProjectId,
    pub agent: AgentId,
    pub rank: Rank,
    /// Since when it waits.
    pub since: Timestamp,
    pub is_held: bool,
    /// Whether something must be done before it.
    pub is_open: bool,
    pub wants: Wants,
    /// The machine that was chosen for it before, which is preferred.
    pub planned: Option<MachineId>,
}

/// Where a task is to run.
#[derive(Debug, Clone)]
pub(crate) enum Wants {
    /// On this computer.
    Here,
    /// On a machine that has all of these labels.
    Labels(Vec<String>),
    /// On the machine that its worktree is on; with the contact with its own keeper there, where it has one.
    Its(MachineId, Option<Box<Machine>>),
}

/// The order of tasks of one project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    is_new: bool,
    due: i64,
    race_place: u32,
    number: u32,
}

impl Rank {
    /// The rank of a task; the lowest is first.
    pub(crate) fn of(
        is_begun: bool,
        priority: i32,
        since: Timestamp,
        (race_place, number): (Option<u32>, u32),
    ) -> Self {
        let due = since.0.saturating_sub(i64::from(priority).saturating_mul(DAY));
        Self { is_new: !is_begun, due, race_place: race_place.unwrap_or(0), number }
    }
}

/// What becomes of a task that waits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Decision {
    /// It is given a place on this machine; none is this computer.
    Start(Option<MachineId>),
    /// It waits.
    Wait(Waiting),
}

/// The decision for all.
#[derive(Debug)]
pub(crate) struct Plan {
    /// For each task, in their order.
    pub decisions: Vec<Decision>,
    /// Those that are given a place, in the order in which they are.
    pub starts: Vec<usize>,
    /// What is there then.
    pub fleet: Fleet,
}

/// Decides for all tasks that wait.
pub(crate) fn plan(fleet: Fleet, waiters: &[Waiter], now: Timestamp) -> Plan {
    let mut queues = queues(waiters);
    let mut planning = Planning::of(fleet, waiters);
    let mut decisions: Vec<Option<Decision>> = vec![None; waiters.len()];
    let mut starts = Vec::new();
    loop {
        let mut first: Option<(Turn<'_>, usize, Place)> = None;
        for queue in &mut queues {
            // What cannot be given a place now cannot later in this pass: places only become fewer.
            while let Some(at) = queue.last().copied() {
                match planning.place_for(&waiters[at]) {
                    Err(waiting) => {
                        decisions[at] = Some(Decision::Wait(waiting));
                        queue.pop();
                    }
                    Ok(place) => {
                        let turn = planning.turn_of(&waiters[at], &place, now);
                        if first.as_ref().is_none_or(|(earlier, ..)| turn < *earlier) {
                            first = Some((turn, at, place));
                        }
                        break;
                    }
                }
            }
        }
        let Some((_, at, place)) = first else { break };
        planning.take(&waiters[at], &place);
        decisions[at] = Some(Decision::Start(planning.machine_of(place)));
        starts.push(at);
        if let Some(queue) = queues.iter_mut().find(|queue| queue.last() == Some(&at)) {
            queue.pop();
        }
    }
    // Each was decided on: the loop ends when no queue has anything left.
    let undecided = || Decision::Wait(wait(WaitReason::AgentBusy, "waits for its turn"));
    let decisions = decisions.into_iter().map(|it| it.unwrap_or_else(undecided)).collect();
    Plan { decisions, starts, fleet: planning.fleet }
}

/// The tasks of each project, the first one last.
fn queues(waiters: &[Waiter]) -> Vec<Vec<usize>> {
    let mut by_project: HashMap<&ProjectId, Vec<usize>> = HashMap::new();
    for (at, waiter) in waiters.iter().enumerate() {
        by_project.entry(&waiter.project).or_default().push(at);
    }
    let mut queues: Vec<Vec<usize>> = by_project.into_values().collect();
    for queue in &mut queues {
        queue.sort_by_key(|at| std::cmp::Reverse((waiters[*at].rank, &waiters[*at].task)));
    }
    queues
}

/// Where a task can be given a place.
enum Place {
    Here,
    On(usize),
    /// Its machine is not known any more, which is told by whoever needs it.
    Gone(MachineId),
}

/// The order between projects; the lowest is first.
type Turn<'w> = (bool, u32, u64, Rank, &'w ProjectId);

struct Planning<'w> {
    fleet: Fleet,
    /// The machine that each list of labels leads to now, as far as it was asked for.
    chosen: HashMap<&'w [String], Result<usize, Waiting>>,
    /// The machines that have all labels of a list.
    labelled: HashMap<&'w [String], Vec<usize>>,
    next_turn: u64,
}

impl<'w> Planning<'w> {
    fn of(fleet: Fleet, waiters: &'w [Waiter]) -> Self {
        let mut labelled: HashMap<&[String], Vec<usize>> = HashMap::new();
        for waiter in waiters {
            if let Wants::Labels(labels) = &waiter.wants {
                labelled.entry(labels).or_insert_with(|| {
                    let has = |(_, it): &(usize, &Candidate)| it.machine.has_labels(labels);
                    fleet.machines.iter().enumerate().filter(has).map(|(at, _)| at).collect()
                });
            }
        }
        let next_turn = fleet.projects.values().map(|it| it.turn).max().unwrap_or(0) + 1;
        Self { fleet, chosen: HashMap::new(), labelled, next_turn }
    }

    /// Where a task can be given a place now.
    fn place_for(&mut self, waiter: &'w Waiter) -> Result<Place, Waiting> {
        if waiter.is_held {
            return Err(wait(WaitReason::Held, "on hold"));
        }
        if waiter.is_open {
            return Err(wait(WaitReason::DependencyOpen, "starts when its dependencies are done"));
        }
        let (Some(agent), Some(project)) =
            (self.fleet.agents.get(&waiter.agent), self.fleet.projects.get(&waiter.project))
        else {
            return Err(wait(WaitReason::AgentBusy, "its agent is gone"));
        };
        if agent.is_paused {
            return Err(wait(WaitReason::Paused, format!("{} is paused", agent.name)));
        }
        if project.is_paused {
            return Err(wait(WaitReason::Paused, "the project is paused"));
        }
        if let Some(until) = agent.limited_until {
            let message = format!("the provider of {} is rate limited", agent.name);
            return Err(Waiting { until: Some(until), ..wait(WaitReason::RateLimited, message) });
        }
        let obstacle = project.obstacle.clone();
        let busy = busy(agent, project);
        let place = self.machine_for(waiter)?;
        match obstacle.or(busy) {
            Some(waiting) => Err(waiting),
            None => Ok(place),
        }
    }

    fn machine_for(&mut self, waiter: &'w Waiter) -> Result<Place, Waiting> {
        match &waiter.wants {
            Wants::Here => Ok(Place::Here),
            Wants::Its(id, contact) => self.its_machine(id, contact.as_deref()),
            Wants::Labels(labels) => {
                let planned = waiter.planned.as_ref();
                let planned = planned.and_then(|id| self.index_of(id)).filter(|at| {
                    let candidate = &self.fleet.machines[*at];
                    candidate.machine.has_labels(labels) && candidate.obstacle().is_none()
                });
                planned.map_or_else(|| self.least_loaded(labels), Ok).map(Place::On)
            }
        }
    }

    fn its_machine(&self, id: &MachineId, contact: Option<&Machine>) -> Result<Place, Waiting> {
        let Some(at) = self.index_of(id) else { return Ok(Place::Gone(id.clone())) };
        let mut its = self.fleet.machines[at].clone();
        if let Some(contact) = contact {
            its = Candidate { runs: its.runs, today: its.today, ..Candidate::from(contact.clone()) };
        }
        its.machine.draining = false;
        match its.obstacle_to_its_own() {
            None => Ok(Place::On(at)),
            Some(obstacle) => {
                let name = [its.machine.name.clone()];
                Err(self.until_tomorrow(waiting(&name, &[its], obstacle)))
            }
        }
    }

    fn least_loaded(&mut self, labels: &'w [String]) -> Result<usize, Waiting> {
        if let Some(known) = self.chosen.get(labels) {
            return known.clone();
        }
        let machines = &self.fleet.machines;
        let labelled = self.labelled.get(labels).map(Vec::as_slice).unwrap_or_default();
        let fitting = labelled.iter().copied().filter(|at| machines[*at].obstacle().is_none());
        let chosen = match fitting.min_by(|a, b| machines[*a].compare(&machines[*b])) {
            Some(at) => Ok(at),
            None => {
                let all: Vec<Candidate> = labelled.iter().map(|at| machines[*at].clone()).collect();
                let nearest = super::placement::nearest_obstacle(all.iter()).unwrap_or(WaitFor::NoMachine);
                Err(self.until_tomorrow(waiting(labels, &all, nearest)))
            }
        };
        self.chosen.insert(labels, chosen.clone());
        chosen
    }

    /// A quota is there again on the next day.
    fn until_tomorrow(&self, waiting: Waiting) -> Waiting {
        let until = (waiting.reason == WaitReason::MachineQuota).then_some(self.fleet.tomorrow);
        Waiting { until, ..waiting }
    }

    fn index_of(&self, id: &MachineId) -> Option<usize> {
        self.fleet.machines.iter().position(|it| it.machine.id == *id)
    }

    fn turn_of(&self, waiter: &'w Waiter, place: &Place, now: Timestamp) -> Turn<'w> {
        let is_patient = now.since(waiter.since) <= DAY;
        let share = match place {
            Place::Here | Place::Gone(_) => {
                self.fleet.agents.get(&waiter.agent).and_then(|agent| agent.here.get(&waiter.project))
            }
            Place::On(at) => {
                let machine = self.fleet.machines[*at].machine.id.clone();
                self.fleet.on_machines.get(&(machine, waiter.project.clone()))
            }
        };
        let share = share.copied().filter(|_| is_patient).unwrap_or(0);
        let turn = self.fleet.projects.get(&waiter.project).map_or(0, |project| project.turn);
        (is_patient, share, turn, waiter.rank, &waiter.project)
    }

    fn take(&mut self, waiter: &Waiter, place: &Place) {
        if let Some(agent) = self.fleet.agents.get_mut(&waiter.agent) {
            agent.taken += 1;
            if !matches!(place, Place::On(_)) {
                *agent.here.entry(waiter.project.clone()).or_default() += 1;
            }
        }
        if let Some(project) = self.fleet.projects.get_mut(&waiter.project) {
            project.taken += 1;
            project.turn = self.next_turn;
            self.next_turn += 1;
        }
        if let Place::On(at) = place {
            let candidate = &mut self.fleet.machines[*at];
            candidate.runs += 1;
            candidate.today.runs += 1;
            let machine = candidate.machine.id.clone();
            *self.fleet.on_machines.entry((machine, waiter.project.clone())).or_default() += 1;
            self.chosen.clear();
        }
    }

    fn machine_of(&self, place: Place) -> Option<MachineId> {
        match place {
            Place::Here => None,
            Place::On(at) => Some(self.fleet.machines[at].machine.id.clone()),
            Place::Gone(id) => Some(id),
        }
    }
}

/// Whether a place that a task was given is one that it can use: its machine has what the task wants, and can run it.
/// Places of the task itself are not counted.
pub(crate) fn still_fits(fleet: &Fleet, waiter: &Waiter, slot: &Slot) -> bool {
    let candidate = |id: &MachineId| fleet.machines.iter().find(|it| it.machine.id == *id);
    match (&waiter.wants, &slot.machine_id) {
        _ if waiter.is_held => false,
        (Wants::Here, None) => true,
        (Wants::Labels(labels), Some(id)) => {
            candidate(id).is_some_and(|it| it.machine.has_labels(labels) && it.obstacle().is_none())
        }
        // Whoever needs a machine that cannot be reached waits for it.
        (Wants::Its(its, _), Some(id)) => its == id,
        (Wants::Here, Some(_)) | (Wants::Labels(_) | Wants::Its(..), None) => false,
    }
}

/// The machines that could run a task and cannot be reached.
pub(crate) fn unreachable_for(fleet: &Fleet, waiter: &Waiter) -> Vec<MachineId> {
    let away = |wanted: &dyn Fn(&Machine) -> bool| {
        let away = fleet.machines.iter().filter(|it| it.is_unreachable && wanted(&it.machine));
        away.map(|it| it.machine.id.clone()).collect()
    };
    match &waiter.wants {
        Wants::Here => Vec::new(),
        Wants::Labels(labels) => away(&|machine| machine.has_labels(labels)),
        Wants::Its(id, Some(contact)) if contact.contact == MachineContact::Unreachable => vec![id.clone()],
        Wants::Its(_, Some(_)) => Vec::new(),
        Wants::Its(id, None) => away(&|machine| machine.id == *id),
    }
}

fn busy(agent: &AgentPlaces, project: &ProjectPlaces) -> Option<Waiting> {
    if agent.taken >= agent.most {
        return Some(wait(WaitReason::AgentBusy, format!("{} is working on another task", agent.name)));
    }
    (project.taken >= project.most).then(|| {
        wait(
            WaitReason::ProjectBusy,
            format!("the project's limit of {} concurrent agents is reached", project.most),
        )
    })
}

/// What a task waits for, in a sentence.
pub(crate) fn wait(reason: WaitReason, message: impl Into<String>) -> Waiting {
    Waiting { reason, until: None, files: Vec::new(), message: message.into() }
}

#[cfg(test)]
mod tests;

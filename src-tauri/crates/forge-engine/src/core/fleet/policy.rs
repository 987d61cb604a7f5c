//! Who is next, and where: the decision for all tasks that wait, as a function of what is taken.
//!
//! - Within a project: what was begun before what was not; then by priority, which rises by a level with each day of
//!   waiting, by at most [`RAISE_MOST`]; then by age. After [`BY_RANK`] places of the project, of an agent, or on a
//!   machine, in a row that did not go to the task that had waited longest of those that could have had them, the next
//!   such place goes to it, if it has waited for more than a day. Each of the three counts for itself: what is owed by
//!   one is given by no other.
//! - Between projects: the one with the fewest places of the task's agent or on its machine, whichever are more, and of
//!   equals the one that was given something of either the longest ago. It stands back where another project has the
//!   better claim on that agent, or on that machine, by what they were given of it alone: that one's first task goes
//!   first then, whatever it wants. The age of a task does not matter there.
//! - A task that cannot run now keeps nobody behind it: whatever fits goes first.

use std::{cmp::Reverse, collections::HashMap};

use forge_model::ids::{AgentId, MachineId, ProjectId, TaskId};
use forge_model::machine::Machine;
use forge_model::task::{WaitReason, Waiting};
use forge_model::time::Timestamp;
use forge_store::table::turns::{Oldest, Turn};

use super::placement::{Candidate, least_loaded, waiting};
pub(crate) use fits::{is_spent_for, still_fits, unreachable_for};
use queue::{Queue, queues};

mod fits;
mod queue;

/// A day, in milliseconds.
const DAY: i64 = 24 * 3_600_000;

/// By how many levels of priority age raises a task at most.
const RAISE_MOST: i64 = 2;

/// How many places of a project, of an agent, or on a machine, in a row go to others than the task of the project that has
/// waited longest of those that could have them, if it has waited for more than a day.
const BY_RANK: u32 = 3;

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
    /// Those of each project, wherever they are.
    pub of_projects: HashMap<ProjectId, u32>,
    pub is_paused: bool,
    /// Until when its provider takes nothing.
    pub limited_until: Option<Timestamp>,
    /// The window of its limits that is nearly used up, in words.
    pub limit: Option<String>,
}

/// The places of a project.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProjectPlaces {
    pub most: u32,
    pub taken: u32,
    pub is_paused: bool,
    /// What keeps all of its tasks from starting.
    pub obstacle: Option<Waiting>,
    /// What it was given last, by the id of the agent, of the machine, and of itself.
    pub turns: HashMap<String, Turn>,
}

/// A task that waits for a place.
#[derive(Debug, Clone)]
pub(crate) struct Waiter {
    pub task: TaskId,
    pub project: ProjectId,
    pub agent: AgentId,
    pub rank: Rank,
    /// Start of the wait.
    pub since: Timestamp,
    pub is_held: bool,
    /// Whether only a person starts it.
    pub is_for_person: bool,
    /// Whether something must be done before it.
    pub is_open: bool,
    /// Whether its own limit of cost is reached, which its start tells: no obstacle of its project keeps it from that.
    pub is_past_its_limit: bool,
    pub wants: Wants,
}

/// Where a task is to run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wants {
    /// Nowhere itself: it is raced for, and its entries ask for places. It begins while its project has one.
    Race,
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
    level: Reverse<i64>,
    since: Timestamp,
    race_place: u32,
    number: u32,
}

impl Rank {
    /// The rank of a task that has waited since a time; the lowest is first.
    pub(crate) fn of(
        is_begun: bool,
        priority: i32,
        (since, now): (Timestamp, Timestamp),
        (race_place, number): (Option<u32>, u32),
    ) -> Self {
        let raise = (now.since(since) / DAY).clamp(0, RAISE_MOST);
        let level = Reverse(i64::from(priority) + raise);
        Self { is_new: !is_begun, level, since, race_place: race_place.unwrap_or(0), number }
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

/// A place that is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    /// Whose it is, among those that wait.
    pub at: usize,
    /// Whether it went to a task because of its age, whatever its rank.
    pub by_age: bool,
    /// Of whose tasks that one had waited longest.
    pub oldest: Oldest,
}

/// The decision for all.
#[derive(Debug)]
pub(crate) struct Plan {
    /// For each task, in their order.
    pub decisions: Vec<Decision>,
    /// Those that are given a place, in the order in which they are.
    pub starts: Vec<Start>,
    /// What is there then.
    pub fleet: Fleet,
}

/// Decides for all tasks that wait.
pub(crate) fn plan(fleet: Fleet, waiters: &[Waiter], now: Timestamp) -> Plan {
    let mut queues = queues(waiters, now);
    let mut planning = Planning::of(fleet, waiters);
    let mut decisions: Vec<Option<Decision>> = vec![None; waiters.len()];
    let mut starts = Vec::new();
    loop {
        let mut heads: Vec<(Precedence<'_>, Start, Place)> = Vec::new();
        for queue in &mut queues {
            let Some((start, place)) = planning.next_of(queue, waiters, &mut decisions) else { continue };
            heads.push((planning.turn_of(&waiters[start.at], &place), start, place));
        }
        heads.sort_by_key(|(turn, ..)| *turn);
        // Where each is another's by right, it is the first one all the same.
        let first = heads.iter().position(|(_, start, place)| {
            !planning.is_contested((&waiters[start.at], place), &mut queues, waiters, &mut decisions)
        });
        if heads.is_empty() {
            break;
        }
        let (_, start, place) = heads.swap_remove(first.unwrap_or(0));
        planning.take(&waiters[start.at], start.oldest, &place);
        decisions[start.at] = Some(Decision::Start(planning.machine_of(place)));
        starts.push(start);
    }
    // Each was decided on: the loop ends when no queue has anything left.
    let undecided = || Decision::Wait(wait(WaitReason::AgentBusy, "waits for its turn"));
    let decisions = decisions.into_iter().map(|it| it.unwrap_or_else(undecided)).collect();
    Plan { decisions, starts, fleet: planning.fleet }
}

/// Where a task can be given a place.
#[derive(Clone)]
enum Place {
    /// It needs none.
    Nowhere,
    Here,
    On(usize),
    /// Its machine is not known any more, which is told by whoever needs it.
    Gone(MachineId),
}

/// The order between projects; the lowest is first.
type Precedence<'w> = (u32, u64, Rank, &'w ProjectId);

struct Planning<'w> {
    fleet: Fleet,
    /// The machine that each list of labels leads to now, as far as it was asked for.
    chosen: HashMap<&'w [String], Result<usize, Waiting>>,
    /// The machines that have all labels of a list.
    labelled: HashMap<&'w [String], Vec<usize>>,
    /// Where each machine is in the fleet.
    index: HashMap<MachineId, usize>,
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
        let next_turn =
            fleet.projects.values().flat_map(|it| it.turns.values()).map(|it| it.turn).max().unwrap_or(0) + 1;
        let id = |(at, it): (usize, &Candidate)| (it.machine.id.clone(), at);
        let index = fleet.machines.iter().enumerate().map(id).collect();
        Self { fleet, chosen: HashMap::new(), labelled, index, next_turn }
    }

    /// The task of a project that is next, with its place. Whatever cannot be given one is decided on: places only become
    /// fewer, so that it cannot later on either.
    fn next_of(
        &mut self,
        queue: &mut Queue,
        waiters: &'w [Waiter],
        decisions: &mut [Option<Decision>],
    ) -> Option<(Start, Place)> {
        let mut old: Vec<(usize, Place)> = Vec::new();
        for list in &mut queue.by_age {
            old.extend(self.first_of(list, waiters, decisions));
        }
        old.sort_by_key(|(at, _)| (waiters[*at].since, waiters[*at].rank, &waiters[*at].task));
        let owed = old.iter().find(|(at, place)| self.is_owed(&waiters[*at], place));
        let by_age = owed.is_some();
        let (at, place) = match owed {
            Some((at, place)) => (*at, place.clone()),
            None => self.first_of(&mut queue.by_rank, waiters, decisions)?,
        };
        let [agent, machine] = self.whose(&waiters[at], &place);
        let first = |is_meant: &dyn Fn(&(usize, Place)) -> bool| {
            old.iter().find(|it| is_meant(it)).is_some_and(|(first, _)| *first == at)
        };
        let shares = |which: usize, whose: Option<&str>, (other, its): &(usize, Place)| {
            whose.is_some() && self.whose(&waiters[*other], its)[which] == whose
        };
        let oldest = Oldest {
            of_project: first(&|_| true),
            of_agent: first(&|it| shares(0, agent, it)),
            on_machine: first(&|it| shares(1, machine, it)),
        };
        Some((Start { at, by_age, oldest }, place))
    }

    /// The first task of a list that can be given a place.
    fn first_of(
        &mut self,
        list: &mut Vec<usize>,
        waiters: &'w [Waiter],
        decisions: &mut [Option<Decision>],
    ) -> Option<(usize, Place)> {
        while let Some(at) = list.last().copied() {
            if decisions[at].is_none() {
                match self.place_for(&waiters[at]) {
                    Ok(place) => return Some((at, place)),
                    Err(waiting) => decisions[at] = Some(Decision::Wait(waiting)),
                }
            }
            list.pop();
        }
        None
    }

    /// Whether another project has the better claim on the agent, or on the machine, that a task would be given: one that
    /// was given less of it, or as much and longer ago, and has a task that can have it now.
    fn is_contested(
        &mut self,
        (waiter, place): (&'w Waiter, &Place),
        queues: &mut [Queue],
        waiters: &'w [Waiter],
        decisions: &mut [Option<Decision>],
    ) -> bool {
        let [Some(agent), machine] = self.whose(waiter, place).map(|whose| whose.map(str::to_owned)) else {
            return false;
        };
        let its_machine = machine.as_deref().map(MachineId::from);
        for queue in queues {
            let Some(other) = queue.by_rank.last().map(|at| &waiters[*at].project) else { continue };
            if *other == waiter.project {
                continue;
            }
            let on_agent = self.claim_on_agent(other, &waiter.agent)
                < self.claim_on_agent(&waiter.project, &waiter.agent);
            let on_machine = its_machine.as_ref().is_some_and(|id| {
                self.claim_on_machine(other, id) < self.claim_on_machine(&waiter.project, id)
            });
            for list in &mut queue.of_kind {
                let Some(first) = list.last().map(|at| &waiters[*at]) else { continue };
                let may_meet = match &first.wants {
                    Wants::Race => false,
                    _ if first.agent.as_str() == agent => on_agent,
                    Wants::Here => false,
                    Wants::Labels(_) => on_machine,
                    Wants::Its(id, _) => on_machine && its_machine.as_ref() == Some(id),
                };
                if !may_meet {
                    continue;
                }
                let Some((at, its)) = self.first_of(list, waiters, decisions) else { continue };
                let [_, there] = self.whose(&waiters[at], &its);
                if waiters[at].agent.as_str() == agent || there == machine.as_deref() {
                    return true;
                }
            }
        }
        false
    }

    /// What a project has of an agent, and when it was given something of it last; the lowest is next.
    fn claim_on_agent(&self, project: &ProjectId, agent: &AgentId) -> (u32, u64) {
        let share = self.fleet.agents.get(agent).and_then(|it| it.of_projects.get(project));
        (share.copied().unwrap_or(0), self.turn(project, agent.as_str()))
    }

    /// The same of a machine.
    fn claim_on_machine(&self, project: &ProjectId, machine: &MachineId) -> (u32, u64) {
        let share = self.fleet.on_machines.get(&(machine.clone(), project.clone()));
        (share.copied().unwrap_or(0), self.turn(project, machine.as_str()))
    }

    /// When a project was given something last of an agent, of a machine, or at all.
    fn turn(&self, project: &ProjectId, whose: &str) -> u64 {
        let turns = self.fleet.projects.get(project).map(|project| &project.turns);
        turns.and_then(|turns| turns.get(whose)).map_or(0, |it| it.turn)
    }

    /// Whether a place is one that goes to the task of its project that has waited longest.
    fn is_owed(&self, waiter: &Waiter, place: &Place) -> bool {
        let Some(project) = self.fleet.projects.get(&waiter.project) else { return false };
        let is_due = |whose: &str| project.turns.get(whose).is_some_and(|it| it.passed >= BY_RANK);
        is_due(waiter.project.as_str()) || self.whose(waiter, place).into_iter().flatten().any(is_due)
    }

    /// Whose a place is, beside the project's: the agent's, and the machine's.
    fn whose<'a>(&'a self, waiter: &'a Waiter, place: &'a Place) -> [Option<&'a str>; 2] {
        let machine = match place {
            Place::Nowhere => return [None, None],
            Place::Here => None,
            Place::On(at) => Some(self.fleet.machines[*at].machine.id.as_str()),
            Place::Gone(id) => Some(id.as_str()),
        };
        [Some(waiter.agent.as_str()), machine]
    }

    /// When a project was given something of the agent, or on the machine, whichever is the longer ago.
    fn last_turn(&self, waiter: &Waiter, place: &Place) -> u64 {
        let whose = self.whose(waiter, place).into_iter().flatten();
        let earliest = whose.map(|whose| self.turn(&waiter.project, whose)).min();
        earliest.unwrap_or_else(|| self.turn(&waiter.project, waiter.project.as_str()))
    }

    /// Where a task can be given a place now.
    fn place_for(&mut self, waiter: &'w Waiter) -> Result<Place, Waiting> {
        if waiter.is_held {
            return Err(wait(WaitReason::Held, "on hold"));
        }
        if waiter.is_for_person {
            let message = "imported from a public repository: read it, then start it yourself";
            return Err(wait(WaitReason::StartRequired, message));
        }
        if waiter.is_open {
            return Err(wait(WaitReason::DependencyOpen, "starts when its dependencies are done"));
        }
        if waiter.wants == Wants::Race {
            return self.start_of_race(waiter);
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
            let window = agent.limit.as_ref().map(|limit| format!(" ({limit})")).unwrap_or_default();
            let message = format!("the provider of {} is rate limited{window}", agent.name);
            return Err(Waiting { until: Some(until), ..wait(WaitReason::RateLimited, message) });
        }
        let obstacle = project.obstacle.clone().filter(|_| !waiter.is_past_its_limit);
        let busy = agent_busy(agent).or_else(|| project_busy(project));
        let place = self.machine_for(waiter)?;
        match obstacle.or(busy) {
            Some(waiting) => Err(waiting),
            None => Ok(place),
        }
    }

    /// A race takes no place of the agent that its task was given to.
    fn start_of_race(&self, waiter: &Waiter) -> Result<Place, Waiting> {
        let Some(project) = self.fleet.projects.get(&waiter.project) else {
            return Err(wait(WaitReason::ProjectBusy, "its project is gone"));
        };
        if project.is_paused {
            return Err(wait(WaitReason::Paused, "the project is paused"));
        }
        let obstacle = project.obstacle.clone().filter(|_| !waiter.is_past_its_limit);
        obstacle.or_else(|| project_busy(project)).map_or(Ok(Place::Nowhere), Err)
    }

    fn machine_for(&mut self, waiter: &'w Waiter) -> Result<Place, Waiting> {
        match &waiter.wants {
            Wants::Race => Ok(Place::Nowhere),
            Wants::Here => Ok(Place::Here),
            Wants::Its(id, contact) => self.its_machine(id, contact.as_deref()),
            Wants::Labels(labels) => self.labelled_machine(labels).map(Place::On),
        }
    }

    fn its_machine(&self, id: &MachineId, contact: Option<&Machine>) -> Result<Place, Waiting> {
        let Some(at) = self.index_of(id) else { return Ok(Place::Gone(id.clone())) };
        let there = &self.fleet.machines[at];
        let own = contact.map(|contact| Candidate {
            runs: there.runs,
            today: there.today,
            ..Candidate::from(contact.clone())
        });
        let its = own.as_ref().unwrap_or(there);
        match its.obstacle_to_its_own() {
            None => Ok(Place::On(at)),
            Some(obstacle) => {
                let mut its = its.clone();
                its.machine.draining = false;
                let name = [its.machine.name.clone()];
                Err(self.until_tomorrow(waiting(&name, &[its], obstacle)))
            }
        }
    }

    fn labelled_machine(&mut self, labels: &'w [String]) -> Result<usize, Waiting> {
        if let Some(known) = self.chosen.get(labels) {
            return known.clone();
        }
        let labelled = self.labelled.get(labels).map(Vec::as_slice).unwrap_or_default();
        let chosen = match least_loaded(&self.fleet.machines, labelled) {
            Ok(at) => Ok(at),
            Err(nearest) => {
                let all: Vec<Candidate> =
                    labelled.iter().map(|at| self.fleet.machines[*at].clone()).collect();
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
        self.index.get(id).copied()
    }

    fn turn_of(&self, waiter: &'w Waiter, place: &Place) -> Precedence<'w> {
        let of_agent = match place {
            Place::Nowhere => None,
            _ => self.fleet.agents.get(&waiter.agent).and_then(|it| it.of_projects.get(&waiter.project)),
        };
        let on_machine = match place {
            Place::On(at) => {
                let machine = self.fleet.machines[*at].machine.id.clone();
                self.fleet.on_machines.get(&(machine, waiter.project.clone()))
            }
            _ => None,
        };
        // Whichever of the two there is less of is what the projects share.
        let share = of_agent.copied().max(on_machine.copied()).unwrap_or(0);
        (share, self.last_turn(waiter, place), waiter.rank, &waiter.project)
    }

    fn take(&mut self, waiter: &Waiter, oldest: Oldest, place: &Place) {
        let [agent, machine] = self.whose(waiter, place).map(|whose| whose.map(str::to_owned));
        if let Some(project) = self.fleet.projects.get_mut(&waiter.project) {
            // A race counts, too, in this pass: its entries ask in the next one.
            project.taken += 1;
            let own = Some((waiter.project.as_str().to_owned(), oldest.of_project));
            let agent = agent.map(|agent| (agent, oldest.of_agent));
            let machine = machine.map(|machine| (machine, oldest.on_machine));
            for (whose, is_oldest) in [own, agent, machine].into_iter().flatten() {
                let turn = project.turns.entry(whose).or_default();
                *turn = turn.next(self.next_turn, is_oldest);
            }
            self.next_turn += 1;
        }
        if let Some(agent) =
            self.fleet.agents.get_mut(&waiter.agent).filter(|_| !matches!(place, Place::Nowhere))
        {
            agent.taken += 1;
            *agent.of_projects.entry(waiter.project.clone()).or_default() += 1;
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
            Place::Nowhere | Place::Here => None,
            Place::On(at) => Some(self.fleet.machines[at].machine.id.clone()),
            Place::Gone(id) => Some(id),
        }
    }
}

fn agent_busy(agent: &AgentPlaces) -> Option<Waiting> {
    let is_full = agent.taken >= agent.most;
    is_full.then(|| wait(WaitReason::AgentBusy, format!("{} is working on another task", agent.name)))
}

fn project_busy(project: &ProjectPlaces) -> Option<Waiting> {
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

//! Decisions as data, and a fleet of 20 machines that fail while 1,000 tasks go through it.

use std::collections::{BTreeMap, BTreeSet};

use forge_model::machine::{DEFAULT_ROOT, MachineCaps, MachineKind, MachineQuota};

use super::*;
use crate::core::fleet::placement::Today;

fn machine(name: &str, labels: &[&str], cap: Option<u32>) -> Candidate {
    Candidate::from(Machine {
        id: name.into(),
        name: name.to_owned(),
        kind: MachineKind::Ssh,
        ssh: None,
        container: None,
        root: DEFAULT_ROOT.to_owned(),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        caps: MachineCaps { runs: cap },
        quota: MachineQuota::default(),
        draining: false,
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
        contact: MachineContact::Unknown,
        contact_since: None,
        contact_error: None,
        runs: 0,
        tasks: 0,
    })
}

/// Agent `a` with places, and projects `p` and `q`.
fn fleet(machines: Vec<Candidate>, places: u32) -> Fleet {
    let agent = AgentPlaces { name: "Ada".to_owned(), most: places, ..AgentPlaces::default() };
    let project = || ProjectPlaces { most: 100, ..ProjectPlaces::default() };
    Fleet {
        machines,
        agents: HashMap::from([("a".into(), agent)]),
        projects: HashMap::from([("p".into(), project()), ("q".into(), project())]),
        ..Fleet::empty(Timestamp(DAY))
    }
}

fn labels(all: &[&str]) -> Wants {
    Wants::Labels(all.iter().map(|label| (*label).to_owned()).collect())
}

/// A task that waits since its number.
fn waiter(project: &str, number: u32, priority: i32, wants: Wants) -> Waiter {
    let since = Timestamp(i64::from(number));
    Waiter {
        task: format!("{project}{number}").as_str().into(),
        project: project.into(),
        agent: "a".into(),
        rank: Rank::of(true, priority, since, (None, number)),
        since,
        is_held: false,
        is_open: false,
        wants,
        planned: None,
    }
}

/// The tasks that start, in their order, each with its machine, and what the others wait for.
fn decide(fleet: &Fleet, waiters: &[Waiter]) -> (Vec<String>, Vec<String>) {
    let decided = plan(fleet.clone(), waiters, Timestamp(1000));
    let start = |at: &usize| match &decided.decisions[*at] {
        Decision::Start(machine) => {
            let on = machine.as_ref().map_or("here", |id| id.as_str());
            format!("{} {on}", waiters[*at].task)
        }
        Decision::Wait(_) => panic!("{at} starts and waits"),
    };
    let starts = decided.starts.iter().map(start).collect();
    let waits = waiters.iter().zip(&decided.decisions).filter_map(|(waiter, decision)| match decision {
        Decision::Wait(waiting) => Some(format!("{} {}", waiter.task, waiting.reason)),
        Decision::Start(_) => None,
    });
    (starts, waits.collect())
}

#[test]
fn priority_goes_before_age_and_what_does_not_fit_keeps_nobody_behind_it() {
    let fleet = fleet(vec![machine("m", &["gpu"], Some(2))], 9);
    let gpu = || labels(&["gpu"]);
    let (starts, waits) = decide(
        &fleet,
        &[
            waiter("p", 1, 0, gpu()),
            waiter("p", 2, 9, labels(&["tpu"])),
            waiter("p", 3, 1, gpu()),
            waiter("p", 4, 0, Wants::Here),
            waiter("p", 5, 0, gpu()),
        ],
    );
    assert_eq!(starts, ["p3 m", "p1 m", "p4 here"]);
    assert_eq!(waits, ["p2 no_machine", "p5 machine_busy"]);
}

#[test]
fn what_was_begun_goes_before_what_was_not_and_a_day_of_waiting_counts_as_a_level_of_priority() {
    let rank = |is_begun, priority, since| Rank::of(is_begun, priority, Timestamp(since), (None, 1));
    assert!(rank(true, 0, 5) < rank(false, 9, 0));
    assert!(rank(true, 1, 5) < rank(true, 0, 0));
    assert!(rank(true, 0, 0) < rank(true, 1, DAY + 1));
    assert!(rank(true, i32::MAX, i64::MAX) < rank(true, i32::MIN, i64::MAX));
}

#[test]
fn projects_share_a_machine_however_many_tasks_one_of_them_has() {
    let fleet = fleet(vec![machine("m", &["gpu"], Some(4))], 9);
    let mut waiters: Vec<Waiter> = (1..=9).map(|n| waiter("p", n, 5, labels(&["gpu"]))).collect();
    waiters.extend((20..=24).map(|n| waiter("q", n, 0, labels(&["gpu"]))));
    let (starts, _) = decide(&fleet, &waiters);
    assert_eq!(starts, ["p1 m", "q20 m", "p2 m", "q21 m"]);
}

#[test]
fn of_equal_shares_the_project_whose_turn_is_longest_ago_is_next() {
    let mut fleet = fleet(vec![machine("m", &["gpu"], Some(1))], 9);
    let waiters = [waiter("p", 1, 9, labels(&["gpu"])), waiter("q", 2, 0, labels(&["gpu"]))];
    fleet.projects.get_mut(&"p".into()).unwrap().turn = 7;
    assert_eq!(decide(&fleet, &waiters).0, ["q2 m"]);
    fleet.projects.get_mut(&"q".into()).unwrap().turn = 8;
    assert_eq!(decide(&fleet, &waiters).0, ["p1 m"]);
}

#[test]
fn task_that_waited_for_more_than_a_day_goes_before_shares() {
    let mut fleet = fleet(vec![machine("m", &["gpu"], Some(3))], 9);
    fleet.machines[0].runs = 2;
    fleet.on_machines.insert(("m".into(), "p".into()), 2);
    let waiters = [waiter("p", 1, 0, labels(&["gpu"])), waiter("q", 2, 0, labels(&["gpu"]))];
    assert_eq!(decide(&fleet, &waiters).0, ["q2 m"]);
    let late = Waiter { since: Timestamp(-DAY), ..waiters[0].clone() };
    assert_eq!(decide(&fleet, &[late, waiters[1].clone()]).0, ["p1 m"]);
}

#[test]
fn task_that_waits_for_a_machine_takes_no_place_of_its_agent() {
    let mut fleet = fleet(vec![machine("m", &["gpu"], Some(1))], 1);
    fleet.machines[0].runs = 1;
    let (starts, waits) =
        decide(&fleet, &[waiter("p", 1, 9, labels(&["gpu"])), waiter("p", 2, 0, Wants::Here)]);
    assert_eq!((starts, waits), (vec!["p2 here".to_owned()], vec!["p1 machine_busy".to_owned()]));
}

#[test]
fn quota_of_a_day_counts_the_starts_of_the_same_pass_and_ends_tomorrow() {
    let mut of = fleet(vec![machine("m", &["gpu"], None)], 9);
    of.machines[0].machine.quota = MachineQuota { runs_per_day: Some(5), micro_usd_per_day: None };
    of.machines[0].today = Today { runs: 3, micro_usd: 0 };
    let waiters: Vec<Waiter> = (1..=4).map(|n| waiter("p", n, 0, labels(&["gpu"]))).collect();
    let decided = plan(of, &waiters, Timestamp(1000));
    assert_eq!(decided.starts, [0, 1]);
    let Decision::Wait(waiting) = &decided.decisions[2] else { panic!("{decided:?}") };
    assert_eq!((waiting.reason, waiting.until), (WaitReason::MachineQuota, Some(Timestamp(DAY))));
}

#[test]
fn chosen_machine_is_preferred_while_it_fits() {
    let fleet = fleet(vec![machine("idle", &["gpu"], None), machine("chosen", &["gpu"], Some(2))], 9);
    let planned = Waiter { planned: Some("chosen".into()), ..waiter("p", 1, 0, labels(&["gpu"])) };
    let mut busy = fleet.clone();
    busy.machines[1].runs = 1;
    assert_eq!(decide(&busy, std::slice::from_ref(&planned)).0, ["p1 chosen"]);
    busy.machines[1].machine.draining = true;
    assert_eq!(decide(&busy, std::slice::from_ref(&planned)).0, ["p1 idle"]);
}

#[test]
fn worktree_keeps_its_task_on_its_machine_which_may_drain_and_may_be_gone() {
    let mut fleet = fleet(vec![machine("m", &[], Some(1)), machine("n", &[], None)], 9);
    let its = |id: &str| waiter("p", 1, 0, Wants::Its(id.into(), None));
    fleet.machines[0].machine.draining = true;
    assert_eq!(decide(&fleet, &[its("m")]).0, ["p1 m"]);
    assert_eq!(decide(&fleet, &[its("removed")]).0, ["p1 removed"]);
    fleet.machines[0].is_unreachable = true;
    assert_eq!(decide(&fleet, &[its("m")]).1, ["p1 machine_unreachable"]);
    assert_eq!(unreachable_for(&fleet, &its("m")), ["m".into()]);
    assert_eq!(unreachable_for(&fleet, &its("n")), []);
    // Its own container is what counts.
    let live = Machine { contact: MachineContact::Live, ..fleet.machines[0].machine.clone() };
    let own = waiter("p", 1, 0, Wants::Its("m".into(), Some(Box::new(live))));
    assert_eq!(decide(&fleet, std::slice::from_ref(&own)).0, ["p1 m"]);
    assert_eq!(unreachable_for(&fleet, &own), []);
}

#[test]
fn what_keeps_a_whole_agent_or_project_is_told_in_its_order() {
    let base = fleet(Vec::new(), 1);
    let here = waiter("p", 1, 0, Wants::Here);
    let told = |change: &dyn Fn(&mut Fleet, &mut Waiter)| {
        let (mut fleet, mut waiter) = (base.clone(), here.clone());
        change(&mut fleet, &mut waiter);
        decide(&fleet, &[waiter]).1.join("")
    };
    let agent = |fleet: &mut Fleet, change: &dyn Fn(&mut AgentPlaces)| {
        fleet.agents.values_mut().for_each(change);
    };
    let project = |fleet: &mut Fleet, change: &dyn Fn(&mut ProjectPlaces)| {
        fleet.projects.values_mut().for_each(change);
    };
    assert_eq!(told(&|_, waiter| waiter.is_held = true), "p1 held");
    assert_eq!(told(&|_, waiter| waiter.is_open = true), "p1 dependency_open");
    assert_eq!(told(&|fleet, _| agent(fleet, &|it| it.is_paused = true)), "p1 paused");
    assert_eq!(told(&|fleet, _| project(fleet, &|it| it.is_paused = true)), "p1 paused");
    let limited = |it: &mut AgentPlaces| it.limited_until = Some(Timestamp(9));
    assert_eq!(told(&|fleet, _| agent(fleet, &limited)), "p1 rate_limited");
    let costs = |it: &mut ProjectPlaces| it.obstacle = Some(wait(WaitReason::CostLimit, "costs"));
    assert_eq!(told(&|fleet, _| project(fleet, &costs)), "p1 cost_limit");
    assert_eq!(told(&|fleet, _| agent(fleet, &|it| it.taken = 1)), "p1 agent_busy");
    assert_eq!(told(&|fleet, _| project(fleet, &|it| it.taken = 100)), "p1 project_busy");
    assert_eq!(told(&|_, waiter| waiter.agent = "gone".into()), "p1 agent_busy");
}

#[test]
fn place_is_good_while_its_machine_can_run_the_task() {
    let mut fleet = fleet(vec![machine("m", &["gpu"], Some(1))], 9);
    let fits = |fleet: &Fleet, wants: Wants, on: Option<&str>| {
        let slot = Slot { agent_id: "a".into(), machine_id: on.map(Into::into) };
        still_fits(fleet, &waiter("p", 1, 0, wants), &slot)
    };
    let gpu = || labels(&["gpu"]);
    assert!(fits(&fleet, gpu(), Some("m")) && fits(&fleet, Wants::Here, None));
    assert!(fits(&fleet, Wants::Its("m".into(), None), Some("m")));
    assert!(!fits(&fleet, gpu(), None) && !fits(&fleet, Wants::Here, Some("m")));
    assert!(!fits(&fleet, labels(&["tpu"]), Some("m")) && !fits(&fleet, gpu(), Some("gone")));
    fleet.machines[0].machine.draining = true;
    assert!(!fits(&fleet, gpu(), Some("m")));
    assert!(fits(&fleet, Wants::Its("m".into(), None), Some("m")));
}

struct Rng(u64);

impl Rng {
    fn next(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % bound.max(1)
    }
}

/// A fleet that works: tasks that wait, and those that run until a moment.
struct Simulated {
    rng: Rng,
    fleet: Fleet,
    waiting: Vec<Waiter>,
    /// By task: its place and when it is over.
    running: BTreeMap<TaskId, (Waiter, Option<MachineId>, i64)>,
    done: BTreeSet<TaskId>,
    now: i64,
}

const TASKS: u32 = 1_000;
const MACHINES: usize = 20;
const PROJECTS: usize = 7;
const AGENTS: usize = 3;

impl Simulated {
    fn new(seed: u64) -> Self {
        let mut rng = Rng(seed);
        let kinds: [&[&str]; 4] = [&["gpu"], &["arm"], &["gpu", "arm"], &["cpu"]];
        let mut machines = Vec::new();
        for n in 0..MACHINES {
            let cap = u32::try_from(rng.next(4)).ok().filter(|cap| *cap > 0);
            let mut made = machine(&format!("m{n:02}"), kinds[n % kinds.len()], cap.or(Some(6)));
            if rng.next(3) == 0 {
                made.machine.quota.runs_per_day = Some(20);
            }
            if rng.next(3) == 0 {
                made.machine.quota.micro_usd_per_day = Some(100);
            }
            machines.push(made);
        }
        let mut fleet = fleet(machines, 0);
        fleet.agents = (0..AGENTS)
            .map(|n| {
                let most = 5 + u32::try_from(rng.next(30)).unwrap_or(0);
                (AgentId(format!("a{n}")), AgentPlaces { most, ..AgentPlaces::default() })
            })
            .collect();
        fleet.projects = (0..PROJECTS)
            .map(|n| (ProjectId(format!("p{n}")), ProjectPlaces { most: 12, ..ProjectPlaces::default() }))
            .collect();
        let mut waiting = Vec::new();
        for number in 0..TASKS {
            let wants = match rng.next(5) {
                0 => Wants::Here,
                kind => labels(kinds[kind - 1]),
            };
            // One project has half of all tasks.
            let project = if rng.next(2) == 0 { 0 } else { rng.next(PROJECTS) };
            let priority = i32::try_from(rng.next(5)).unwrap_or(0);
            let mut it = waiter(&format!("p{project}"), number, priority, wants);
            it.agent = AgentId(format!("a{}", rng.next(AGENTS)));
            waiting.push(it);
        }
        Self { rng, fleet, waiting, running: BTreeMap::new(), done: BTreeSet::new(), now: 0 }
    }

    /// One pass, and the starts that it decided on.
    fn pass(&mut self) {
        let decided = plan(self.fleet.clone(), &self.waiting, Timestamp(self.now));
        let mut started = BTreeSet::new();
        for at in decided.starts {
            let it = self.waiting[at].clone();
            let Decision::Start(machine) = &decided.decisions[at] else { panic!("{at} does not start") };
            assert!(started.insert(at), "started twice in one pass");
            assert!(!self.running.contains_key(&it.task) && !self.done.contains(&it.task), "started twice");
            self.count(&it, machine.as_ref(), true);
            let over = self.now + 1 + i64::try_from(self.rng.next(3_600_000)).unwrap_or(0);
            self.running.insert(it.task.clone(), (it, machine.clone(), over));
        }
        let mut at = 0;
        self.waiting.retain(|_| {
            at += 1;
            !started.contains(&(at - 1))
        });
        self.check();
    }

    fn count(&mut self, it: &Waiter, machine: Option<&MachineId>, takes: bool) {
        let change = |count: &mut u32| *count = if takes { *count + 1 } else { *count - 1 };
        change(&mut self.fleet.agents.get_mut(&it.agent).unwrap().taken);
        let project = self.fleet.projects.get_mut(&it.project).unwrap();
        change(&mut project.taken);
        if takes {
            project.turn = u64::try_from(self.now).unwrap_or(0) + 1;
        }
        if let Some(id) = machine {
            let found = self.fleet.machines.iter_mut().find(|found| found.machine.id == *id).unwrap();
            change(&mut found.runs);
            if takes {
                let is_its = matches!(it.wants, Wants::Its(..));
                assert!((is_its || !found.machine.draining) && !found.is_unreachable, "{id} starts nothing");
                found.today.runs += 1;
            } else {
                found.today.micro_usd += 1 + u64::try_from(self.rng.next(20)).unwrap_or(0);
            }
            change(self.fleet.on_machines.entry((id.clone(), it.project.clone())).or_default());
        } else {
            let agent = self.fleet.agents.get_mut(&it.agent).unwrap();
            change(agent.here.entry(it.project.clone()).or_default());
        }
    }

    fn check(&self) {
        for it in &self.fleet.machines {
            assert!(it.machine.caps.runs.is_none_or(|cap| it.runs <= cap), "{it:?}");
            assert!(it.machine.quota.runs_per_day.is_none_or(|most| it.today.runs <= most), "{it:?}");
        }
        assert!(self.fleet.agents.values().all(|it| it.taken <= it.most));
        assert!(self.fleet.projects.values().all(|it| it.taken <= it.most));
        let all = self.waiting.len() + self.running.len() + self.done.len();
        assert_eq!(all, TASKS as usize, "a task is lost or there twice");
    }

    /// Something happens: a run ends well or is lost, a machine fails, comes back, drains or is emptied.
    fn happen(&mut self) {
        let at = self.rng.next(MACHINES);
        match self.rng.next(12) {
            0 => self.fail(at),
            1 => self.fleet.machines[at].machine.draining = true,
            2..=4 => {
                self.fleet.machines[at].is_unreachable = false;
                self.fleet.machines[at].machine.draining = false;
            }
            _ => self.end_next(),
        }
    }

    /// A machine is cut off; what ran there is lost and waits again, on that machine alone.
    fn fail(&mut self, at: usize) {
        self.fleet.machines[at].is_unreachable = true;
        let id = self.fleet.machines[at].machine.id.clone();
        let there: Vec<TaskId> = self
            .running
            .iter()
            .filter(|(_, (_, machine, _))| *machine == Some(id.clone()))
            .map(|(task, _)| task.clone())
            .collect();
        for task in there {
            let (mut it, machine, _) = self.running.remove(&task).unwrap();
            self.count(&it, machine.as_ref(), false);
            if self.rng.next(2) == 0 {
                it.wants = Wants::Its(id.clone(), None);
            }
            it.since = Timestamp(self.now);
            self.waiting.push(it);
        }
    }

    fn end_next(&mut self) {
        let Some((task, over)) =
            self.running.iter().map(|(task, (.., over))| (task.clone(), *over)).min_by_key(|it| it.1)
        else {
            return self.next_day();
        };
        let before = self.now / DAY;
        self.now = self.now.max(over);
        if self.now / DAY > before {
            self.fleet.machines.iter_mut().for_each(|it| it.today = Today::default());
        }
        let (it, machine, _) = self.running.remove(&task).unwrap();
        self.count(&it, machine.as_ref(), false);
        self.done.insert(task);
    }

    fn next_day(&mut self) {
        self.now = (self.now / DAY + 1) * DAY;
        self.fleet.tomorrow = Timestamp(self.now + DAY);
        for it in &mut self.fleet.machines {
            it.today = Today::default();
            it.is_unreachable = false;
            it.machine.draining = false;
        }
    }
}

#[test]
fn thousand_tasks_go_through_twenty_failing_machines_once_each_and_no_cap_is_passed() {
    for seed in 1..=5 {
        let mut fleet = Simulated::new(seed);
        fleet.pass();
        let mut passes = 0;
        while fleet.done.len() < TASKS as usize {
            for _ in 0..=fleet.rng.next(5) {
                fleet.happen();
            }
            fleet.pass();
            passes += 1;
            assert!(passes < 50 * TASKS, "seed {seed}: {} tasks never start", fleet.waiting.len());
        }
        assert!(fleet.waiting.is_empty() && fleet.running.is_empty(), "seed {seed}");
    }
}

#[test]
fn no_project_is_passed_for_ever_by_one_with_tasks_without_end() {
    let mut fleet = fleet(vec![machine("m", &["gpu"], Some(3))], 9);
    // A run that lasts, of the project that waits.
    fleet.machines[0].runs = 1;
    fleet.on_machines.insert(("m".into(), "p".into()), 1);
    let mine = waiter("p", 1, -9, labels(&["gpu"]));
    let mut waited = 0;
    for number in 2.. {
        let flood: Vec<Waiter> = (0..4).map(|n| waiter("q", number * 10 + n, 9, labels(&["gpu"]))).collect();
        let all: Vec<Waiter> = std::iter::once(mine.clone()).chain(flood).collect();
        let decided = plan(fleet.clone(), &all, Timestamp(1000));
        if decided.starts.contains(&0) {
            break;
        }
        waited += 1;
        assert!(waited < 3, "its project has one place of three");
        // One run of the other project ends at a time.
        fleet = decided.fleet;
        fleet.machines[0].runs -= 1;
        *fleet.on_machines.get_mut(&("m".into(), "q".into())).unwrap() -= 1;
    }
}

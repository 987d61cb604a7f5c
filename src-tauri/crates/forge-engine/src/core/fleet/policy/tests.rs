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
        rank: Rank::of(true, priority, (since, since), (None, number)),
        since,
        is_held: false,
        is_open: false,
        is_past_its_limit: false,
        wants,
    }
}

/// The tasks that start, in their order, each with its machine, and what the others wait for.
fn decide(fleet: &Fleet, waiters: &[Waiter]) -> (Vec<String>, Vec<String>) {
    let decided = plan(fleet.clone(), waiters, Timestamp(1000));
    let start = |start: &Start| match &decided.decisions[start.at] {
        Decision::Start(machine) => {
            let on = machine.as_ref().map_or("here", |id| id.as_str());
            format!("{} {on}", waiters[start.at].task)
        }
        Decision::Wait(_) => panic!("{start:?} starts and waits"),
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
fn what_was_begun_goes_first_then_priority_and_age_raises_it_by_two_levels_at_most() {
    let rank = |is_begun, priority, days: i64| {
        Rank::of(is_begun, priority, (Timestamp(0), Timestamp(days * DAY)), (None, 1))
    };
    assert!(rank(true, 0, 0) < rank(false, 9, 9));
    // On the first day priority alone counts.
    let late = |hours| Rank::of(false, 0, (Timestamp(hours * DAY / 24), Timestamp(DAY)), (None, 1));
    let urgent = |hours| Rank::of(false, 1, (Timestamp(hours * DAY / 24), Timestamp(DAY)), (None, 1));
    assert!(urgent(23) < late(1));
    assert!(late(1) < late(2), "of equal priority, the older one");
    // A day later it is a level higher, and after two days it rises no more.
    assert!(late(0) < urgent(1));
    assert!(rank(false, 2, 3) > rank(false, 3, 3));
    assert!(rank(false, 1, 100) > Rank::of(false, 4, (Timestamp(DAY), Timestamp(DAY)), (None, 1)));
    assert!(rank(true, i32::MAX, i64::from(i32::MAX)) < rank(true, i32::MIN, 0));
}

#[test]
fn every_fourth_place_of_a_project_goes_to_the_task_that_waited_longest_if_that_is_more_than_a_day() {
    let mut fleet = fleet(vec![machine("m", &["gpu"], None)], 6);
    let mut waiters: Vec<Waiter> = (10..=20).map(|n| waiter("p", n, 50, labels(&["gpu"]))).collect();
    for (number, days, wants) in [(1, 3, labels(&["tpu"])), (2, 2, labels(&["gpu"])), (3, 1, Wants::Here)] {
        let since = Timestamp(-days * DAY);
        let rank = Rank::of(false, 0, (since, Timestamp(1000)), (None, number));
        waiters.push(Waiter { since, rank, ..waiter("p", number, 0, wants) });
    }
    // The one that waited longest of those that can run.
    let (starts, _) = decide(&fleet, &waiters);
    assert_eq!(starts, ["p10 m", "p11 m", "p12 m", "p2 m", "p13 m", "p14 m"]);
    // What is owed stays owed until one can run.
    fleet.projects.get_mut(&"p".into()).unwrap().turn.passed.insert("m".to_owned(), 7);
    assert_eq!(decide(&fleet, &waiters).0[..2], ["p2 m", "p10 m"]);
    let young: Vec<Waiter> = waiters.into_iter().filter(|it| it.since.0 >= 0).collect();
    assert_eq!(decide(&fleet, &young).0[..2], ["p10 m", "p11 m"]);
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
    fleet.projects.get_mut(&"p".into()).unwrap().turn.turn = 7;
    assert_eq!(decide(&fleet, &waiters).0, ["q2 m"]);
    fleet.projects.get_mut(&"q".into()).unwrap().turn.turn = 8;
    assert_eq!(decide(&fleet, &waiters).0, ["p1 m"]);
}

#[test]
fn old_tasks_of_a_project_do_not_turn_the_shares_of_projects_around() {
    let fleet = fleet(vec![machine("m", &["gpu"], Some(8))], 9);
    let mut waiters: Vec<Waiter> = (1..=9).map(|n| waiter("p", n, 0, labels(&["gpu"]))).collect();
    for it in &mut waiters {
        it.since = Timestamp(-9 * DAY);
        it.rank = Rank::of(true, 0, (it.since, Timestamp(1000)), (None, 1));
    }
    waiters.extend((20..=29).map(|n| waiter("q", n, 0, labels(&["gpu"]))));
    let (starts, _) = decide(&fleet, &waiters);
    let of = |project: &str| starts.iter().filter(|it| it.starts_with(project)).count();
    assert_eq!((of("p"), of("q")), (4, 4), "{starts:?}");
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
    assert_eq!(decided.starts.iter().map(|start| start.at).collect::<Vec<_>>(), [0, 1]);
    let Decision::Wait(waiting) = &decided.decisions[2] else { panic!("{decided:?}") };
    assert_eq!((waiting.reason, waiting.until), (WaitReason::MachineQuota, Some(Timestamp(DAY))));
    assert!(!waiting.message.contains('$'), "{}", waiting.message);
}

#[test]
fn whoever_waits_for_a_full_machine_beside_a_spent_one_is_asked_again_tomorrow() {
    let mut of = fleet(vec![machine("full", &["gpu"], Some(1)), machine("spent", &["gpu"], None)], 9);
    of.machines[0].runs = 1;
    of.machines[1].machine.quota.micro_usd_per_day = Some(5);
    of.machines[1].today = Today { runs: 1, micro_usd: 5 };
    let it = waiter("p", 1, 0, labels(&["gpu"]));
    let decided = plan(of.clone(), std::slice::from_ref(&it), Timestamp(1000));
    let Decision::Wait(waiting) = &decided.decisions[0] else { panic!("{decided:?}") };
    assert_eq!((waiting.reason, waiting.until), (WaitReason::MachineBusy, None));
    let again = crate::core::admission::looks_again(&of, &it, waiting);
    assert_eq!(again, [crate::core::admission::Again::At(Timestamp(DAY))]);
}

#[test]
fn whoever_finds_a_machine_full_and_spent_by_the_same_plan_is_asked_again_tomorrow() {
    let mut of = fleet(vec![machine("m", &["gpu"], Some(1)), machine("n", &["gpu"], Some(1))], 9);
    of.machines[0].machine.quota.runs_per_day = Some(1);
    let waiters: Vec<Waiter> = (1..=3).map(|n| waiter("p", n, 0, labels(&["gpu"]))).collect();
    let decided = plan(of.clone(), &waiters, Timestamp(1000));
    let Decision::Wait(waiting) = &decided.decisions[2] else { panic!("{decided:?}") };
    assert_eq!((waiting.reason, waiting.until), (WaitReason::MachineBusy, None));
    let again = crate::core::admission::looks_again(&decided.fleet, &waiters[2], waiting);
    assert_eq!(again, [crate::core::admission::Again::At(Timestamp(DAY))]);
}

#[test]
fn race_begins_while_its_own_agent_is_busy_and_its_project_is_not() {
    let mut base = fleet(Vec::new(), 1);
    base.agents.values_mut().for_each(|it| (it.taken, it.is_paused) = (1, true));
    base.projects.values_mut().for_each(|it| it.most = 2);
    let races: Vec<Waiter> = (1..=3).map(|n| waiter("p", n, 0, Wants::Race)).collect();
    let (starts, waits) = decide(&base, &races);
    assert_eq!(starts, ["p1 here", "p2 here"], "as many as could have an entry at work");
    assert_eq!(waits, ["p3 project_busy"]);
    let decided = plan(base.clone(), &races, Timestamp(1000));
    let (of_agent, passed) = (
        &decided.fleet.agents[&AgentId::from("a")],
        &decided.fleet.projects[&ProjectId::from("p")].turn.passed,
    );
    assert_eq!((of_agent.taken, passed.len()), (1, 0), "a race takes no place of an agent");
    base.projects.values_mut().for_each(|it| it.is_paused = true);
    assert_eq!(decide(&base, &races).1[0], "p1 paused");
    let held = [Waiter { is_held: true, ..waiter("p", 1, 0, Wants::Race) }];
    assert_eq!(decide(&base, &held).1, ["p1 held"]);
}

#[test]
fn projects_share_an_agent_whose_places_are_on_many_machines() {
    // Each machine has room for all: the agent is what there is less of.
    let machines = (0..6).map(|n| machine(&format!("m{n}"), &["gpu"], Some(9))).collect();
    let mut base = fleet(machines, 6);
    base.agents
        .values_mut()
        .for_each(|it| (it.taken, it.of_projects) = (4, HashMap::from([("p".into(), 4)])));
    for n in 0..4_usize {
        base.machines[n].runs = 1;
        base.on_machines.insert((MachineId(format!("m{n}")), "p".into()), 1);
    }
    let mut waiters: Vec<Waiter> = (1..=4).map(|n| waiter("p", n, 9, labels(&["gpu"]))).collect();
    waiters.extend((10..=13).map(|n| waiter("q", n, 0, labels(&["gpu"]))));
    let (starts, _) = decide(&base, &waiters);
    assert!(starts.iter().all(|it| it.starts_with('q')), "q has no place of the agent: {starts:?}");
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
    let past_its_own = |fleet: &mut Fleet, waiter: &mut Waiter| {
        project(fleet, &costs);
        waiter.is_past_its_limit = true;
    };
    assert_eq!(told(&past_its_own), "", "its start tells of its own limit");
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
    /// Priority and number of each task.
    facts: HashMap<TaskId, (i32, u32)>,
    passes: u32,
    turns: u64,
    by_age: u32,
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
        let (mut waiting, mut facts) = (Vec::new(), HashMap::new());
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
            // The first ones have waited for three days.
            it.since = Timestamp(i64::from(number) * 3 * DAY / i64::from(TASKS));
            facts.insert(it.task.clone(), (priority, number));
            waiting.push(it);
        }
        fleet.tomorrow = Timestamp(4 * DAY);
        Self {
            rng,
            fleet,
            waiting,
            running: BTreeMap::new(),
            done: BTreeSet::new(),
            facts,
            passes: 0,
            turns: 0,
            by_age: 0,
            now: 3 * DAY,
        }
    }

    /// One pass, and the starts that it decided on.
    fn pass(&mut self) {
        for it in &mut self.waiting {
            let (priority, number) = self.facts[&it.task];
            it.rank = Rank::of(false, priority, (it.since, Timestamp(self.now)), (None, number));
        }
        let decided = plan(self.fleet.clone(), &self.waiting, Timestamp(self.now));
        let mut started = BTreeSet::new();
        for Start { at, by_age } in decided.starts {
            let it = self.waiting[at].clone();
            assert!(!it.is_held && !it.is_open, "{} may not start", it.task);
            self.by_age += u32::from(by_age);
            let Decision::Start(machine) = &decided.decisions[at] else { panic!("{at} does not start") };
            assert!(started.insert(at), "started twice in one pass");
            assert!(!self.running.contains_key(&it.task) && !self.done.contains(&it.task), "started twice");
            self.count(&it, machine.as_ref(), Some(by_age));
            let over = self.now + 1 + i64::try_from(self.rng.next(3_600_000)).unwrap_or(0);
            self.running.insert(it.task.clone(), (it, machine.clone(), over));
        }
        let mut at = 0;
        self.waiting.retain(|_| {
            at += 1;
            !started.contains(&(at - 1))
        });
        self.check();
        self.passes += 1;
        if self.passes % 7 == 1 {
            for it in &self.waiting {
                assert!(!self.may_start(it), "a place is idle, and {it:?} may have it");
            }
        }
    }

    /// Whether a place is free that a task may have, counted without the decision that is tested.
    fn may_start(&self, it: &Waiter) -> bool {
        let (agent, project) = (&self.fleet.agents[&it.agent], &self.fleet.projects[&it.project]);
        if it.is_held || it.is_open || agent.taken >= agent.most || project.taken >= project.most {
            return false;
        }
        self.fleet.machines.iter().any(|on| {
            let Machine { id, caps, quota, draining, .. } = &on.machine;
            let is_meant = match &it.wants {
                Wants::Labels(labels) => on.machine.has_labels(labels) && !draining,
                Wants::Its(its, _) => its == id,
                Wants::Race | Wants::Here => true,
            };
            is_meant
                && (matches!(it.wants, Wants::Here)
                    || !on.is_unreachable
                        && caps.runs.is_none_or(|most| on.runs < most)
                        && quota.runs_per_day.is_none_or(|most| on.today.runs < most)
                        && quota.micro_usd_per_day.is_none_or(|most| on.today.micro_usd < most))
        })
    }

    /// A task is put on hold, or is let go; so with what must be done before it.
    fn hold(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let at = self.rng.next(self.waiting.len());
        let it = &mut self.waiting[at];
        match self.rng.next(2) {
            0 => it.is_held = !it.is_held,
            _ => it.is_open = !it.is_open,
        }
    }

    fn count(&mut self, it: &Waiter, machine: Option<&MachineId>, takes: Option<bool>) {
        let change = |count: &mut u32| *count = if takes.is_some() { *count + 1 } else { *count - 1 };
        change(&mut self.fleet.agents.get_mut(&it.agent).unwrap().taken);
        let project = self.fleet.projects.get_mut(&it.project).unwrap();
        change(&mut project.taken);
        if let Some(by_age) = takes {
            self.turns += 1;
            project.turn.turn = self.turns;
            for whose in [Some(it.agent.as_str()), machine.map(MachineId::as_str)].into_iter().flatten() {
                let passed = project.turn.passed.entry(whose.to_owned()).or_default();
                *passed = if by_age { 0 } else { *passed + 1 };
            }
        }
        if let Some(id) = machine {
            let found = self.fleet.machines.iter_mut().find(|found| found.machine.id == *id).unwrap();
            change(&mut found.runs);
            if takes.is_some() {
                let is_its = matches!(it.wants, Wants::Its(..));
                assert!((is_its || !found.machine.draining) && !found.is_unreachable, "{id} starts nothing");
                found.today.runs += 1;
            } else {
                found.today.micro_usd += 1 + u64::try_from(self.rng.next(20)).unwrap_or(0);
            }
            change(self.fleet.on_machines.entry((id.clone(), it.project.clone())).or_default());
        }
        let agent = self.fleet.agents.get_mut(&it.agent).unwrap();
        change(agent.of_projects.entry(it.project.clone()).or_default());
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
        match self.rng.next(13) {
            12 => self.hold(),
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
            self.count(&it, machine.as_ref(), None);
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
        self.count(&it, machine.as_ref(), None);
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
        // Nothing else goes on: whoever is held up is let go.
        self.waiting.iter_mut().for_each(|it| (it.is_held, it.is_open) = (false, false));
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
        assert!(fleet.by_age > 0, "seed {seed}: no place went by age");
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
        if decided.starts.iter().any(|start| start.at == 0) {
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

#[test]
fn no_task_is_passed_for_ever_by_more_urgent_ones_of_its_project() {
    // One place, and always new tasks that are more urgent than age can raise any other.
    let mut fleet = fleet(vec![machine("m", &["gpu"], Some(1))], 1);
    let mut old: Vec<Waiter> = (1..=5).map(|n| waiter("p", n, -9, labels(&["gpu"]))).collect();
    let mut places = 0;
    while !old.is_empty() {
        places += 1;
        let now = Timestamp(2 * DAY + i64::from(places));
        let mut all = old.clone();
        all.extend((0..3).map(|n| {
            let since = Timestamp(now.0 - 1);
            let number = 100 * places + n;
            let rank = Rank::of(true, 90, (since, now), (None, number));
            Waiter { since, rank, ..waiter("p", number, 0, labels(&["gpu"])) }
        }));
        let decided = plan(fleet, &all, now);
        let [start] = decided.starts[..] else { panic!("one place, {:?}", decided.starts) };
        if start.at < old.len() {
            assert_eq!(start.at, 0, "the oldest first");
            old.remove(0);
        }
        fleet = decided.fleet;
        // It ends.
        fleet.machines[0].runs = 0;
        fleet.on_machines.clear();
        fleet.agents.values_mut().for_each(|agent| agent.taken = 0);
        fleet.projects.values_mut().for_each(|project| project.taken = 0);
    }
    assert_eq!(places, 5 * (BY_RANK + 1));
}

#[test]
fn task_that_can_run_on_one_machine_alone_is_owed_its_place_while_others_have_their_turns_by_age() {
    // Four machines with a place each end in rotation; old tasks run on each of them, one on the last machine alone.
    let names = ["m0", "m1", "m2", "m3"];
    let mut fleet = fleet(names.map(|name| machine(name, &["gpu"], Some(1))).to_vec(), 9);
    fleet.machines.iter_mut().for_each(|it| it.runs = 1);
    let old = |number: u32, days: i64, wants: Wants| {
        let since = Timestamp(-days * DAY + i64::from(number));
        let rank = Rank::of(false, -9, (since, Timestamp(0)), (None, number));
        Waiter { since, rank, ..waiter("p", number, 0, wants) }
    };
    let alone = old(1, 2, labels(&["m3"]));
    let mut places_there = 0;
    // The place that goes by age is always one of the first machine.
    for round in 1_u32.. {
        let at = usize::try_from(round).unwrap() % names.len();
        places_there += u32::from(at == 3);
        assert!(places_there <= BY_RANK + 1, "it is passed for ever");
        fleet.machines[at].runs = 0;
        fleet.on_machines.clear();
        fleet.agents.values_mut().for_each(|it| (it.taken, it.of_projects) = (3, HashMap::new()));
        fleet.projects.values_mut().for_each(|it| it.taken = 3);
        // Always: an urgent task, and another old one that is younger than this one and can run on the other machines.
        let urgent = Waiter {
            rank: Rank::of(false, 90, (Timestamp(0), Timestamp(0)), (None, round)),
            ..waiter("p", 1000 + round, 0, labels(&["gpu"]))
        };
        let mut waiters = vec![alone.clone(), urgent];
        waiters.extend(
            (0..3).map(|n| old(100 + 10 * round + n, 1, labels(&[names[usize::try_from(n).unwrap()]]))),
        );
        let decided = plan(fleet, &waiters, Timestamp(1000));
        let [start] = decided.starts[..] else { panic!("one place, {:?}", decided.starts) };
        if start.at == 0 {
            assert!(start.by_age);
            break;
        }
        fleet = decided.fleet;
    }
}

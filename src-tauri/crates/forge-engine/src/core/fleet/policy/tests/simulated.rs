//! A fleet of 20 machines that fail while 1,000 tasks go through it.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

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
        for Start { at, by_age, oldest } in decided.starts {
            let it = self.waiting[at].clone();
            assert!(!it.is_held && !it.is_open, "{} may not start", it.task);
            self.by_age += u32::from(by_age);
            let Decision::Start(machine) = &decided.decisions[at] else { panic!("{at} does not start") };
            assert!(started.insert(at), "started twice in one pass");
            assert!(!self.running.contains_key(&it.task) && !self.done.contains(&it.task), "started twice");
            self.count(&it, machine.as_ref(), Some(oldest));
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

    fn count(&mut self, it: &Waiter, machine: Option<&MachineId>, takes: Option<Oldest>) {
        let change = |count: &mut u32| *count = if takes.is_some() { *count + 1 } else { *count - 1 };
        change(&mut self.fleet.agents.get_mut(&it.agent).unwrap().taken);
        let project = self.fleet.projects.get_mut(&it.project).unwrap();
        change(&mut project.taken);
        if let Some(oldest) = takes {
            self.turns += 1;
            let own = Some((it.project.as_str(), oldest.of_project));
            let agent = Some((it.agent.as_str(), oldest.of_agent));
            let machine = machine.map(|id| (id.as_str(), oldest.on_machine));
            for (whose, is_oldest) in [own, agent, machine].into_iter().flatten() {
                let turn = project.turns.entry(whose.to_owned()).or_default();
                *turn = turn.next(self.turns, is_oldest);
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

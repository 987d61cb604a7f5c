//! What must hold of every history whenever it is quiet, and of limits always, counted from rows in the plainest way there
//! is.

use forge_model::machine::Machine;
use forge_store::ReadConnection;
use forge_store::table::slots::{Slot, SlotCount};

use super::*;
use crate::core::day::day_of;

/// The places that are taken now, with whose they are.
type Taken = Vec<(TaskRow, Slot)>;

impl History {
    pub(super) async fn check(&mut self) {
        let world = self.world.clone();
        let mut conn = world.store().read().await.unwrap();
        let mut taken: Taken = Vec::new();
        for id in &self.tasks {
            let row = conn.tasks().get(id).await.unwrap().unwrap();
            taken.extend(conn.slots().of(id).await.unwrap().map(|slot| (row, slot)));
        }
        for id in self.raced.keys().chain(&self.parts) {
            let slot = conn.slots().of(id).await.unwrap();
            assert_eq!(slot, None, "{id} is worked on by others: its entries, or its parent's agent");
        }
        self.check_runs(&mut conn, &taken).await;
        self.check_limits(&mut conn, &taken).await;
        self.check_races(&mut conn, &taken).await;
        for id in self.tasks.clone() {
            let task = conn.tasks().get(&id).await.unwrap().unwrap();
            if let Some(place) = self.idle_place(&mut conn, &task, &taken).await {
                panic!("{place} is idle, and {id} that may have it waits: {task:#?}");
            }
        }
        let today = day_of(world.now()).0;
        let machines = conn.machines().list().await.unwrap();
        let spent = machines.iter().filter(|machine| self.is_spent(machine));
        self.spent = spent.map(|machine| (machine.id.clone(), today)).collect();
    }

    /// No limit is passed at any moment, whoever is at work.
    pub(super) async fn check_caps(&self) {
        let mut conn = self.world.store().read().await.unwrap();
        // Nothing but this test changes what may be there.
        let (agents, projects) = (conn.agents().list().await.unwrap(), conn.projects().list().await.unwrap());
        let machines = conn.machines().list().await.unwrap();
        let counts = conn.slots().counts().await.unwrap();
        let count = |is_meant: &dyn Fn(&SlotCount) -> bool| {
            counts.iter().filter(|slot| is_meant(slot)).map(|slot| u64::from(slot.count)).sum::<u64>()
        };
        let runs = self.open_runs().await;
        for agent in agents {
            let count = count(&|slot| slot.agent_id == agent.id);
            assert!(count <= u64::from(agent.max_concurrent), "{count} of {agent:?}");
            let runs = runs.iter().filter(|run| run.agent_id == agent.id).count();
            assert!(runs <= agent.max_concurrent as usize, "{runs} runs of {agent:?}");
        }
        for row in projects {
            let count = count(&|slot| slot.project_id == row.project.id);
            let most = row.settings["max_concurrent"].as_u64().unwrap();
            assert!(count <= most, "{count} of {most} in {}", row.project.id);
        }
        for machine in machines {
            let count = count(&|slot| slot.machine_id.as_ref() == Some(&machine.id));
            assert!(machine.caps.runs.is_none_or(|most| count <= u64::from(most)), "{count} on {machine:?}");
        }
    }

    /// A race that is over has its winner's worktree, or waits for a machine that can have it.
    async fn check_races(&self, conn: &mut ReadConnection, taken: &Taken) {
        for (raced, entries) in &self.raced {
            let task = conn.tasks().get(raced).await.unwrap().unwrap();
            let is_open = conn.steps().any_open(raced).await.unwrap();
            if !entries.iter().all(|entry| self.done.contains(entry)) {
                assert!(is_open, "{raced} goes on before its entries are over");
            } else if is_open {
                assert!(task.waiting.is_some(), "{raced} waits and does not say for what: {task:#?}");
                let free = self.free_machine(conn, &task, taken).await;
                assert_eq!(free, None, "{raced} may have its worktree there: {task:#?}");
            }
        }
    }

    /// Every run has its place, where its worktree is; no task has two.
    async fn check_runs(&mut self, conn: &mut ReadConnection, taken: &Taken) {
        let mut running = BTreeSet::new();
        for run in self.open_runs().await {
            assert!(running.insert(run.task_id.clone()), "{} runs twice", run.task_id);
            assert!(!self.done.contains(&run.task_id), "{} is started again", run.task_id);
            let (task, slot) =
                taken.iter().find(|(task, _)| task.id == run.task_id).expect("a run without a place");
            let workspace = conn.workspaces().last(&run.task_id).await.unwrap().unwrap();
            assert_eq!((&slot.machine_id, &slot.machine_id), (&run.machine_id, &workspace.machine_id));
            assert_eq!(slot.agent_id, run.agent_id);
            let labels = task.machines.clone().unwrap_or_default();
            assert_eq!(run.machine_id.is_some(), !labels.is_empty());
            let begins = self.checked.insert(run.id.clone());
            if let Some(machine) = run.machine_id.clone().filter(|_| begins) {
                let is_spent = self.spent.contains(&(machine, day_of(run.started_at).0));
                assert!(!is_spent, "{run:?} began on a machine whose quota was used up before");
            }
            self.seen.insert(run.id, (run.machine_id, run.started_at));
        }
        for (task, _) in taken {
            assert!(running.contains(&task.id), "{} has a place and does nothing: {task:#?}", task.id);
        }
    }

    /// No limit is passed: at once, and on this day.
    async fn check_limits(&self, conn: &mut ReadConnection, taken: &Taken) {
        for agent in conn.agents().list().await.unwrap() {
            let count = taken.iter().filter(|(_, slot)| slot.agent_id == agent.id).count();
            assert!(count <= agent.max_concurrent as usize, "{count} of {agent:?}");
        }
        for project in conn.projects().list().await.unwrap() {
            let count = taken.iter().filter(|(task, _)| task.project_id == project.project.id).count();
            let most = project.settings["max_concurrent"].as_u64().unwrap();
            assert!(count as u64 <= most, "{count} of {most} in {}", project.project.id);
        }
        for machine in conn.machines().list().await.unwrap() {
            let count = on(taken, &machine.id);
            assert!(machine.caps.runs.is_none_or(|most| count <= most as usize), "{count} on {machine:?}");
            let count = self.today_on(&machine.id);
            let most = machine.quota.runs_per_day;
            assert!(most.is_none_or(|most| count <= most as usize), "{count} today on {machine:?}");
        }
    }

    /// The runs that began on a machine on this day.
    fn todays<'h>(&'h self, id: &'h MachineId) -> impl Iterator<Item = &'h ExecutionId> {
        let today = day_of(self.world.now()).0;
        let is_todays = move |(_, (machine, at)): &(&ExecutionId, &(Option<MachineId>, Timestamp))| {
            machine.as_ref() == Some(id) && *at >= today
        };
        self.seen.iter().filter(is_todays).map(|(run, _)| run)
    }

    fn today_on(&self, id: &MachineId) -> usize {
        self.todays(id).count()
    }

    /// Whether a machine has run on this day what it may.
    fn is_spent(&self, machine: &Machine) -> bool {
        let cost: u64 = self.todays(&machine.id).filter_map(|run| self.costs.get(run)).sum();
        machine.quota.runs_per_day.is_some_and(|most| self.today_on(&machine.id) >= most as usize)
            || machine.quota.micro_usd_per_day.is_some_and(|most| cost >= most)
    }

    /// A place that a task which waits may have, in words.
    async fn idle_place(&self, conn: &mut ReadConnection, task: &TaskRow, taken: &Taken) -> Option<String> {
        if self.done.contains(&task.id) || taken.iter().any(|(other, _)| other.id == task.id) {
            return None;
        }
        let fails = task.status == "todo" && locked(&self.world.part::<Failing>().0).contains(&task.id);
        if fails || self.passed.contains(&task.id) {
            return None;
        }
        let role = match task.status.as_str() {
            "todo" | "in_progress" | "race/running" => "coder",
            "review" => "reviewer",
            status => panic!("{} is in {status}: {task:#?}", task.id),
        };
        assert!(task.waiting.is_some(), "{} waits and does not say for what: {task:#?}", task.id);
        let raced = match &task.parent_id {
            Some(parent) => conn.tasks().get(parent).await.unwrap(),
            None => None,
        };
        let is_held = task.held || raced.is_some_and(|raced| raced.held);
        let mut is_open = false;
        for id in conn.dependencies().of(&task.id).await.unwrap() {
            is_open |= task.status == "todo" && !self.done.contains(&id);
        }
        let holder = conn.roles().holder(&task.id, role).await.unwrap().and_then(|holder| holder.id).unwrap();
        let agent = conn.agents().get(&holder).await.unwrap().unwrap();
        let limit = conn.limits().of(&agent.id).await.unwrap();
        let of_agent = taken.iter().filter(|(_, slot)| slot.agent_id == agent.id).count();
        let project = conn.projects().get(&task.project_id).await.unwrap().unwrap();
        let of_project = taken.iter().filter(|(other, _)| other.project_id == task.project_id).count() as u64;
        let settings = &project.settings;
        let today = day_of(self.world.now()).0;
        let cost = conn.executions().cost_since(&task.project_id, today, None).await.unwrap();
        let day = settings["cost_limits"]["day_micro_usd"].as_u64();
        let may_start = !is_held
            && !project.project.paused
            && day.is_none_or(|most| cost < most)
            && !is_open
            && !agent.paused
            && limit.is_none_or(|until| until <= self.world.now())
            && of_agent < agent.max_concurrent as usize
            && of_project < settings["max_concurrent"].as_u64().unwrap();
        if !may_start {
            return None;
        }
        let machine = self.free_machine(conn, task, taken).await?;
        Some(format!("a place of {} {machine}", agent.name))
    }

    /// Where a task can have its worktree now, whoever works in it.
    async fn free_machine(&self, conn: &mut ReadConnection, task: &TaskRow, taken: &Taken) -> Option<String> {
        let own = conn.workspaces().last(&task.id).await.unwrap();
        let labels = task.machines.clone().unwrap_or_default();
        if labels.is_empty() {
            return Some("here".to_owned());
        }
        for machine in conn.machines().list().await.unwrap() {
            let its = own.as_ref().and_then(|own| own.machine_id.as_ref());
            let is_meant = match its {
                Some(its) => *its == machine.id,
                None => machine.has_labels(&labels) && !machine.draining,
            };
            let is_free = machine.caps.runs.is_none_or(|most| on(taken, &machine.id) < most as usize);
            let is_cut = locked(&self.world.part::<CutOff>().0).contains(&machine.id);
            if is_meant && is_free && !is_cut && !self.is_spent(&machine) {
                return Some(format!("on {}", machine.name));
            }
        }
        None
    }
}

fn on(taken: &Taken, machine: &MachineId) -> usize {
    taken.iter().filter(|(_, slot)| slot.machine_id.as_ref() == Some(machine)).count()
}

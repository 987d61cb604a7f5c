//! What must hold of every history whenever it is quiet, counted from rows in the plainest way there is.

use forge_store::ReadConnection;
use forge_store::table::slots::Slot;

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
        for id in self.tasks.clone() {
            let task = conn.tasks().get(&id).await.unwrap().unwrap();
            if let Some(place) = self.idle_place(&mut conn, &task, &taken).await {
                panic!("{place} is idle, and {id} that may have it waits: {task:#?}");
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

    fn today_on(&self, id: &MachineId) -> usize {
        let today = day_of(self.world.now()).0;
        let is_todays =
            |(machine, at): &&(Option<MachineId>, Timestamp)| machine.as_ref() == Some(id) && *at >= today;
        self.seen.values().filter(is_todays).count()
    }

    /// A place that a task which waits may have, in words.
    async fn idle_place(&self, conn: &mut ReadConnection, task: &TaskRow, taken: &Taken) -> Option<String> {
        if self.done.contains(&task.id) || taken.iter().any(|(other, _)| other.id == task.id) {
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
        let may_start = !is_held
            && !is_open
            && !agent.paused
            && limit.is_none_or(|until| until <= self.world.now())
            && of_agent < agent.max_concurrent as usize
            && of_project < project.settings["max_concurrent"].as_u64().unwrap();
        if !may_start {
            return None;
        }
        let own = conn.workspaces().last(&task.id).await.unwrap();
        let labels = task.machines.clone().unwrap_or_default();
        if labels.is_empty() {
            return Some(format!("a place of {} here", agent.name));
        }
        for machine in conn.machines().list().await.unwrap() {
            let its = own.as_ref().and_then(|own| own.machine_id.as_ref());
            let is_meant = match its {
                Some(its) => *its == machine.id,
                None => machine.has_labels(&labels) && !machine.draining,
            };
            let is_free = machine.caps.runs.is_none_or(|most| on(taken, &machine.id) < most as usize);
            let most = machine.quota.runs_per_day;
            if is_meant && is_free && most.is_none_or(|most| self.today_on(&machine.id) < most as usize) {
                return Some(format!("a place of {} on {}", agent.name, machine.name));
            }
        }
        None
    }
}

fn on(taken: &Taken, machine: &MachineId) -> usize {
    taken.iter().filter(|(_, slot)| slot.machine_id.as_ref() == Some(machine)).count()
}

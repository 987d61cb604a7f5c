//! Reads what the decision depends on: machines, agents and projects with what is taken of them, and the tasks that wait.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use forge_model::agent::{Agent, Profile};
use forge_model::ids::{AgentId, MachineId, ProjectId, TaskId};
use forge_model::machine::{Machine, MachineKind, required};
use forge_model::workspace::WorkspaceStatus;
use forge_store::ReadConnection;
use forge_store::table::tasks::QueuedTask;

use super::{
    placement::{Candidate, Today},
    policy::{AgentPlaces, Fleet, ProjectPlaces, Rank, Waiter, Wants},
};
use crate::{
    World,
    core::{
        context::ProjectContext, day::day_of, lent_folders, location::contacts, prerequisites::is_done_state,
    },
    error::Result,
};

/// A task as it was read, with its project.
pub(crate) struct Asking {
    pub row: QueuedTask,
    /// The project, as the task sees it.
    pub context: Arc<ProjectContext>,
    /// Whether steps of it are under way.
    pub is_begun: bool,
    /// The role whose agent is to start.
    pub role: Option<String>,
    /// What is known of its dependencies; none are open where nothing is.
    pub needs: Vec<(TaskId, String)>,
}

/// All that a decision depends on.
pub(crate) struct Situation {
    pub fleet: Fleet,
    /// The tasks that an agent is to start on, each with what is decided on.
    pub asking: Vec<(Asking, Waiter)>,
    /// Those that no agent is to start on.
    pub others: Vec<Asking>,
}

impl Asking {
    /// A task whose steps are under way.
    pub(crate) fn begun(row: QueuedTask, context: &Arc<ProjectContext>) -> Result<Self> {
        let context = if row.is_entry { context.for_entries()? } else { Arc::clone(context) };
        let role = context.workflow.state(&row.status).and_then(|state| state.role.clone());
        Ok(Self { row, context, is_begun: true, role, needs: Vec::new() })
    }

    /// A task that waits where tasks are made.
    pub(crate) fn queued(row: QueuedTask, context: &Arc<ProjectContext>) -> Self {
        let role = context.work_role().map(str::to_owned);
        Self { row, context: Arc::clone(context), is_begun: false, role, needs: Vec::new() }
    }

    /// The agent that is to start.
    pub(crate) fn agent(&self) -> Option<&AgentId> {
        let role = self.role.as_deref()?;
        self.row.agents.iter().find(|(name, _)| name == role).map(|(_, agent)| agent)
    }

    /// The task that it depends on and that was cancelled.
    pub(crate) fn cancelled_need(&self) -> Option<&TaskId> {
        let cancelled = &self.context.workflow.cancellation_state;
        self.needs.iter().find(|(_, state)| state == cancelled).map(|(task, _)| task)
    }
}

/// Reads the situation of these tasks; places of the task `but` are counted as free.
pub(crate) async fn situation(
    world: &World,
    conn: &mut ReadConnection,
    asking: Vec<Asking>,
    but: Option<&TaskId>,
) -> Result<Situation> {
    let mut agents = HashMap::new();
    let wanted: HashSet<AgentId> = asking.iter().filter_map(|it| it.agent().cloned()).collect();
    for id in wanted {
        agents.extend(conn.agents().get(&id).await?.map(|agent| (id, agent)));
    }
    let mut contexts: HashMap<ProjectId, Arc<ProjectContext>> = HashMap::new();
    for it in &asking {
        contexts.entry(it.row.project_id.clone()).or_insert_with(|| Arc::clone(&it.context));
    }
    let fleet = fleet(world, conn, (&agents, &contexts), but).await?;
    let (mut waiting, mut others) = (Vec::new(), Vec::new());
    let machines_of: HashMap<&AgentId, Option<Vec<String>>> =
        agents.iter().map(|(id, agent)| (id, Profile::of(agent).machines)).collect();
    for it in asking {
        let Some((agent, of_agent)) = it.agent().and_then(|id| machines_of.get_key_value(id)) else {
            others.push(it);
            continue;
        };
        let wants = wants(world, conn, &it, of_agent.as_deref(), &fleet).await?;
        let waiter = waiter(&it, (*agent).clone(), wants);
        waiting.push((it, waiter));
    }
    Ok(Situation { fleet, asking: waiting, others })
}

impl Situation {
    /// The situation of a task that needs a place for its worktree and none of an agent.
    pub(crate) async fn of_nobody(
        world: &World,
        conn: &mut ReadConnection,
        it: Asking,
        of_agent: Option<&[String]>,
    ) -> Result<Self> {
        let contexts = HashMap::from([(it.row.project_id.clone(), Arc::clone(&it.context))]);
        let task = it.row.id.clone();
        let mut fleet = fleet(world, conn, (&HashMap::new(), &contexts), Some(&task)).await?;
        // Whoever works there is no agent: what agents wait for does not matter.
        let nobody = AgentId::from("");
        fleet.agents.insert(nobody.clone(), AgentPlaces { most: u32::MAX, ..AgentPlaces::default() });
        fleet.projects.values_mut().for_each(|project| {
            *project = ProjectPlaces { most: u32::MAX, ..ProjectPlaces::default() };
        });
        let wants = wants(world, conn, &it, of_agent, &fleet).await?;
        let waiter = Waiter { is_held: false, ..waiter(&it, nobody, wants) };
        Ok(Self { fleet, asking: vec![(it, waiter)], others: Vec::new() })
    }

    /// What is decided on, in the order of `asking`.
    pub(crate) fn waiters(&self) -> Vec<Waiter> {
        self.asking.iter().map(|(_, waiter)| waiter.clone()).collect()
    }
}

fn waiter(it: &Asking, agent: AgentId, wants: Wants) -> Waiter {
    let row = &it.row;
    let since = if it.is_begun { row.status_since } else { row.created_at };
    Waiter {
        task: row.id.clone(),
        project: row.project_id.clone(),
        agent,
        rank: Rank::of(it.is_begun, row.priority, since, (row.race_place, row.number)),
        since: row.status_since,
        is_held: row.held,
        is_open: it.needs.iter().any(|(_, state)| !is_done_state(&it.context, state)),
        wants,
        planned: None,
    }
}

/// Where a task is to run. One that has a worktree stays where that is.
async fn wants(
    world: &World,
    conn: &mut ReadConnection,
    it: &Asking,
    of_agent: Option<&[String]>,
    fleet: &Fleet,
) -> Result<Wants> {
    if let Some(workspace) = &it.row.workspace {
        if let Some(id) = &workspace.machine_id {
            let machine = fleet.machines.iter().map(|it| &it.machine).find(|machine| machine.id == *id);
            let contact = match machine {
                Some(machine) => contact_of_its_own(world, conn, machine, &it.row.id).await?,
                None => None,
            };
            return Ok(Wants::Its(id.clone(), contact));
        }
        if workspace.status != WorkspaceStatus::Creating {
            return Ok(Wants::Here);
        }
    }
    let labels = required::effective(it.row.machines.as_deref(), of_agent, &it.context.settings.machines);
    Ok(if labels.is_empty() { Wants::Here } else { Wants::Labels(labels.to_vec()) })
}

/// The machine with the contact with the container that has the task's worktree; none where the contact with the machine
/// counts. With what is lent to its container, the worktree would be gone. Any other time it is made again.
async fn contact_of_its_own(
    world: &World,
    conn: &mut ReadConnection,
    machine: &Machine,
    task: &TaskId,
) -> Result<Option<Box<Machine>>> {
    if machine.kind != MachineKind::Container {
        return Ok(None);
    }
    let workspace = conn.workspaces().last(task).await?;
    let is_there = workspace.is_some_and(|workspace| lent_folders::is_there(&workspace));
    Ok(is_there.then(|| Box::new(contacts::with_contact_of(world, machine.clone(), task))))
}

async fn fleet(
    world: &World,
    conn: &mut ReadConnection,
    (agents, contexts): (&HashMap<AgentId, Agent>, &HashMap<ProjectId, Arc<ProjectContext>>),
    but: Option<&TaskId>,
) -> Result<Fleet> {
    let mut fleet = Fleet::empty(day_of(world.now()).1);
    fleet.machines = machines(world, conn, but).await?;
    let limits: HashMap<_, _> = conn.limits().list().await?.into_iter().collect();
    for (id, agent) in agents {
        let places = AgentPlaces {
            name: agent.name.clone(),
            most: agent.max_concurrent,
            is_paused: agent.paused,
            limited_until: limits.get(id).copied().filter(|until| *until > world.now()),
            ..AgentPlaces::default()
        };
        fleet.agents.insert(id.clone(), places);
    }
    let turns = conn.turns().all().await?;
    for (id, context) in contexts {
        let mut obstacle = None;
        for look in &world.features().moments.obstacle {
            obstacle = look(world, conn, context).await?;
            if obstacle.is_some() {
                break;
            }
        }
        let places = ProjectPlaces {
            most: context.settings.max_concurrent,
            taken: 0,
            is_paused: context.project.paused,
            obstacle,
            turn: turns.get(id).copied().unwrap_or(0),
        };
        fleet.projects.insert(id.clone(), places);
    }
    count_taken(&mut fleet, conn, but).await?;
    Ok(fleet)
}

async fn count_taken(fleet: &mut Fleet, conn: &mut ReadConnection, but: Option<&TaskId>) -> Result<()> {
    let indices: HashMap<MachineId, usize> =
        fleet.machines.iter().enumerate().map(|(at, it)| (it.machine.id.clone(), at)).collect();
    for slot in conn.slots().counts(but).await? {
        if let Some(agent) = fleet.agents.get_mut(&slot.agent_id) {
            agent.taken += slot.count;
            if slot.machine_id.is_none() {
                *agent.here.entry(slot.project_id.clone()).or_default() += slot.count;
            }
        }
        if let Some(project) = fleet.projects.get_mut(&slot.project_id) {
            project.taken += slot.count;
        }
        if let Some(id) = slot.machine_id {
            if let Some(at) = indices.get(&id) {
                fleet.machines[*at].runs += slot.count;
            }
            *fleet.on_machines.entry((id, slot.project_id)).or_default() += slot.count;
        }
    }
    Ok(())
}

/// The machines with what is known of the contact with them and what counts for their quotas. Runs are still to be
/// counted.
async fn machines(world: &World, conn: &mut ReadConnection, but: Option<&TaskId>) -> Result<Vec<Candidate>> {
    let all = conn.machines().list().await?;
    let has_quota = |it: &Machine| it.quota.runs_per_day.is_some() || it.quota.micro_usd_per_day.is_some();
    let (mut begun, mut to_come) = (HashMap::new(), HashMap::new());
    if all.iter().any(has_quota) {
        begun = conn.executions().on_machines_since(day_of(world.now()).0).await?;
        to_come = conn.slots().before_their_run(but).await?;
    }
    let candidate = |machine: Machine| {
        let (runs, micro_usd) = begun.get(&machine.id).copied().unwrap_or_default();
        let runs = runs + to_come.get(&machine.id).copied().unwrap_or(0);
        let known = Candidate::from(contacts::with_contact(world, machine));
        Candidate { runs: 0, today: Today { runs, micro_usd }, ..known }
    };
    Ok(all.into_iter().map(candidate).collect())
}

//! Reads what the decision depends on: machines, agents and projects with what is taken of them, and the tasks that wait.
//!
//! All of it is read for the pass and the preview, on a connection that reads alone ([`situation`]). The transaction that
//! gives a place reads what concerns that place ([`situation_of_one`]): how many tasks wait does not matter there.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use forge_model::agent::{Agent, LimitWindow, Profile, fullest_window};
use forge_model::ids::{AgentId, MachineId, ProjectId, TaskId};
use forge_model::machine::{Machine, required};
use forge_model::task::Waiting;
use forge_model::workflow::Audience;
use forge_model::workspace::WorkspaceStatus;
use forge_store::ReadConnection;
use forge_store::table::{slots::SlotCount, tasks::QueuedTask};

use super::{
    placement::{Candidate, Today},
    policy::{AgentPlaces, Fleet, ProjectPlaces, Rank, Waiter, Wants},
};
use crate::{
    World,
    core::{
        context::ProjectContext, day::day_of, lent_folders, location::contacts, prerequisites::is_done_state,
        world::features::Obstacle,
    },
    error::Result,
};

/// A task as it was read, with its project.
#[derive(Clone)]
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
    /// Whether it is raced for: its start asks for no place, and its entries do.
    pub is_raced: bool,
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
        Ok(Self { row, context, is_begun: true, role, needs: Vec::new(), is_raced: false })
    }

    /// A task that waits where tasks are made.
    pub(crate) fn queued(world: &World, row: QueuedTask, context: &Arc<ProjectContext>) -> Self {
        let role = context.work_role().map(str::to_owned);
        let target = context.workflow.claim_target(&row.status);
        let is_raced = target
            .is_some_and(|to| world.features().moments.races.iter().any(|races| races(context, &row, to)));
        Self { row, context: Arc::clone(context), is_begun: false, role, needs: Vec::new(), is_raced }
    }

    /// A task of which no agent is to start.
    pub(crate) fn nobodys(row: QueuedTask, context: &Arc<ProjectContext>) -> Self {
        Self {
            row,
            context: Arc::clone(context),
            is_begun: true,
            role: None,
            needs: Vec::new(),
            is_raced: false,
        }
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

    /// Whether something is asked before the task may leave the state that it waits in.
    pub(crate) fn has_guards(&self) -> bool {
        let state = self.context.workflow.state(&self.row.status);
        state.is_some_and(|state| {
            state.hooks.before_exit.iter().any(|hook| hook.answers_to(Audience::AgentOnly))
        })
    }

    /// The task whose costs are its own: an entry's are those of the task that it is raced for.
    fn payer(&self) -> &TaskId {
        self.row.parent_id.as_ref().filter(|_| self.row.is_entry).unwrap_or(&self.row.id)
    }
}

/// Reads the situation of these tasks. A project that cannot be read is left out with its tasks, which the log tells.
pub(crate) async fn situation(
    world: &World,
    conn: &mut ReadConnection,
    mut asking: Vec<Asking>,
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
    let mut obstacles = HashMap::new();
    for (id, context) in &contexts {
        match obstacle_of(world, conn, context).await {
            Ok(found) => drop(obstacles.insert(id.clone(), found)),
            Err(error) => {
                tracing::error!(project = %id, %error, "failed to see what keeps a project from starting");
            }
        }
    }
    asking.retain(|it| obstacles.contains_key(&it.row.project_id));
    let mut fleet = Fleet::empty(day_of(world.now()).1);
    fleet.machines = machines(world, conn).await?;
    let limits: HashMap<_, _> = conn.limits().list().await?.into_iter().collect();
    let windows = conn.limits().windows().await?;
    fleet.agents = agents
        .iter()
        .map(|(id, agent)| {
            let windows = windows.get(id).map(Vec::as_slice).unwrap_or_default();
            (id.clone(), places_of_agent(world, agent, limits.get(id).copied(), windows))
        })
        .collect();
    let mut turns = conn.turns().all().await?;
    for (id, context) in contexts {
        let obstacle = obstacles.get(&id).cloned().flatten().map(|obstacle| obstacle.waiting);
        let turns = turns.remove(&id).unwrap_or_default();
        let places = ProjectPlaces { obstacle, turns, ..places_of_project(&context) };
        fleet.projects.insert(id, places);
    }
    count_taken(&mut fleet, conn.slots().counts().await?);
    let machines_of: HashMap<&AgentId, Option<Vec<String>>> =
        agents.iter().map(|(id, agent)| (id, Profile::of(agent).machines)).collect();
    let (mut waiting, mut others) = (Vec::new(), Vec::new());
    for it in asking {
        let Some((agent, of_agent)) = it.agent().and_then(|id| machines_of.get_key_value(id)) else {
            others.push(it);
            continue;
        };
        let wants = wants(world, conn, &it, of_agent.as_deref(), &fleet.machines).await?;
        let obstacle = obstacles.get(&it.row.project_id).and_then(Option::as_ref);
        let is_past_its_limit = obstacle.is_some_and(|obstacle| obstacle.spares.contains(it.payer()));
        let waiter = Waiter { is_past_its_limit, ..waiter(world, &it, (*agent).clone(), wants) };
        waiting.push((it, waiter));
    }
    Ok(Situation { fleet, asking: waiting, others })
}

/// Reads what concerns one task on one machine (none: on this computer), its own place left out. None when its agent is
/// gone. What a day has cost is no part of it: that is read with the situation of all.
pub(crate) async fn situation_of_one(
    world: &World,
    conn: &mut ReadConnection,
    it: Asking,
    machine: Option<&MachineId>,
) -> Result<Option<(Fleet, Waiter)>> {
    let Some(id) = it.agent().cloned() else { return Ok(None) };
    let Some(agent) = conn.agents().get(&id).await? else { return Ok(None) };
    let (task, project) = (it.row.id.clone(), it.row.project_id.clone());
    let mut fleet = Fleet::empty(day_of(world.now()).1);
    if let Some(machine) = machine {
        fleet.machines.extend(one_machine(world, conn, machine, &task).await?);
    }
    let limited_until = conn.limits().of(&id).await?;
    let windows = conn.limits().windows_of(&id).await?;
    fleet.agents.insert(id.clone(), places_of_agent(world, &agent, limited_until, &windows));
    fleet.projects.insert(project.clone(), places_of_project(&it.context));
    count_taken(&mut fleet, conn.slots().counts_beside(&task, &id, &project, machine).await?);
    let of_agent = Profile::of(&agent).machines;
    let wants = wants(world, conn, &it, of_agent.as_deref(), &fleet.machines).await?;
    let waiter = waiter(world, &it, id, wants);
    Ok(Some((fleet, waiter)))
}

/// Reads the situation of a task that needs a machine for its worktree, and no place of an agent.
pub(crate) async fn situation_of_nobody(
    world: &World,
    conn: &mut ReadConnection,
    it: Asking,
    of_agent: Option<&[String]>,
) -> Result<(Fleet, Waiter)> {
    let mut fleet = Fleet::empty(day_of(world.now()).1);
    fleet.machines = machines(world, conn).await?;
    count_taken(&mut fleet, conn.slots().counts().await?);
    // Whoever works there is no agent: what agents wait for does not matter.
    let nobody = AgentId::from("");
    fleet.agents.insert(nobody.clone(), AgentPlaces { most: u32::MAX, ..AgentPlaces::default() });
    let project = ProjectPlaces { most: u32::MAX, ..ProjectPlaces::default() };
    fleet.projects.insert(it.row.project_id.clone(), project);
    let wants = wants(world, conn, &it, of_agent, &fleet.machines).await?;
    let waiter = Waiter { is_held: false, is_for_person: false, ..waiter(world, &it, nobody, wants) };
    Ok((fleet, waiter))
}

impl Situation {
    /// What is decided on, in the order of `asking`.
    pub(crate) fn waiters(&self) -> Vec<Waiter> {
        self.asking.iter().map(|(_, waiter)| waiter.clone()).collect()
    }
}

/// What keeps the tasks of a project from starting.
async fn obstacle_of(
    world: &World,
    conn: &mut ReadConnection,
    context: &ProjectContext,
) -> Result<Option<Obstacle>> {
    for look in &world.features().moments.obstacle {
        if let Some(obstacle) = look(world, conn, context).await? {
            return Ok(Some(obstacle));
        }
    }
    Ok(None)
}

/// What keeps one task from starting as all others of its project.
pub(crate) async fn obstacle_to(
    world: &World,
    conn: &mut ReadConnection,
    it: &Asking,
) -> Result<Option<Waiting>> {
    let obstacle = obstacle_of(world, conn, &it.context).await?;
    Ok(obstacle.filter(|obstacle| !obstacle.spares.contains(it.payer())).map(|obstacle| obstacle.waiting))
}

fn places_of_agent(
    world: &World,
    agent: &Agent,
    limited_until: Option<forge_model::time::Timestamp>,
    windows: &[LimitWindow],
) -> AgentPlaces {
    let full = fullest_window(windows, world.now()).filter(|window| window.used_percent >= NEARLY_USED);
    AgentPlaces {
        name: agent.name.clone(),
        most: agent.max_concurrent,
        is_paused: agent.paused,
        limited_until: limited_until.filter(|until| *until > world.now()),
        limit: full.map(|window| format!("its {} window is {} % used", window.label(), window.used_percent)),
        ..AgentPlaces::default()
    }
}

fn places_of_project(context: &ProjectContext) -> ProjectPlaces {
    ProjectPlaces {
        most: context.settings.max_concurrent,
        is_paused: context.project.paused,
        ..ProjectPlaces::default()
    }
}

/// From how many percent on a window is told as the reason for a refusal.
const NEARLY_USED: u32 = 90;

/// A task as it is decided on. It has waited since it entered its state, begun or not.
fn waiter(world: &World, it: &Asking, agent: AgentId, wants: Wants) -> Waiter {
    let row = &it.row;
    let since = row.status_since;
    Waiter {
        task: row.id.clone(),
        project: row.project_id.clone(),
        agent,
        rank: Rank::of(it.is_begun, row.priority, (since, world.now()), (row.race_place, row.number)),
        since,
        is_held: row.held,
        is_for_person: row.is_from_public && !it.is_begun,
        is_open: it.needs.iter().any(|(_, state)| !is_done_state(&it.context, state)),
        is_past_its_limit: false,
        wants,
    }
}

/// Where a task is to run. One that has a worktree stays where that is.
async fn wants(
    world: &World,
    conn: &mut ReadConnection,
    it: &Asking,
    of_agent: Option<&[String]>,
    machines: &[Candidate],
) -> Result<Wants> {
    if it.is_raced {
        return Ok(Wants::Race);
    }
    if let Some(workspace) = &it.row.workspace {
        if let Some(id) = &workspace.machine_id {
            let machine = machines.iter().map(|it| &it.machine).find(|machine| machine.id == *id);
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

/// The machine with the contact with the container or job that has the task's worktree; none where the contact with the machine
/// counts. With what is lent to that, the worktree would be gone. Any other time it is made again.
async fn contact_of_its_own(
    world: &World,
    conn: &mut ReadConnection,
    machine: &Machine,
    task: &TaskId,
) -> Result<Option<Box<Machine>>> {
    if !machine.kind.is_of_tasks() {
        return Ok(None);
    }
    let workspace = conn.workspaces().last(task).await?;
    let is_there = workspace.is_some_and(|workspace| lent_folders::is_there(&workspace));
    Ok(is_there.then(|| Box::new(contacts::with_contact_of(world, machine.clone(), task))))
}

fn count_taken(fleet: &mut Fleet, counts: Vec<SlotCount>) {
    let indices: HashMap<MachineId, usize> =
        fleet.machines.iter().enumerate().map(|(at, it)| (it.machine.id.clone(), at)).collect();
    for slot in counts {
        if let Some(agent) = fleet.agents.get_mut(&slot.agent_id) {
            agent.taken += slot.count;
            *agent.of_projects.entry(slot.project_id.clone()).or_default() += slot.count;
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
}

/// The machines with what is known of the contact with them and what counts for their quotas. Runs are still to be
/// counted.
async fn machines(world: &World, conn: &mut ReadConnection) -> Result<Vec<Candidate>> {
    let all = conn.machines().list().await?;
    let (mut begun, mut to_come) = (HashMap::new(), HashMap::new());
    if all.iter().any(has_quota) {
        begun = conn.machine_usage().on_day(day_of(world.now()), None).await?;
        to_come = conn.slots().before_their_run(None, None).await?;
    }
    let candidate = |machine: Machine| {
        let (begun, to_come) = (begun.get(&machine.id).copied(), to_come.get(&machine.id).copied());
        candidate(world, machine, begun, to_come)
    };
    Ok(all.into_iter().map(candidate).collect())
}

/// One machine, as it is to a task.
async fn one_machine(
    world: &World,
    conn: &mut ReadConnection,
    id: &MachineId,
    task: &TaskId,
) -> Result<Option<Candidate>> {
    let Some(machine) = conn.machines().get(id).await? else { return Ok(None) };
    let (mut begun, mut to_come) = (None, None);
    if has_quota(&machine) {
        begun = conn.machine_usage().on_day(day_of(world.now()), Some(id)).await?.remove(id);
        to_come = conn.slots().before_their_run(Some(task), Some(id)).await?.remove(id);
    }
    Ok(Some(candidate(world, machine, begun, to_come)))
}

const fn has_quota(machine: &Machine) -> bool {
    machine.quota.runs_per_day.is_some() || machine.quota.micro_usd_per_day.is_some()
}

fn candidate(world: &World, machine: Machine, begun: Option<(u32, u64)>, to_come: Option<u32>) -> Candidate {
    let (runs, micro_usd) = begun.unwrap_or_default();
    let today = Today { runs: runs + to_come.unwrap_or(0), micro_usd };
    Candidate { runs: 0, today, ..Candidate::from(contacts::with_contact(world, machine)) }
}

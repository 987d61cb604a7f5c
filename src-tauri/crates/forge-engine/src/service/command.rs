//! What people and agents ask for: listing services, starting one, stopping them.

use forge_model::actor::Actor;
use forge_model::ids::TaskId;
use forge_model::service::{Service, ServiceDefinition, ServiceState, TaskService, log_of, url_of};
use forge_model::words::counted;
use forge_model::workspace::Workspace;
use forge_store::Tx;
use forge_store::table::services::ServiceRow;
use forge_store::table::tasks::TaskRow;

use super::{
    ends,
    follow::begin,
    limit,
    policy::{Candidate, Room, port, room, stopped},
    prepared::{Place, place_of, require_here},
    readiness::note_connections,
    running::{Found, services},
    unfollowed::take_up,
};
use crate::{
    ConflictCode, EngineError, World,
    core::{self, going::GoingWorktrees},
    error::Result,
    trust,
};

/// Running services of all tasks.
pub(crate) async fn active(world: &World) -> Result<Vec<Service>> {
    let rows = world.store().read().await?.services().active().await?;
    Ok(rows.into_iter().map(|row| row.service).collect())
}

/// What the project of a task names, and what was started of it.
pub(crate) async fn of_task(world: &World, id: &TaskId) -> Result<Vec<TaskService>> {
    let mut conn = world.store().read().await?;
    let (_, context) = core::load::load(world, &mut conn, id, None).await?;
    let mut latest = conn.services().latest(id).await?;
    let named = context.settings.services.iter().map(|one| {
        let at = latest.iter().position(|row| row.service.name == one.name);
        TaskService {
            name: one.name.clone(),
            command: Some(one.command.clone()),
            start: Some(one.start),
            last: at.map(|at| latest.remove(at).service),
        }
    });
    let mut all: Vec<TaskService> = named.collect();
    all.extend(latest.into_iter().map(|row| TaskService {
        name: row.service.name.clone(),
        command: None,
        start: None,
        last: Some(row.service),
    }));
    Ok(all)
}

/// Starts a service of a task; the first that the project names when none is. One that runs is answered as it is.
pub(crate) async fn start(world: &World, actor: &Actor, id: &TaskId, name: Option<&str>) -> Result<Service> {
    let Place { task, context, workspace } = place_of(world, id).await?;
    let named = &context.settings.services;
    let (place, definition) = find(named, name)?;
    trust::require_trust_of(world, &context, &task, Some(&workspace)).await?;
    take_up(world, &task.id, &definition.name).await?;
    let mut tx = world.store().write().await?;
    let recorded = record(world, &mut tx, actor, &task, &workspace, (place, definition)).await?;
    let Recorded { row, instead } = match recorded {
        Ok(recorded) => recorded,
        Err(running) => return Ok(running),
    };
    tx.commit().await?;
    world.point("service.recorded");
    let service = row.service.clone();
    begin(world, row, Found::New);
    if let Some(instead) = instead {
        ends::end_process(world, &instead).await?;
    }
    Ok(service)
}

/// A start that is written.
pub(super) struct Recorded {
    pub row: ServiceRow,
    /// The service in whose place it starts, whose end is written.
    pub instead: Option<Service>,
}

/// Writes a start in a transaction. The inner error is the same service, which runs already.
pub(super) async fn record(
    world: &World,
    tx: &mut Tx,
    actor: &Actor,
    task: &TaskRow,
    workspace: &Workspace,
    (place, definition): (usize, &ServiceDefinition),
) -> Result<Result<Recorded, Service>> {
    if world.part::<GoingWorktrees>().contains(&workspace.id) {
        let message = "the task's worktree is about to be removed";
        return Err(EngineError::conflict(ConflictCode::WorkspaceMissing, message));
    }
    let running = tx.services().active().await?;
    let own = |row: &&ServiceRow| row.service.task_id == task.id;
    if let Some(same) = running.iter().filter(own).find(|row| row.service.name == definition.name) {
        return Ok(Err(same.service.clone()));
    }
    require_here(tx, workspace).await?;
    let taken: Vec<u32> = running.iter().filter(own).map(|row| row.service.port).collect();
    let Some(port) = port(workspace.port_base, place, &taken) else {
        let message = "all ports of the task are in use by its services";
        return Err(EngineError::conflict(ConflictCode::ServicesFull, message));
    };
    let most = limit::services_max(tx).await?;
    if running.len() >= usize::try_from(most).unwrap_or(usize::MAX) {
        note_who_is_connected(world, &running).await;
    }
    let candidates: Vec<Candidate> = running.iter().map(|row| candidate(world, &row.service)).collect();
    let only_of = match actor {
        Actor::Agent { .. } => Some(&task.id),
        Actor::User { .. } | Actor::System { .. } => None,
    };
    let instead = match room(&candidates, most, only_of, world.now()) {
        Room::Free => None,
        Room::InPlaceOf(id) => running.iter().map(|row| &row.service).find(|one| one.id == id).cloned(),
        Room::None(names) => {
            let message = format!(
                "no more than {} may run at once, and all are in use: {}. Stop one, or raise `services_max`",
                counted(u64::from(most), "service", "services"),
                names.join(", ")
            );
            return Err(EngineError::conflict(ConflictCode::ServicesFull, message));
        }
    };
    if let Some(instead) = &instead {
        let reason = format!("Stopped to make room for {} of #{}", definition.name, task.number);
        ends::end(world, tx, instead, &stopped(reason)).await?;
    }
    let row = new_row(world, actor, task, definition, port);
    tx.services_mut().insert(&row).await?;
    ends::emit(world, tx, &row.service, None).await?;
    Ok(Ok(Recorded { row, instead }))
}

/// A start as it is written.
pub(super) fn new_row(
    world: &World,
    actor: &Actor,
    task: &TaskRow,
    definition: &ServiceDefinition,
    port: u32,
) -> ServiceRow {
    let id = world.new_id();
    let service = Service {
        task_id: task.id.clone(),
        project_id: task.project_id.clone(),
        task_number: task.number,
        task_title: task.title.clone(),
        name: definition.name.clone(),
        command: definition.command.clone(),
        state: ServiceState::Starting,
        reason: None,
        port,
        url: url_of(port, definition.open.as_deref()),
        log_id: log_of(&id),
        started_by: actor.to_string(),
        started_at: world.now(),
        ready_at: None,
        ended_at: None,
        exit_code: None,
        stop_after_minutes: definition.idle_minutes(),
        id,
    };
    ServiceRow { service, definition: definition.clone(), spawned: false }
}

/// What the choice of one that makes room knows of a service.
fn candidate(world: &World, service: &Service) -> Candidate {
    Candidate {
        id: service.id.clone(),
        task: service.task_id.clone(),
        name: format!("{} of #{}", service.name, service.task_number),
        state: service.state,
        // One that nobody follows in this process may be in use.
        unused_since: services(world).get(&service.id).map(|running| running.used()),
    }
}

/// Notes which services somebody uses now.
async fn note_who_is_connected(world: &World, rows: &[ServiceRow]) {
    for row in rows {
        if let Some(running) = services(world).get(&row.service.id) {
            note_connections(world, &running).await;
        }
    }
}

/// The service of a name, or the first one, with its place in the list.
fn find<'d>(named: &'d [ServiceDefinition], name: Option<&str>) -> Result<(usize, &'d ServiceDefinition)> {
    if named.is_empty() {
        let message = "the project has no services: add one to `services` in its settings";
        return Err(EngineError::invalid("name", message));
    }
    let mut all = named.iter().enumerate();
    let found = match name {
        None => all.next(),
        Some(name) => all.find(|(_, one)| one.name == name),
    };
    found.ok_or_else(|| {
        let names: Vec<&str> = named.iter().map(|one| one.name.as_str()).collect();
        EngineError::invalid("name", format!("the project names no such service: {}", names.join(", ")))
    })
}

/// Stops a service of a task, or all that run. Each is gone when this returns.
pub(crate) async fn stop(
    world: &World,
    actor: &Actor,
    id: &TaskId,
    name: Option<&str>,
) -> Result<Vec<TaskService>> {
    let mut tx = world.store().write().await?;
    core::load::load(world, &mut tx, id, None).await?;
    let running = tx.services().active().await?;
    let meant =
        |row: &&ServiceRow| row.service.task_id == *id && name.is_none_or(|name| row.service.name == name);
    let meant: Vec<Service> = running.iter().filter(meant).map(|row| row.service.clone()).collect();
    if meant.is_empty() {
        let message = match name {
            Some(name) => format!("the service `{name}` does not run for this task"),
            None => "no service runs for this task".to_owned(),
        };
        return Err(EngineError::conflict(ConflictCode::NothingRunning, message));
    }
    let who = match actor {
        Actor::User { .. } => "a person",
        Actor::Agent { .. } => "the task's agent",
        Actor::System { .. } => "Forge",
    };
    for service in &meant {
        ends::end(world, &mut tx, service, &stopped(format!("Stopped by {who}"))).await?;
    }
    tx.commit().await?;
    world.point("service.stopped");
    ends::end_processes(world, &meant).await?;
    of_task(world, id).await
}

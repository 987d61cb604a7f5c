//! What a service is started with: its definition, its folder, its environment, and the sandbox of the project.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use forge_exec::{Command, Marker};
use forge_git::REPOSITORY_VARIABLES;
use forge_model::ids::TaskId;
use forge_model::service::ServiceDefinition;
use forge_model::workspace::{Workspace, WorkspaceStatus};
use forge_store::ReadConnection;
use forge_store::table::{services::ServiceRow, tasks::TaskRow};

use super::running::{Found, Running};
use crate::{
    ConflictCode, EngineError, World,
    core::{
        self,
        confinement::{Confinement, Subject},
        context::{ProjectContext, task_folder},
        environment::ProgramEnvironment,
        location::Location,
    },
    error::Result,
    program, trust,
};

/// From the gentle signal to the kill of a service.
const GRACE: std::time::Duration = std::time::Duration::from_secs(5);

/// A service that can be started, or gone on with.
pub(super) struct Prepared {
    pub command: Command,
    pub environment: ProgramEnvironment,
    pub confinement: Confinement,
    pub log_dir: PathBuf,
}

/// The task of a service, its project and its worktree.
pub(super) struct Place {
    pub task: TaskRow,
    pub context: Arc<ProjectContext>,
    pub workspace: Workspace,
}

/// Where a task's services run.
///
/// # Errors
/// When the task has no worktree, or has it elsewhere.
pub(super) async fn place_of(world: &World, task: &TaskId) -> Result<Place> {
    let mut conn = world.store().read().await?;
    let (task, context) = core::load::load(world, &mut conn, task, None).await?;
    let workspace = conn.workspaces().last(&task.id).await?;
    if let Some(workspace) = &workspace {
        require_here(&mut conn, workspace).await?;
    }
    drop(conn);
    let is_there = |it: &Workspace| it.status == WorkspaceStatus::Active && Path::new(&it.path).is_dir();
    let workspace = workspace.filter(is_there).ok_or_else(|| {
        let message = "the task has no worktree to run a service in: start its work first";
        EngineError::conflict(ConflictCode::WorkspaceMissing, message)
    })?;
    Ok(Place { task, context, workspace })
}

/// Refuses a worktree that is on another machine, or in a container.
pub(super) async fn require_here(conn: &mut ReadConnection, workspace: &Workspace) -> Result<()> {
    let Some(id) = &workspace.machine_id else { return Ok(()) };
    let name = conn.machines().get(id).await?.map_or_else(|| id.to_string(), |machine| machine.name);
    let message = format!(
        "its worktree is on the machine `{name}`: services run only for tasks whose worktree is on this computer"
    );
    Err(EngineError::conflict(ConflictCode::ServiceElsewhere, message))
}

/// Makes ready what a service is started with.
///
/// # Errors
/// What keeps it from being started.
pub(super) async fn prepare(
    world: &World,
    row: &ServiceRow,
    place: &Place,
    running: &Running,
    found: Found,
) -> Result<Option<Prepared>> {
    let Place { task, context, workspace } = place;
    if found != Found::Kept {
        trust::require_trust_of(world, context, task, Some(workspace)).await?;
    }
    let definition = with_values(&row.definition, &context.settings.services);
    let variables = definition.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
    core::redaction::learn_variables(world, &variables);
    let environment = core::environment::command_environment(world, context, None).await?;
    // It writes in the worktree, and is lent no git directory: an agent beside it would wait for that to come back.
    let subject = Subject {
        workspace: None,
        agent: None,
        folders: vec![PathBuf::from(&workspace.path)],
        given: vec![task_folder(workspace)],
        location: &Location::Here,
        cancel: &running.stop,
    };
    let confined = core::confinement::confine(world, context, &environment, subject).await?;
    let Some(confinement) = confined else { return Ok(None) };
    let folder = folder_of(workspace, &definition)?;
    let variables = program::given::task_env(world, context, task, Some(workspace));
    let marker = Marker(row.service.log_id.clone());
    let command = Command::shell(environment.shell(), &definition.command, &folder, marker)
        .base(environment.base())
        .envs(definition.env.clone())
        .envs(variables)
        .env("PORT", row.service.port.to_string())
        .grace(GRACE);
    let command = REPOSITORY_VARIABLES.iter().fold(command, |command, name| command.env_remove(name));
    let log_dir = world.log_dir(&task.project_id, &task.id);
    Ok(Some(Prepared { command: confinement.of(command), environment, confinement, log_dir }))
}

/// The definition with the values of its variables, which are in the settings alone.
fn with_values(stored: &ServiceDefinition, named: &[ServiceDefinition]) -> ServiceDefinition {
    let mut definition = stored.clone();
    let now = named.iter().find(|one| one.name == stored.name);
    definition.env = now.map(|one| one.env.clone()).unwrap_or_default();
    definition
}

/// The folder in which a service runs; links do not lead out of the worktree.
fn folder_of(workspace: &Workspace, definition: &ServiceDefinition) -> Result<PathBuf> {
    let tree = PathBuf::from(&workspace.path);
    let Some(cwd) = &definition.cwd else { return Ok(tree) };
    let folder = tree.join(cwd);
    let is_inside = match (folder.canonicalize(), tree.canonicalize()) {
        (Ok(folder), Ok(tree)) => folder.is_dir() && folder.starts_with(tree),
        _ => false,
    };
    if is_inside {
        return Ok(folder);
    }
    let message = format!("`{cwd}` is not a folder in the task's worktree");
    Err(EngineError::invalid("cwd", message))
}

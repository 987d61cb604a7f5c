//! What a terminal is started with: its shell, its folder, its environment, and the sandbox of the project.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Arc,
};

use forge_exec::{Command, Marker, Stdin, Terminal};
use forge_git::REPOSITORY_VARIABLES;
use forge_model::ids::TaskId;
use forge_model::terminal::process_of;
use forge_model::workspace::{Workspace, WorkspaceStatus};
use forge_store::ReadConnection;
use forge_store::table::{tasks::TaskRow, terminals::TerminalRow};
use nix::unistd::{AccessFlags, access};

use super::{
    opened::{Found, Opened},
    policy,
};
use crate::{
    ConflictCode, EngineError, World,
    core::{
        self,
        confinement::Subject,
        context::{ProjectContext, task_folder},
        location::Location,
    },
    error::Result,
    program,
};

/// From the word that the terminal is gone to the kill of its shell.
const GRACE: std::time::Duration = std::time::Duration::from_secs(2);

/// What programs are told that the window's terminal understands.
const KIND: [(&str, &str); 2] = [("TERM", "xterm-256color"), ("COLORTERM", "truecolor")];

/// The task of a terminal, its project and its worktree.
pub(super) struct Place {
    pub task: TaskRow,
    pub context: Arc<ProjectContext>,
    pub workspace: Workspace,
}

/// Where a task's terminals run.
///
/// # Errors
/// When the task has no worktree, has it elsewhere, or is an entry of a race, whose worktree goes with the race.
pub(super) async fn place_of(world: &World, task: &TaskId) -> Result<Place> {
    let mut conn = world.store().read().await?;
    let (task, context) = core::load::load_own(world, &mut conn, task, None).await?;
    let workspace = conn.workspaces().last(&task.id).await?;
    if let Some(workspace) = &workspace {
        require_here(&mut conn, workspace).await?;
    }
    drop(conn);
    let is_there = |it: &Workspace| it.status == WorkspaceStatus::Active && Path::new(&it.path).is_dir();
    let workspace = workspace.filter(is_there).ok_or_else(|| {
        let message = "the task has no worktree to open a terminal in: start its work first";
        EngineError::conflict(ConflictCode::WorkspaceMissing, message)
    })?;
    Ok(Place { task, context, workspace })
}

/// Refuses a worktree that is on another machine, or in a container.
pub(super) async fn require_here(conn: &mut ReadConnection, workspace: &Workspace) -> Result<()> {
    let Some(id) = &workspace.machine_id else { return Ok(()) };
    let name = conn.machines().get(id).await?.map_or_else(|| id.to_string(), |machine| machine.name);
    let message = format!(
        "its worktree is on the machine `{name}`: terminals open only for tasks whose worktree is on this computer"
    );
    Err(EngineError::conflict(ConflictCode::TerminalElsewhere, message))
}

/// The command of a terminal; none when it was closed meanwhile.
///
/// # Errors
/// What keeps it from being started.
pub(super) async fn prepare(
    world: &World,
    row: &TerminalRow,
    opened: &Opened,
    found: Found,
) -> Result<Option<Command>> {
    let marker = Marker(process_of(&row.terminal.id));
    let terminal = Terminal::new(opened.size());
    if found == Found::Kept {
        // It is not started again.
        let Some(typed) = opened.typed() else { return Ok(None) };
        let command = Command::new("sh", "/", marker).base(Arc::default());
        return Ok(Some(command.stdin(Stdin::Stream(typed)).in_terminal(terminal).grace(GRACE)));
    }
    let Place { task, context, workspace } = place_of(world, &row.terminal.task_id).await?;
    let environment = core::environment::command_environment(world, &context, None).await?;
    // As a service: it writes in the worktree, and is lent no git directory, for which an agent would have to wait.
    let subject = Subject {
        workspace: None,
        agent: None,
        folders: vec![PathBuf::from(&workspace.path)],
        given: vec![task_folder(&workspace)],
        location: &Location::Here,
        cancel: &opened.stop,
    };
    let confined = core::confinement::confine(world, &context, &environment, subject).await?;
    let Some(confinement) = confined else { return Ok(None) };
    let users = core::environment::user_variables(world).await.get(OsStr::new("SHELL")).cloned();
    let shell = policy::shell(users.as_deref(), |shell| {
        let shell = Path::new(shell);
        shell.is_absolute() && shell.is_file() && access(shell, AccessFlags::X_OK).is_ok()
    });
    // Last: what failed before is tried again.
    let Some(typed) = opened.typed() else { return Ok(None) };
    let command = Command::new(shell.clone(), &workspace.path, marker)
        .base(environment.base())
        .envs(program::given::task_env(world, &context, &task, Some(&workspace)))
        .envs(KIND)
        .env("SHELL", shell)
        .env_remove("COLUMNS")
        .env_remove("LINES")
        .stdin(Stdin::Stream(typed))
        .in_terminal(terminal)
        .grace(GRACE);
    let command = REPOSITORY_VARIABLES.iter().fold(command, |command, name| command.env_remove(name));
    Ok(Some(confinement.of(command)))
}

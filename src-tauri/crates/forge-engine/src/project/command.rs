//! Projects: adding a repository, changing its rules, removing it with its worktrees (never the repository).

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use forge_git::{GitError, Repo};
use forge_model::ids::{ProjectId, TaskId};
use forge_model::path::branch_fault;
use forge_model::project::{Project, WorkMode};
use forge_model::settings::{ProjectSettings, WorkflowSource, merge_patch, parse_settings, tidy_settings};
use forge_model::workflow::{Finding, Workflow, default_workflow_json, parse_value};
use forge_model::workspace::WorkspaceStatus;
use forge_store::Tx;
use forge_store::table::projects::ProjectRow;
use serde_json::{Value, json};

use crate::{
    ConflictCode, EngineError, World,
    core::{
        self,
        context::{ProjectContext, task_folder},
        contexts::project_changed,
        sync::locked,
    },
    error::Result,
    project::repository::RepositoryWatches,
    run::{self, attachments::remove_folder},
    workspace::{self, orphans::clear_own_files, removal::Goes},
};

/// A project to be added.
#[derive(Debug, Clone)]
pub struct NewProject {
    /// Its name; the folder's when absent.
    pub name: Option<String>,
    /// The repository, or a folder in it.
    pub repo_path: String,
    /// Where work is merged; found out when absent.
    pub default_branch: Option<String>,
    /// How finished work reaches the target.
    pub work_mode: Option<WorkMode>,
    /// Its workflow; the default one when absent.
    pub workflow: Option<Value>,
    /// What differs from the default settings.
    pub settings: Option<Value>,
}

/// Names longer than this make no good card, menu or folder.
const MAX_NAME: usize = 100;

/// What is to change of a project.
#[derive(Debug, Clone, Default)]
pub struct ProjectChange {
    /// Its name.
    pub name: Option<String>,
    /// Where work is merged.
    pub default_branch: Option<String>,
    /// How it is merged.
    pub work_mode: Option<WorkMode>,
    /// Whether nothing new starts in it.
    pub paused: Option<bool>,
}

/// Adds a repository as a project.
pub(crate) async fn create_project(world: &World, new: NewProject) -> Result<Project> {
    let path = expand_home(world, &new.repo_path);
    let repo = Repo::open(world.git(), &path).await.map_err(|error| not_a_repository(&path, error))?;
    let root = repo.root().to_owned();
    let Some(repo_path) = root.to_str().map(str::to_owned) else {
        return Err(EngineError::invalid(
            "repo_path",
            format!("the path {} is not UTF-8: rename the folder", root.display()),
        ));
    };
    let branch = match new.default_branch {
        Some(branch) => checked_branch(&branch)?,
        None => repo
            .default_branch()
            .await
            .map_err(|error| EngineError::invalid("default_branch", error.to_string()))?,
    };
    if repo.resolve(&format!("refs/heads/{branch}")).await?.is_none() {
        return Err(EngineError::invalid("default_branch", format!("no branch `{branch}`")));
    }
    let name = new.name.unwrap_or_else(|| {
        root.file_name().map_or_else(|| "project".into(), |n| n.to_string_lossy().into_owned())
    });
    let workflow = match new.workflow {
        Some(value) => parse_value(value).map_err(|findings| prefixed("workflow", findings))?.workflow,
        None => serde_json::from_str(default_workflow_json())
            .map_err(|error| EngineError::invalid("workflow", error.to_string()))?,
    };
    let mut settings = new.settings.unwrap_or_else(|| json!({}));
    tidy_settings(&mut settings);
    let parsed = parse_settings(&settings).map_err(|findings| prefixed("settings", findings))?;
    let now = world.now();
    let mut row = ProjectRow {
        project: Project {
            id: world.new_id(),
            name: checked_name(&name)?,
            repo_path,
            default_branch: branch,
            work_mode: new.work_mode.unwrap_or(WorkMode::DirectCommit),
            paused: false,
            version: 1,
            created_at: now,
            updated_at: now,
        },
        settings,
        workflow: serde_json::to_string(&workflow)
            .map_err(|error| EngineError::invalid("workflow", error.to_string()))?,
        workflow_origin: None,
        repository_config: None,
    };
    super::repository::read_repository_config(&repo, &mut row).await?;
    let mut tx = world.store().write().await?;
    require_free_name(&mut tx, &row.project.name, None).await?;
    if parsed.workflow_source == WorkflowSource::Repository {
        super::workflows::adopt_repository_workflow(world, &mut tx, &mut row).await?;
    }
    tx.projects_mut().insert(&row).await?;
    project_changed(world, &mut tx, &row.project, "created").await?;
    tx.commit().await?;
    super::repository::watch_repository(world, &row.project.id);
    Ok(row.project)
}

/// All projects, by name.
pub(crate) async fn projects(world: &World) -> Result<Vec<Project>> {
    let mut conn = world.store().read().await?;
    Ok(conn.projects().list().await?.into_iter().map(|row| row.project).collect())
}

/// Whether a project's repository is where the project says.
pub(crate) async fn has_repository(world: &World, id: &ProjectId) -> Result<bool> {
    let context = core::contexts::context(world, &mut *world.store().read().await?, id).await?;
    Ok(core::repository::present_repo(world, &context).await?.is_some())
}

/// One project, by id or name.
pub(crate) async fn project(world: &World, id_or_name: &str) -> Result<Project> {
    let mut conn = world.store().read().await?;
    if let Some(row) = conn.projects().get(&ProjectId::from(id_or_name)).await? {
        return Ok(row.project);
    }
    let named = conn.projects().by_name(id_or_name).await?;
    named.map(|row| row.project).ok_or_else(|| EngineError::not_found("project", id_or_name))
}

/// Changes what a project is called, where and how it is merged, or whether it is paused.
pub(crate) async fn update_project(world: &World, id: &ProjectId, change: ProjectChange) -> Result<Project> {
    let ProjectChange { name, default_branch, work_mode, paused } = change;
    let mut tx = world.store().write().await?;
    let mut row = tx.projects().get(id).await?.ok_or_else(|| EngineError::not_found("project", id))?;
    if let Some(name) = name {
        row.project.name = checked_name(&name)?;
        require_free_name(&mut tx, &row.project.name, Some(id)).await?;
    }
    let default_branch = default_branch.map(|branch| checked_branch(&branch)).transpose()?;
    let moved = default_branch.is_some();
    if let Some(branch) = default_branch {
        let repo = Repo::open(world.git(), Path::new(&row.project.repo_path)).await?;
        if repo.resolve(&format!("refs/heads/{branch}")).await?.is_none() {
            return Err(EngineError::invalid("default_branch", format!("no branch `{branch}`")));
        }
        row.project.default_branch = branch;
        super::repository::read_repository_config(&repo, &mut row).await?;
    }
    row.project.work_mode = work_mode.unwrap_or(row.project.work_mode);
    row.project.paused = paused.unwrap_or(row.project.paused);
    tx.projects_mut().update(&mut row, world.now()).await?;
    project_changed(world, &mut tx, &row.project, "updated").await?;
    tx.commit().await?;
    if moved {
        super::repository::watch_repository(world, id);
    }
    core::scheduler::wake_waiting(world);
    Ok(row.project)
}

/// Removes a project with its worktrees, after backing them up. The repository stays as it is. Where there is none any
/// more, nothing can be backed up: the worktrees stay and are listed as folders that belong to no task.
pub(crate) async fn delete_project(
    world: &World,
    id: &ProjectId,
    confirm: &str,
    end_terminals: bool,
) -> Result<()> {
    let (row, all) = {
        let mut conn = world.store().read().await?;
        let row = conn.projects().get(id).await?.ok_or_else(|| EngineError::not_found("project", id))?;
        let all = conn.tasks().of_project(id).await?;
        (row, all)
    };
    if confirm != row.project.name {
        return Err(EngineError::invalid(
            "confirm",
            format!("must repeat the project's name, `{}`", row.project.name),
        ));
    }
    if let Some(busy) = all.iter().find(|task| run::running::is_running(world, &task.id)) {
        return Err(EngineError::conflict(
            ConflictCode::TaskOpen,
            format!("an agent is working on #{}: stop it first", busy.number),
        ));
    }
    let ids: Vec<TaskId> = all.iter().map(|task| task.id.clone()).collect();
    core::world::features::require_idle(world, &ids, end_terminals).await?;
    let context = ProjectContext::read(&row)?;
    let has_repository = core::repository::present_repo(world, &context).await?.is_some();
    let mut holds = Vec::with_capacity(all.len());
    for task in &all {
        holds.push(core::workers::hold(world, &task.id).await);
    }
    // Something may have been started while the tasks were waited for.
    core::world::features::require_idle(world, &ids, end_terminals).await?;
    let mut folders = Vec::new();
    for task in &all {
        let workspace = world.store().read().await?.workspaces().last(&task.id).await?;
        if !has_repository {
            if let Some(workspace) = &workspace {
                drop(core::world::features::leave_worktree(world, workspace).await?);
            }
            continue;
        }
        folders.extend(workspace.as_ref().map(task_folder));
        if let Some(workspace) = workspace.filter(|w| w.status != WorkspaceStatus::Cleaned)
            && let Err(reason) =
                workspace::removal::remove_workspace(world, &context, task, workspace, Goes::Away).await?
        {
            return Err(EngineError::conflict(
                ConflictCode::InUse,
                format!("could not remove the worktree of #{}: {reason}", task.number),
            ));
        }
    }
    if has_repository {
        workspace::pool::drop_slots(world, &context, 0).await?;
    }
    let mut tx = world.store().write().await?;
    tx.projects_mut().delete(id).await?;
    project_changed(world, &mut tx, &row.project, "deleted").await?;
    tx.commit().await?;
    core::contexts::forget_context(world, id);
    // The places of its tasks are free.
    core::scheduler::wake_waiting(world);
    locked(&world.part::<RepositoryWatches>().0).remove(id);
    folders.iter().for_each(|folder| clear_own_files(folder));
    remove_folder(&world.data_dir().join("attachments").join(id.as_str())).await?;
    remove_folder(&world.data_dir().join("logs").join(id.as_str())).await
}

/// A project's settings, complete, and what of them is its own.
pub(crate) async fn settings(world: &World, id: &ProjectId) -> Result<(ProjectSettings, Value)> {
    let mut conn = world.store().read().await?;
    let row = conn.projects().get(id).await?.ok_or_else(|| EngineError::not_found("project", id))?;
    let context = core::contexts::context(world, &mut conn, id).await?;
    Ok((context.settings.clone(), row.settings))
}

/// Changes settings by a JSON merge patch: objects merge, arrays and scalars replace, null returns to
/// the default. Nothing is written unless the whole is valid.
pub(crate) async fn patch_settings(
    world: &World,
    id: &ProjectId,
    patch: &Value,
) -> Result<(ProjectSettings, Value)> {
    if !patch.is_object() {
        return Err(EngineError::invalid("settings", "must be an object"));
    }
    change_settings(world, id, |_| patch.clone()).await
}

/// The same with a patch that depends on what the project's own settings are when it is written.
pub(crate) async fn change_settings(
    world: &World,
    id: &ProjectId,
    patch_of: impl FnOnce(&Value) -> Value + Send,
) -> Result<(ProjectSettings, Value)> {
    let mut tx = world.store().write().await?;
    let mut row = tx.projects().get(id).await?.ok_or_else(|| EngineError::not_found("project", id))?;
    let source_before = core::contexts::context(world, &mut tx, id).await?.settings.workflow_source;
    let patch = &patch_of(&row.settings);
    merge_patch(&mut row.settings, patch);
    tidy_settings(&mut row.settings);
    // What is written now is refused where what was written once is mended.
    let settings = parse_settings(&row.settings).map_err(EngineError::Invalid)?;
    require_agents(&mut tx, &settings, patch).await?;
    let moved_to = (settings.workflow_source != source_before).then_some(settings.workflow_source);
    match moved_to {
        Some(WorkflowSource::Repository) => {
            super::workflows::adopt_repository_workflow(world, &mut tx, &mut row).await?;
        }
        Some(WorkflowSource::Project) => row.workflow_origin = None,
        None => {}
    }
    tx.projects_mut().update(&mut row, world.now()).await?;
    project_changed(world, &mut tx, &row.project, "settings").await?;
    tx.commit().await?;
    workspace::pool::trim_pool_later(world, id);
    core::scheduler::wake_waiting(world);
    Ok((ProjectContext::read(&row)?.settings, row.settings))
}

/// Refuses settings that name an agent that there is not: nothing would ever be drafted or raced by it. What was named
/// before, and removed since, does not keep other settings from being changed.
async fn require_agents(tx: &mut Tx, settings: &ProjectSettings, patch: &Value) -> Result<()> {
    let inner = &settings.inner_loop;
    let changes = &patch[forge_model::inner_loop::KEY];
    let mut named = Vec::new();
    if let Some(id) = inner.auto_fix.agent_id.as_ref().filter(|_| !changes["autoFix"]["agentId"].is_null()) {
        named.push((format!("{}.autoFix.agentId", forge_model::inner_loop::KEY), id));
    }
    if !changes["competitive"]["strategies"].is_null() {
        for (index, strategy) in inner.competitive.strategies.iter().enumerate() {
            let path = format!("{}.competitive.strategies[{index}].agent_id", forge_model::inner_loop::KEY);
            named.push((path, &strategy.agent_id));
        }
    }
    let mut findings = Vec::new();
    for (path, id) in named {
        if tx.agents().get(id).await?.is_none() {
            findings.push(Finding { path, message: format!("no agent has the id `{id}`") });
        }
    }
    if findings.is_empty() { Ok(()) } else { Err(EngineError::Invalid(findings)) }
}

/// A project's workflow, and how many tasks are in each state.
pub(crate) async fn board(world: &World, id: &ProjectId) -> Result<(Workflow, Vec<(String, u32)>)> {
    let mut conn = world.store().read().await?;
    let workflow = core::contexts::context(world, &mut conn, id).await?.workflow.clone();
    Ok((workflow, conn.tasks().counts(id).await?))
}

async fn require_free_name(tx: &mut Tx, name: &str, own: Option<&ProjectId>) -> Result<()> {
    match tx.projects().by_name(name).await? {
        Some(other) if Some(&other.project.id) != own => Err(EngineError::conflict(
            ConflictCode::NameTaken,
            format!("a project named `{name}` already exists"),
        )),
        _ => Ok(()),
    }
}

fn checked_name(name: &str) -> Result<String> {
    let name = name.trim();
    if name.is_empty() || name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(EngineError::invalid("name", format!("must be 1 to {MAX_NAME} characters on one line")));
    }
    Ok(name.to_owned())
}

/// The name of a branch without the blanks around it. What git would take for an expression, such as `main~1`, is none.
fn checked_branch(name: &str) -> Result<String> {
    let name = name.trim();
    match branch_fault(name) {
        Some(fault) => Err(EngineError::invalid("default_branch", fault)),
        None => Ok(name.to_owned()),
    }
}

/// A path with the user's home folder in place of a leading `~`.
pub(crate) fn expand_home(world: &World, path: &str) -> PathBuf {
    let home = world.inner.config.environment.get(OsStr::new("HOME")).filter(|home| !home.is_empty());
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Path::new(home).join(rest),
        _ => PathBuf::from(path),
    }
}

fn not_a_repository(path: &Path, error: GitError) -> EngineError {
    match error {
        GitError::NotARepository { .. } => EngineError::invalid(
            "repo_path",
            format!(
                "{} is not in a git repository: run `git init` there, or choose another folder",
                path.display()
            ),
        ),
        GitError::NoCommit { .. } => EngineError::invalid(
            "repo_path",
            format!("the repository at {} has no commits: create one first", path.display()),
        ),
        GitError::Io { source, .. } => {
            EngineError::invalid("repo_path", format!("{}: {source}", path.display()))
        }
        other => EngineError::Git(other),
    }
}

fn prefixed(field: &str, findings: Vec<Finding>) -> EngineError {
    EngineError::Invalid(
        findings
            .into_iter()
            .map(|mut finding| {
                finding.path = if finding.path.is_empty() {
                    field.to_owned()
                } else {
                    format!("{field}.{}", finding.path)
                };
                finding
            })
            .collect(),
    )
}

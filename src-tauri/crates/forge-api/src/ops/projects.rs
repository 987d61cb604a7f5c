//! Projects.

use forge_engine::{NewProject, ProjectChange};
use forge_model::actor::Actor;
use forge_model::ids::ProjectId;
use forge_model::inner_loop::InnerLoopState;
use forge_model::loop_status::SubsystemStatus;
use forge_model::project::{Project, RepositoryDifference, WorkMode};
use forge_model::settings::ProjectSettings;
use serde_json::Value;

use super::{Done, Empty, Page, answer, input};
use crate::{Api, ApiError};

input! {
    /// A repository to add.
    pub struct CreateProject {
        /// Name; the folder's name when absent.
        #[serde(default)]
        pub name: Option<String>,
        /// The repository, or a folder in it.
        pub repo_path: String,
        /// Branch that work is merged into; detected when absent.
        #[serde(default)]
        pub default_branch: Option<String>,
        /// How finished work reaches the target branch.
        #[serde(default)]
        pub work_mode: Option<WorkMode>,
        /// Workflow; the default one when absent.
        #[serde(default)]
        #[specta(type = Option<specta_typescript::Unknown>)]
        pub workflow: Option<Value>,
        /// Settings that differ from the defaults.
        #[serde(default)]
        #[specta(type = Option<specta_typescript::Unknown>)]
        pub settings: Option<Value>,
    }

    /// A project by id; reads also accept its name.
    pub struct ProjectPath {
        /// The project.
        pub project_id: ProjectId,
    }

    /// A difference of the repository's git configuration, as shown to a person.
    pub struct AcceptRepository {
        /// The project.
        pub project_id: ProjectId,
        /// Digest of the difference.
        pub digest: String,
    }

    /// Changes to a project.
    pub struct UpdateProject {
        /// The project.
        pub project_id: ProjectId,
        /// Its name.
        #[serde(default)]
        pub name: Option<String>,
        /// Branch that work is merged into.
        #[serde(default)]
        pub default_branch: Option<String>,
        /// How finished work reaches that branch. Merges in progress are not affected.
        #[serde(default)]
        pub work_mode: Option<WorkMode>,
    }

    /// A project to remove.
    pub struct DeleteProject {
        /// The project.
        pub project_id: ProjectId,
        /// The project's name, as confirmation.
        pub confirm: String,
        /// Whether to end programs that run in its tasks' terminals; refused with `terminal_busy` otherwise.
        #[serde(default)]
        pub end_terminals: Option<bool>,
    }
}

/// Settings to change: the project's id, and beside it the settings themselves.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize, specta::Type, schemars::JsonSchema)]
pub struct PatchSettings {
    /// The project.
    pub project_id: ProjectId,
    /// The settings, as a JSON merge patch.
    #[serde(flatten)]
    #[specta(type = std::collections::HashMap<String, specta_typescript::Unknown>)]
    pub patch: serde_json::Map<String, Value>,
}

answer! {
    /// Whether a repository's git configuration matches the accepted one.
    pub struct RepositoryState {
        /// The difference; null if there is none, or if no agent has run there.
        pub difference: Option<RepositoryDifference>,
    }

    /// Settings with their provenance.
    pub struct SettingsView {
        /// The effective settings.
        pub settings: ProjectSettings,
        /// The settings that the project overrides; the rest are defaults.
        #[specta(type = specta_typescript::Unknown)]
        pub own: Value,
    }

    /// A column of the board.
    pub struct Column {
        /// Display name.
        pub name: String,
        /// The states that the column shows.
        pub states: Vec<String>,
        /// The state that a card dropped here goes to.
        pub drop_state: String,
        /// Whether the column is hidden by default.
        pub hidden: bool,
        /// Number of tasks in the column.
        pub count: u32,
    }

    /// The board's columns with their counts.
    pub struct Board {
        /// The columns, in order.
        pub columns: Vec<Column>,
    }
}

pub(crate) async fn list(api: Api, _: Actor, _: Empty) -> Result<Page<Project>, ApiError> {
    Ok(Page::whole(api.engine().projects().await?))
}

pub(crate) async fn create(api: Api, _: Actor, new: CreateProject) -> Result<Project, ApiError> {
    let CreateProject { name, repo_path, default_branch, work_mode, workflow, settings } = new;
    Ok(api
        .engine()
        .create_project(NewProject { name, repo_path, default_branch, work_mode, workflow, settings })
        .await?)
}

pub(crate) async fn get(api: Api, _: Actor, path: ProjectPath) -> Result<Project, ApiError> {
    Ok(api.engine().project(path.project_id.as_str()).await?)
}

pub(crate) async fn update(api: Api, _: Actor, change: UpdateProject) -> Result<Project, ApiError> {
    let UpdateProject { project_id, name, default_branch, work_mode } = change;
    let change = ProjectChange { name, default_branch, work_mode, paused: None };
    Ok(api.engine().update_project(&project_id, change).await?)
}

pub(crate) async fn delete(api: Api, _: Actor, project: DeleteProject) -> Result<Done, ApiError> {
    let end_terminals = project.end_terminals.unwrap_or(false);
    api.engine().delete_project(&project.project_id, &project.confirm, end_terminals).await?;
    Ok(Done::yes())
}

pub(crate) async fn repository(api: Api, _: Actor, path: ProjectPath) -> Result<RepositoryState, ApiError> {
    Ok(RepositoryState { difference: api.engine().repository_change(&path.project_id).await? })
}

pub(crate) async fn accept_repository(
    api: Api,
    actor: Actor,
    seen: AcceptRepository,
) -> Result<RepositoryState, ApiError> {
    api.engine().answer_repository_change(actor, &seen.project_id, Some(&seen.digest)).await?;
    Ok(RepositoryState { difference: None })
}

pub(crate) async fn undo_repository(
    api: Api,
    actor: Actor,
    path: ProjectPath,
) -> Result<RepositoryState, ApiError> {
    api.engine().answer_repository_change(actor, &path.project_id, None).await?;
    Ok(RepositoryState { difference: None })
}

pub(crate) async fn pause(api: Api, _: Actor, path: ProjectPath) -> Result<Project, ApiError> {
    let change = ProjectChange { paused: Some(true), ..ProjectChange::default() };
    Ok(api.engine().update_project(&path.project_id, change).await?)
}

pub(crate) async fn resume(api: Api, _: Actor, path: ProjectPath) -> Result<Project, ApiError> {
    let change = ProjectChange { paused: Some(false), ..ProjectChange::default() };
    Ok(api.engine().update_project(&path.project_id, change).await?)
}

pub(crate) async fn settings(api: Api, _: Actor, path: ProjectPath) -> Result<SettingsView, ApiError> {
    let (settings, own) = api.engine().settings(&path.project_id).await?;
    Ok(SettingsView { settings, own })
}

pub(crate) async fn inner_loop(api: Api, _: Actor, path: ProjectPath) -> Result<InnerLoopState, ApiError> {
    Ok(api.engine().inner_loop(&path.project_id).await?)
}

pub(crate) async fn inner_loop_status(
    api: Api,
    _: Actor,
    path: ProjectPath,
) -> Result<Page<SubsystemStatus>, ApiError> {
    Ok(Page::whole(api.engine().inner_loop_status(&path.project_id).await?))
}

pub(crate) async fn patch_settings(
    api: Api,
    _: Actor,
    patch: PatchSettings,
) -> Result<SettingsView, ApiError> {
    let (settings, own) = api.engine().patch_settings(&patch.project_id, &Value::Object(patch.patch)).await?;
    Ok(SettingsView { settings, own })
}

pub(crate) async fn board(api: Api, _: Actor, path: ProjectPath) -> Result<Board, ApiError> {
    let (workflow, counts) = api.engine().board(&path.project_id).await?;
    let mut columns: Vec<Column> = Vec::new();
    for state in &workflow.states {
        let count = counts.iter().find(|(name, _)| *name == state.name).map_or(0, |(_, count)| *count);
        match columns.iter_mut().find(|column| column.name == state.column) {
            Some(column) => {
                column.states.push(state.name.clone());
                column.count += count;
                column.hidden &= state.name == workflow.cancellation_state;
            }
            None => columns.push(Column {
                name: state.column.clone(),
                states: vec![state.name.clone()],
                drop_state: state.name.clone(),
                hidden: state.name == workflow.cancellation_state,
                count,
            }),
        }
    }
    Ok(Board { columns })
}

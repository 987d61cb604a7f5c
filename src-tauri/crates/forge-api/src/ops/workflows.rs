//! Workflow definitions.

use forge_engine::{NewDefinition, WorkflowState};
use forge_model::actor::Actor;
use forge_model::ids::ProjectId;
use forge_model::project::WorkflowOrigin;
use forge_model::settings::WorkflowSource;
use forge_model::workflow::{Finding, StateKind, Workflow, presets};
use serde_json::{Map, Value};

use super::{Empty, Page, answer, input, projects::ProjectPath};
use crate::{Api, ApiError};

/// A workflow to use: the definition itself, or under `workflow`, or as JSON text under `text`.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize, specta::Type, schemars::JsonSchema)]
pub struct PutWorkflow {
    /// The project.
    pub project_id: ProjectId,
    /// The project's version, as read; not compared when absent.
    #[serde(default)]
    pub version: Option<u32>,
    /// The definition as JSON text; syntax errors are reported with line and column.
    #[serde(default)]
    pub text: Option<String>,
    /// The definition.
    #[serde(default)]
    #[specta(type = Option<specta_typescript::Unknown>)]
    pub workflow: Option<Value>,
    /// The definition, its fields beside the others.
    #[serde(flatten)]
    #[specta(skip)]
    pub fields: Map<String, Value>,
}

input! {
    /// A definition to validate.
    pub struct CheckWorkflow {
        /// The definition as JSON text.
        #[serde(default)]
        pub text: Option<String>,
        /// The definition as a JSON value.
        #[serde(default)]
        #[specta(type = Option<specta_typescript::Unknown>)]
        pub workflow: Option<Value>,
    }
}

answer! {
    /// The states to which a person can move a task.
    pub struct Moves {
        /// The state.
        pub from: String,
        /// The target states.
        pub to: Vec<String>,
    }

    /// A workflow as a board needs it.
    pub struct WorkflowView {
        /// The definition.
        pub workflow: Workflow,
        /// The moves that a person can make.
        pub moves: Vec<Moves>,
        /// The states that start an agent on entry.
        pub dispatching: Vec<String>,
        /// The role whose holder does the work.
        pub work_role: Option<String>,
        /// The role that a claim assigns: the one of the first working state.
        pub claim_role: Option<String>,
        /// Source of the definition.
        pub source: WorkflowSource,
        /// Path of the definition in the repository.
        pub origin: Option<WorkflowOrigin>,
        /// The project's version, to send with a change.
        pub version: u32,
    }

    /// Result of validating a definition.
    pub struct WorkflowReport {
        /// All problems; empty if the definition is valid.
        pub findings: Vec<Finding>,
        /// Additions made by normalization.
        pub notes: Vec<String>,
        /// The normalized definition.
        pub workflow: Option<Workflow>,
    }

    /// A workflow that ships with Forge.
    pub struct Preset {
        /// Key of the preset.
        pub name: String,
        /// Display name.
        pub title: String,
        /// Description of its purpose.
        pub about: String,
        /// The definition.
        pub workflow: Workflow,
    }
}

pub(crate) async fn get(api: Api, actor: Actor, path: ProjectPath) -> Result<WorkflowView, ApiError> {
    Ok(view(&actor, api.engine().workflow_state(&path.project_id).await?))
}

pub(crate) async fn put(api: Api, actor: Actor, put: PutWorkflow) -> Result<WorkflowView, ApiError> {
    let definition = match (put.text, put.workflow) {
        (Some(text), _) => NewDefinition::Text(text),
        (None, Some(workflow)) => NewDefinition::Value(workflow),
        (None, None) => NewDefinition::Value(Value::Object(put.fields)),
    };
    Ok(view(&actor, api.engine().put_workflow(&put.project_id, put.version, definition).await?))
}

pub(crate) async fn check(api: Api, _: Actor, check: CheckWorkflow) -> Result<WorkflowReport, ApiError> {
    let definition = match (check.text, check.workflow) {
        (Some(text), _) => NewDefinition::Text(text),
        (None, Some(workflow)) => NewDefinition::Value(workflow),
        (None, None) => {
            return Err(ApiError::invalid("text", "pass the definition as `text` or as `workflow`"));
        }
    };
    let found = api.engine().check_workflow(definition);
    Ok(WorkflowReport { findings: found.findings, notes: found.notes, workflow: found.workflow })
}

pub(crate) async fn preset_list(_: Api, _: Actor, _: Empty) -> Result<Page<Preset>, ApiError> {
    let own = |preset: &forge_model::workflow::Preset| Preset {
        name: preset.name.to_owned(),
        title: preset.title.to_owned(),
        about: preset.about.to_owned(),
        workflow: preset.workflow(),
    };
    Ok(Page::whole(presets().iter().map(own).collect()))
}

fn view(actor: &Actor, state: WorkflowState) -> WorkflowView {
    let WorkflowState { workflow, source, origin, version } = state;
    let moves = workflow
        .states
        .iter()
        .map(|state| Moves { from: state.name.clone(), to: workflow.allowed_targets(&state.name, actor) })
        .collect();
    let dispatching = workflow
        .states
        .iter()
        .filter(|state| state.dispatches() && (state.kind == StateKind::Active || state.plans()))
        .map(|state| state.name.clone())
        .collect();
    let work_role = workflow.work_state().and_then(|state| state.role.clone());
    let claim_role = workflow.claim_role().map(str::to_owned);
    WorkflowView { workflow, moves, dispatching, work_role, claim_role, source, origin, version }
}

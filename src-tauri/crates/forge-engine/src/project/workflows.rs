//! Workflow definitions: checking one, activating one, reading the one that a repository keeps.
//!
//! A definition is replaced as a whole, in one transaction that also verifies that no task is left in a removed
//! state. One that a repository keeps is read from a commit of the default branch, never from a worktree; an invalid
//! one changes nothing and lists its findings.

use forge_git::Repo;
use forge_model::ids::ProjectId;
use forge_model::project::WorkflowOrigin;
use forge_model::settings::WorkflowSource;
use forge_model::workflow::{Finding, Parsed, Workflow, differences, parse, parse_value};
use forge_store::Tx;
use forge_store::table::{projects::ProjectRow, tasks::Filter};
use serde_json::{Value, json};

use crate::{
    ConflictCode, EngineError, World,
    core::{self, context::ProjectContext},
    error::Result,
    project::files::{default_commit, text_at},
};

/// Where a repository keeps its workflow.
pub(crate) const WORKFLOW_FILE: &str = ".forge/workflow.json";

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

/// A project's workflow, and where it comes from.
pub(crate) async fn workflow_state(world: &World, id: &ProjectId) -> Result<WorkflowState> {
    let mut conn = world.store().read().await?;
    let row = conn.projects().get(id).await?.ok_or_else(|| EngineError::not_found("project", id))?;
    let context = core::contexts::context(world, &mut conn, id).await?;
    Ok(WorkflowState {
        workflow: context.workflow.clone(),
        source: context.settings.workflow_source,
        origin: row.workflow_origin,
        version: row.project.version,
    })
}

/// Looks a definition over without using it.
#[must_use]
pub(crate) fn check_workflow(_engine: &World, definition: NewDefinition) -> WorkflowCheck {
    match definition.parse() {
        Ok(parsed) => {
            WorkflowCheck { findings: Vec::new(), notes: parsed.notes, workflow: Some(parsed.workflow) }
        }
        Err(findings) => WorkflowCheck { findings, notes: Vec::new(), workflow: None },
    }
}

/// Puts a definition in force.
pub(crate) async fn put_workflow(
    world: &World,
    id: &ProjectId,
    version: Option<u32>,
    definition: NewDefinition,
) -> Result<WorkflowState> {
    let parsed = definition.parse().map_err(EngineError::Invalid)?;
    let mut tx = world.store().write().await?;
    let mut row = tx.projects().get(id).await?.ok_or_else(|| EngineError::not_found("project", id))?;
    if let Some(expected) = version
        && expected != row.project.version
    {
        return Err(EngineError::VersionConflict { expected, actual: row.project.version });
    }
    let context = core::contexts::context(world, &mut tx, id).await?;
    if context.settings.workflow_source == WorkflowSource::Repository {
        return Err(EngineError::conflict(
            ConflictCode::WorkflowInRepository,
            format!(
                "the workflow is defined in {WORKFLOW_FILE}: change it there, on {}",
                row.project.default_branch
            ),
        ));
    }
    replace_workflow(&mut tx, &context, &mut row, &parsed.workflow).await?;
    tx.projects_mut().update(&mut row, world.now()).await?;
    core::contexts::project_changed(world, &mut tx, &row.project, "workflow").await?;
    tx.commit().await?;
    core::scheduler::wake_waiting(world);
    workflow_state(world, id).await
}

/// Sets the definition of a row, unless a task would be left in a state that is gone.
async fn replace_workflow(
    tx: &mut Tx,
    context: &ProjectContext,
    row: &mut ProjectRow,
    new: &Workflow,
) -> Result<()> {
    let removed = differences(&context.workflow, new).removed_states;
    if !removed.is_empty() {
        let filter =
            Filter { project: Some(row.project.id.clone()), states: removed.clone(), ..Filter::default() };
        let held = tx.tasks().list(&filter, 200).await?;
        if !held.is_empty() {
            let numbers: Vec<String> =
                held.iter().map(|task| format!("#{} in {}", task.number, task.status)).collect();
            return Err(EngineError::Conflict {
                code: ConflictCode::StatesInUse,
                message: format!(
                    "{} would lose a state that still has tasks ({}): move them first",
                    new.name,
                    numbers.join(", ")
                ),
                details: json!({
                    "states": removed,
                    "tasks": held.iter().map(|task| json!({
                        "id": task.id, "number": task.number, "title": task.title, "status": task.status
                    })).collect::<Vec<_>>(),
                }),
            });
        }
    }
    row.workflow =
        serde_json::to_string(new).map_err(|error| EngineError::invalid("workflow", error.to_string()))?;
    Ok(())
}

/// Reads the definition that a project's repository keeps, when a newer commit is there. What is wrong
/// with it is recorded; the definition in force stays.
pub(crate) async fn refresh_workflow(world: &World, id: &ProjectId) -> Result<()> {
    let (row, context) = {
        let mut conn = world.store().read().await?;
        let Some(row) = conn.projects().get(id).await? else { return Ok(()) };
        (row, core::contexts::context(world, &mut conn, id).await?)
    };
    if context.settings.workflow_source != WorkflowSource::Repository {
        return Ok(());
    }
    let repo = core::repository::repo(world, &context).await?;
    let Some(commit) = default_commit(&repo, &row).await? else { return Ok(()) };
    if row.workflow_origin.as_ref().is_some_and(|origin| origin.looked_at == commit) {
        return Ok(());
    }
    let found = kept_in(&repo, &commit).await?;
    let mut tx = world.store().write().await?;
    let Some(mut row) = tx.projects().get(id).await? else { return Ok(()) };
    let context = core::contexts::context(world, &mut tx, id).await?;
    let in_force = row.workflow_origin.clone().map_or_else(String::new, |origin| origin.commit);
    let replaced = match found {
        Ok(parsed) => match replace_workflow(&mut tx, &context, &mut row, &parsed.workflow).await {
            Err(EngineError::Conflict { message, .. }) => Err(vec![Finding::new("", message)]),
            other => Ok(other?),
        },
        Err(findings) => Err(findings),
    };
    row.workflow_origin = Some(match replaced {
        Ok(()) => WorkflowOrigin { commit: commit.clone(), looked_at: commit, findings: Vec::new() },
        Err(findings) => {
            tracing::warn!(project = %id, %commit, ?findings, "the repository's workflow is not put in force");
            WorkflowOrigin { commit: in_force, looked_at: commit, findings }
        }
    });
    tx.projects_mut().update(&mut row, world.now()).await?;
    core::contexts::project_changed(world, &mut tx, &row.project, "workflow").await?;
    tx.commit().await?;
    core::scheduler::wake_waiting(world);
    Ok(())
}

/// Takes over the definition that the repository keeps, as the settings ask from now on.
pub(crate) async fn adopt_repository_workflow(
    world: &World,
    tx: &mut Tx,
    row: &mut ProjectRow,
) -> Result<()> {
    let field = |message: String| EngineError::invalid("workflow_source", message);
    let context = ProjectContext::read(row)?;
    let repo = core::repository::repo(world, &context).await?;
    let commit = default_commit(&repo, row)
        .await?
        .ok_or_else(|| field(format!("no branch `{}`", row.project.default_branch)))?;
    let parsed = kept_in(&repo, &commit).await?.map_err(|findings| {
        EngineError::Invalid(
            findings
                .into_iter()
                .map(|found| Finding {
                    path: "workflow_source".to_owned(),
                    message: match found.path.as_str() {
                        "" => found.message,
                        path => format!("{WORKFLOW_FILE}: {path}: {}", found.message),
                    },
                })
                .collect(),
        )
    })?;
    replace_workflow(tx, &context, row, &parsed.workflow).await?;
    row.workflow_origin =
        Some(WorkflowOrigin { commit: commit.clone(), looked_at: commit, findings: Vec::new() });
    Ok(())
}

/// The definition that a commit has, or what is wrong with it.
async fn kept_in(repo: &Repo, commit: &str) -> Result<std::result::Result<Parsed, Vec<Finding>>> {
    Ok(match text_at(repo, commit, WORKFLOW_FILE).await? {
        Ok(Some(text)) => parse(&text),
        Ok(None) => {
            let short = commit.get(..10).unwrap_or(commit);
            Err(vec![Finding::new("", format!("commit {short} has no {WORKFLOW_FILE}"))])
        }
        Err(found) => Err(vec![found]),
    })
}

//! The plan of a task: a file beside its worktree that a planner writes, a person decides on, and the coder is
//! given. Also the layers of a run's prompt.

use serde_json::json;
use std::path::{Path, PathBuf};

use forge_git::guard::{Entry, GuardError, Root};
use forge_model::agent::{AdapterKind, Agent, Profile};
use forge_model::correction::Correction;
use forge_model::execution::ExecutionRole;
use forge_model::ids::TaskId;
use forge_model::layer::{Layer, LayerKind};
use forge_model::time::Timestamp;
use forge_model::workspace::Workspace;
use forge_prompt::coder::{CoderPrompt, coder_layers};
use forge_prompt::layers::profile_layer;
use forge_prompt::planner::{PlannerPrompt, planner_layers};
use forge_prompt::reflexion::reflexion;
use forge_store::table::tasks::TaskRow;

use crate::{
    ConflictCode, EngineError, World,
    core::{
        self,
        context::{ProjectContext, task_branch, task_folder},
        world::features::Objection,
    },
    error::Result,
    workspace,
};

const PLAN_FILE: &str = "plan.md";
/// A plan longer than this is not read by anybody.
const MAX_PLAN_BYTES: usize = 256 * 1024;
/// A file larger than this is not taken for a plan.
pub(crate) const MAX_PLAN_BYTES_READ: u64 = 16 * 1024 * 1024;
/// How much of a plan a prompt carries.
const PLAN_IN_PROMPT_BYTES: usize = 64 * 1024;

/// A task's plan as it stands.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Markdown; empty when nothing has been written.
    pub text: String,
    /// Its file.
    pub path: String,
    /// When it was last written.
    pub written_at: Option<Timestamp>,
}

/// Where the plan of a task is, or will be.
pub(crate) fn plan_file(workspace: &Workspace) -> PathBuf {
    task_folder(workspace).join(PLAN_FILE)
}

/// The plan, when there is one that says something. What leads out of the task's folder is no plan.
pub(crate) async fn read_plan(workspace: &Workspace) -> Result<Option<String>> {
    let folder = task_folder(workspace);
    let read = move || {
        let file = Path::new(PLAN_FILE);
        match Root::open(&folder)?.read(file, MAX_PLAN_BYTES_READ)? {
            Some(Entry::File { content, .. }) => Ok(Some(content)),
            Some(Entry::Link(_)) => Err(GuardError::Escape {
                root: folder.clone(),
                path: file.to_owned(),
                why: "is a symbolic link",
            }),
            Some(Entry::Large { .. } | Entry::Directory | Entry::Special) | None => Ok(None),
        }
    };
    let found = tokio::task::spawn_blocking(read).await;
    let bytes = match found.map_err(|error| EngineError::io("read a plan")(std::io::Error::other(error)))? {
        Ok(bytes) => bytes.unwrap_or_default(),
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(guarded(error)),
    };
    let text = String::from_utf8_lossy(bytes.get(..MAX_PLAN_BYTES).unwrap_or(&bytes)).into_owned();
    Ok((!text.trim().is_empty()).then_some(text))
}

/// Replaces the plan whole: a reader sees the old one or the new one, and a link in its place is not followed.
pub(crate) async fn write_plan(workspace: &Workspace, text: &str) -> Result<()> {
    let (folder, text) = (task_folder(workspace), text.to_owned());
    let write = move || Root::open(&folder)?.write(Path::new(PLAN_FILE), text.as_bytes(), false);
    let written = tokio::task::spawn_blocking(write).await;
    written.map_err(|error| EngineError::io("write a plan")(std::io::Error::other(error)))?.map_err(guarded)
}

fn guarded(error: GuardError) -> EngineError {
    match error {
        GuardError::Io { source, .. } => EngineError::io("open a plan")(source),
        source @ GuardError::Escape { .. } => EngineError::Escape { field: "plan".to_owned(), source },
    }
}

fn head(text: &str, most: usize) -> &str {
    let cut = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(..cut).unwrap_or(text)
}

/// A task's plan.
pub(crate) async fn plan(world: &World, id: &TaskId) -> Result<Plan> {
    let workspace = workspace::command::workspace_of(world, id).await?;
    let path = plan_file(&workspace);
    let written_at = match tokio::fs::symlink_metadata(&path).await.and_then(|facts| facts.modified()) {
        Ok(time) => {
            let since = time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            Some(Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
        }
        Err(_) => None,
    };
    let text = read_plan(&workspace).await?.unwrap_or_default();
    let text = core::redaction::redactor_of_task(world, id).await?.string(text);
    Ok(Plan { text, path: path.to_string_lossy().into_owned(), written_at })
}

/// Writes a task's plan by a person's hand.
pub(crate) async fn put_plan(world: &World, id: &TaskId, text: &str) -> Result<Plan> {
    if text.len() > MAX_PLAN_BYTES {
        return Err(EngineError::invalid("text", format!("must be at most {MAX_PLAN_BYTES} bytes")));
    }
    let workspace = workspace::command::workspace_of(world, id).await?;
    if !Path::new(&workspace.path).is_dir() {
        return Err(EngineError::conflict(
            ConflictCode::WorkspaceMissing,
            "the task has no worktree: start the task first",
        ));
    }
    write_plan(&workspace, text).await?;
    let mut tx = world.store().write().await?;
    let (task, _) = core::load::load(world, &mut tx, id, None).await?;
    world
        .emit(
            &mut tx,
            forge_model::event::EventType::TaskUpdated,
            &task,
            id.as_str(),
            &serde_json::json!({ "plan": true }),
        )
        .await?;
    tx.commit().await?;
    plan(world, id).await
}

/// The prompt of a run of `agent` for a task, in layers.
pub(crate) async fn layers_of(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
    (role, agent): (ExecutionRole, Option<&Agent>),
    corrections: &[Correction],
) -> Result<Vec<Layer>> {
    let prefix = agent.and_then(|agent| profile_layer(&Profile::of(agent).prompt_prefix?));
    let mut corrections = corrections.to_vec();
    if agent.is_some_and(|agent| needs_merge_begun(agent.adapter)) {
        for correction in &mut corrections {
            if let Correction::Conflict { begun, .. } = correction {
                *begun = true;
            }
        }
    }
    let reflects = context.settings.inner_loop.reflexion.enabled && role == ExecutionRole::Coder;
    let first = if reflects { reflexion(&mut corrections).map(|it| it.layer) } else { None };
    let of_role = layers_of_role(world, context, task, role, &corrections).await?;
    let redactor = core::redaction::redactor_in(world, context);
    let all = first.into_iter().chain(prefix).chain(of_role);
    Ok(all.map(|layer| Layer { text: redactor.string(layer.text), ..layer }).collect())
}

async fn layers_of_role(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
    role: ExecutionRole,
    corrections: &[Correction],
) -> Result<Vec<Layer>> {
    let workspace = {
        let mut conn = world.store().read().await?;
        conn.workspaces().last(&task.id).await?
    };
    let plan = match &workspace {
        Some(workspace) => read_plan(workspace).await?,
        None => None,
    };
    let plan = plan.as_deref().map(|text| head(text, PLAN_IN_PROMPT_BYTES));
    if role == ExecutionRole::Reviewer {
        let again = corrections.contains(&Correction::NoVerdict {});
        let text =
            super::audit_prompt::audit_prompt_of(world, context, task, workspace.as_ref(), again).await?;
        return Ok(vec![Layer { kind: LayerKind::Task, text }]);
    }
    let source = core::issue_text::source_of_text(world, task).await?;
    let foreign = source.as_ref().map(core::issue_text::foreign);
    if role == ExecutionRole::Planner {
        let file = workspace.as_ref().map(plan_file).unwrap_or_else(|| PathBuf::from(PLAN_FILE));
        return Ok(planner_layers(PlannerPrompt {
            number: task.number,
            title: &task.title,
            description: &task.description,
            foreign,
            plan_file: &file.to_string_lossy(),
            plan,
            corrections,
        }));
    }
    let checks = context.review_config(task).ci_steps.unwrap_or_default();
    Ok(coder_layers(CoderPrompt {
        number: task.number,
        title: &task.title,
        description: &task.description,
        foreign,
        branch: &task_branch(task),
        target: &context.target_branch(task),
        checks: &checks,
        plan,
        proposes_lessons: context.captures_knowledge(),
        leaves_note: context.settings.inner_loop.trajectory.enabled,
        corrections,
    }))
}

/// Whether Forge begins the merge that its agents resolve. The programs with a protocol keep to the worktree, and a
/// linked worktree's git files lie outside of it: letting them in there would let them change what git runs for the
/// user, hooks and configuration. They edit the files in conflict, and Forge commits. A shell command is as free as
/// the user.
pub(crate) const fn needs_merge_begun(adapter: AdapterKind) -> bool {
    match adapter {
        AdapterKind::Shell => false,
        AdapterKind::Codex | AdapterKind::Claude | AdapterKind::Acp => true,
    }
}

/// How far the time of a file may lie behind the clock: file systems take it from the kernel's last tick.
const CLOCK_GRAIN_MS: i64 = 50;

/// A plan says something, and was written since the task came to where plans are made.
pub(crate) async fn missing_plan(world: &World, task: &TaskRow) -> Result<Option<Objection>> {
    let last = {
        let mut conn = world.store().read().await?;
        conn.workspaces().last(&task.id).await?
    };
    let none = || Some(("there is no plan".to_owned(), json!({ "written_at": null })));
    let Some(workspace) = last else { return Ok(none()) };
    if read_plan(&workspace).await?.is_none() {
        return Ok(none());
    }
    let written_at = plan(world, &task.id).await?.written_at;
    Ok(written_at.filter(|at| task.status_since.since(*at) > CLOCK_GRAIN_MS).map(|at| {
        let reason = "the plan is from before the task came here: write it anew".to_owned();
        (reason, json!({ "written_at": at, "since": task.status_since }))
    }))
}

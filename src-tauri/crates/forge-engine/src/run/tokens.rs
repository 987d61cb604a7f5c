//! The tokens with which runs call Forge: each reaches its own task and that task's subtasks, while its run lasts.
//!
//! Only the hash is kept, with the run. A token is valid while its run is open, so nothing has to be revoked: it
//! expires in the transaction that ends the run, also when a later start records the run as lost.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use forge_model::execution::ExecutionRole;
use forge_model::ids::{AgentId, ExecutionId, ProjectId, TaskId};
use forge_model::workflow::{EdgeKind, StateKind};
use sha2::{Digest as _, Sha256};
use std::sync::Mutex;

use crate::{
    EngineError, World,
    core::{self, sync::locked},
    error::Result,
};

const BYTES: usize = 32;
/// What tells such a token from the main one.
const PREFIX: &str = "run_";

/// What the token of a run reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunScope {
    /// The run.
    pub execution_id: ExecutionId,
    /// Its task.
    pub task_id: TaskId,
    /// The task's project.
    pub project_id: ProjectId,
    /// Who runs.
    pub agent_id: AgentId,
    /// What as.
    pub role: ExecutionRole,
}

/// Where agents find the MCP server of this engine.
#[derive(Default)]
struct McpUrl(Mutex<Option<String>>);

/// Says where the agents that are started find this engine's MCP server; none while there is none.
pub(crate) fn set_mcp_url(world: &World, url: Option<String>) {
    *locked(&world.part::<McpUrl>().0) = url;
}

/// What a token reaches; none when it is no run's, or its run is over.
pub(crate) async fn scope_of_token(world: &World, token: &str) -> Result<Option<RunScope>> {
    if !token.starts_with(PREFIX) {
        return Ok(None);
    }
    let mut conn = world.store().read().await?;
    let Some(row) = conn.executions().open_with_token(&hash(token)).await? else { return Ok(None) };
    let run = row.execution;
    let Some(task) = conn.tasks().get(&run.task_id).await? else { return Ok(None) };
    Ok(Some(RunScope {
        execution_id: run.id,
        project_id: task.project_id,
        task_id: run.task_id,
        agent_id: run.agent_id,
        role: run.role,
    }))
}

/// Whether a scope reaches a task: its own, or a part of it at any depth.
pub(crate) async fn reaches(world: &World, scope: &RunScope, task: &TaskId) -> Result<bool> {
    let mut conn = world.store().read().await?;
    let mut next = Some(task.clone());
    while let Some(id) = next {
        if id == scope.task_id {
            return Ok(true);
        }
        next = conn.tasks().get(&id).await?.and_then(|task| task.parent_id);
    }
    Ok(false)
}

/// The commands that a project declares for a task: its checks, those of its gate, and the set-up.
pub(crate) async fn declared_commands(world: &World, id: &TaskId) -> Result<Vec<String>> {
    let (task, context) = core::load::load(world, &mut *world.store().read().await?, id, None).await?;
    let checks = context.review_config(&task);
    let gate = checks.validate.map(|gate| gate.commands).unwrap_or_default();
    let all = checks.ci_steps.unwrap_or_default().into_iter().chain(gate);
    Ok(all.chain(context.settings.setup.iter().cloned()).collect())
}

/// Whether a run may move a task by its own word: its own task to where it waits for a person, a part wherever the
/// workflow lets an agent go, but past no gate.
pub(crate) async fn may_move(world: &World, scope: &RunScope, id: &TaskId, to: &str) -> Result<bool> {
    let (task, context) = core::load::load(world, &mut *world.store().read().await?, id, None).await?;
    let edges = context.workflow.edges();
    let mut ways = edges.iter().filter(|edge| edge.from == task.status && edge.to == to);
    let is_gate = context.workflow.state(&task.status).is_some_and(|state| state.kind == StateKind::Gate);
    Ok(ways.any(|way| match way.kind {
        EdgeKind::Block => true,
        EdgeKind::Cancel => *id != scope.task_id,
        EdgeKind::Trigger | EdgeKind::Reject | EdgeKind::Cascade => *id != scope.task_id && !is_gate,
    }))
}

pub(crate) fn mcp_url(world: &World) -> Option<String> {
    locked(&world.part::<McpUrl>().0).clone()
}

/// A new token for a run that is about to start.
pub(crate) async fn give_token(world: &World, run: &ExecutionId) -> Result<String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| EngineError::io("create a token")(std::io::Error::other(error)))?;
    let token = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes));
    let mut tx = world.store().write().await?;
    tx.executions_mut().set_token_hash(run, &hash(&token)).await?;
    tx.commit().await?;
    Ok(token)
}

fn hash(token: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(token))
}

//! Agent profiles: creating, changing, deleting and listing them, and detecting their programs.

use std::collections::HashMap;

use forge_agents::Detected;
use forge_model::agent::{
    AdapterKind, Agent, AgentLimits, Profile, ProgramConfig, ShellConfig, config_findings, env_value,
    restore_secrets,
};
use forge_model::environment::findings_of_names;
use forge_model::event::EventType;
use forge_model::ids::AgentId;
use forge_model::words::counted;
use forge_model::workflow::{Finding, shape_findings};
use forge_store::Tx;
use serde_json::{Value, json};

use crate::{ConflictCode, EngineError, World, core, error::Result};

/// An agent profile to be added, or what is to change of one.
#[derive(Debug, Clone, Default)]
pub struct NewAgent {
    /// Display name.
    pub name: Option<String>,
    /// How it is driven.
    pub adapter: Option<AdapterKind>,
    /// The adapter's own configuration.
    pub config: Option<Value>,
    /// The model it is asked to use; `Some(None)` takes it away.
    pub model: Option<Option<String>>,
    /// Maximum number of its concurrent runs.
    pub max_concurrent: Option<u32>,
    /// Whether it is paused.
    pub paused: Option<bool>,
}

/// Adds an agent profile.
pub(crate) async fn create_agent(world: &World, new: NewAgent) -> Result<Agent> {
    let now = world.now();
    let agent = Agent {
        id: world.new_id(),
        name: String::new(),
        adapter: new.adapter.unwrap_or(AdapterKind::Shell),
        config: Value::Null,
        model: None,
        max_concurrent: 1,
        paused: false,
        running: 0,
        created_at: now,
        updated_at: now,
    };
    write_agent(world, agent, new).await
}

/// Changes an agent profile.
pub(crate) async fn update_agent(world: &World, id: &AgentId, change: NewAgent) -> Result<Agent> {
    let agent = agent(world, id).await?;
    write_agent(world, agent, change).await
}

/// Removes an agent profile.
pub(crate) async fn delete_agent(world: &World, id: &AgentId) -> Result<()> {
    let agent = agent(world, id).await?;
    let mut tx = world.store().write().await?;
    let uses = tx.agents().uses(id).await?;
    if uses > 0 {
        let message = format!(
            "{} is used by {}: pause it instead",
            agent.name,
            counted(uses.into(), "task or run", "tasks and runs")
        );
        return Err(EngineError::conflict(ConflictCode::InUse, message));
    }
    tx.agents_mut().delete(id).await?;
    agent_changed(world, &mut tx, id).await?;
    tx.commit().await?;
    Ok(())
}

/// One agent profile.
pub(crate) async fn agent(world: &World, id: &AgentId) -> Result<Agent> {
    let mut conn = world.store().read().await?;
    conn.agents().get(id).await?.ok_or_else(|| EngineError::not_found("agent", id))
}

/// All agent profiles, by name.
pub(crate) async fn agents(world: &World) -> Result<Vec<Agent>> {
    Ok(world.store().read().await?.agents().list().await?)
}

/// Looks for an agent's program on the login shell's path. The error is for people to read.
pub(crate) async fn detect_agent(
    world: &World,
    id: &AgentId,
) -> Result<Result<Detected, forge_agents::AgentError>> {
    let agent = agent(world, id).await?;
    probe_program(world, agent.adapter, &agent.config).await
}

/// Looks for the program of a profile that need not be stored. The inner error is for people to read.
pub(crate) async fn probe_program(
    world: &World,
    kind: AdapterKind,
    config: &Value,
) -> Result<Result<Detected, forge_agents::AgentError>> {
    Ok(match super::programs::refreshed_login(world).await {
        Ok(()) => super::programs::detect_program(world, kind, config).await,
        Err(error) => Err(error),
    })
}

async fn write_agent(world: &World, mut agent: Agent, change: NewAgent) -> Result<Agent> {
    agent.name = change.name.unwrap_or(agent.name).trim().to_owned();
    agent.adapter = change.adapter.unwrap_or(agent.adapter);
    if let Some(mut config) = change.config {
        // Who changes a profile was shown placeholders for its secrets.
        restore_secrets(&mut config, |name| env_value(&agent.config, name));
        agent.config = config;
    }
    agent.model = change.model.unwrap_or(agent.model);
    agent.max_concurrent = change.max_concurrent.unwrap_or(agent.max_concurrent);
    agent.paused = change.paused.unwrap_or(agent.paused);
    agent.updated_at = world.now();
    validate(&agent)?;
    let mut tx = world.store().write().await?;
    if let Some(other) = tx.agents().by_name(&agent.name).await?
        && other.id != agent.id
    {
        return Err(EngineError::conflict(
            ConflictCode::NameTaken,
            format!("an agent named `{}` already exists", agent.name),
        ));
    }
    tx.agents_mut().put(&agent).await?;
    core::redaction::learn_profile(world, &agent.config);
    agent_changed(world, &mut tx, &agent.id).await?;
    tx.commit().await?;
    core::scheduler::wake_waiting(world);
    Ok(agent)
}

/// How the providers of all agents limit them.
pub(crate) async fn agent_limits(world: &World) -> Result<Vec<AgentLimits>> {
    let mut conn = world.store().read().await?;
    let now = world.now();
    let mut windows = conn.limits().windows().await?;
    let until: HashMap<_, _> = conn.limits().list().await?.into_iter().collect();
    let agents = conn.agents().list().await?;
    Ok(agents
        .into_iter()
        .map(|agent| {
            let mut windows = windows.remove(&agent.id).unwrap_or_default();
            windows.retain(|window| window.holds(now));
            let limited_until = until.get(&agent.id).copied().filter(|until| *until > now);
            AgentLimits { agent_id: agent.id, limited_until, windows }
        })
        .collect())
}

async fn agent_changed(world: &World, tx: &mut Tx, id: &AgentId) -> Result<()> {
    tx.emit(EventType::AgentChanged, world.now(), None, None, id.as_str(), &json!({})).await?;
    Ok(())
}

fn validate(agent: &Agent) -> Result<()> {
    if agent.name.is_empty() || agent.name.chars().count() > 60 || agent.name.chars().any(char::is_control) {
        return Err(EngineError::invalid("name", "must be 1 to 60 characters on one line"));
    }
    if agent.max_concurrent == 0 || agent.max_concurrent > 64 {
        return Err(EngineError::invalid("max_concurrent", "must be 1 to 64"));
    }
    let empty = match agent.adapter {
        AdapterKind::Shell => {
            let config: ShellConfig = configured(agent, shape_findings::<ShellConfig>)?;
            ("command", config.command.trim().is_empty())
        }
        AdapterKind::Acp => {
            let config: ProgramConfig = configured(agent, shape_findings::<ProgramConfig>)?;
            ("program", config.program.is_none_or(|name| name.trim().is_empty()))
        }
        AdapterKind::Codex | AdapterKind::Claude => {
            let config: ProgramConfig = configured(agent, shape_findings::<ProgramConfig>)?;
            let program = config.program;
            ("program", program.is_some_and(|name| name.trim().is_empty()))
        }
    };
    let names = findings_of_names(&Profile::of(agent).pass, "config.environment.pass");
    if !names.is_empty() {
        return Err(EngineError::Invalid(names));
    }
    match empty {
        (_, false) => Ok(()),
        ("command", true) => Err(EngineError::invalid("config.command", "must be a program or a shell line")),
        (field, true) => Err(EngineError::invalid(&format!("config.{field}"), "must name a program")),
    }
}

/// The configuration of a profile, or what is wrong with it and where.
fn configured<T: serde::de::DeserializeOwned>(
    agent: &Agent,
    shape: fn(&Value, &str) -> Vec<Finding>,
) -> Result<T> {
    let mut findings = shape(&agent.config, "config");
    findings.extend(config_findings(&agent.config));
    if !findings.is_empty() {
        return Err(EngineError::Invalid(findings));
    }
    serde_path_to_error::deserialize(&agent.config).map_err(|error| {
        let path = error.path().to_string();
        let path = if path == "." { "config".to_owned() } else { format!("config.{path}") };
        EngineError::invalid(&path, error.inner().to_string())
    })
}

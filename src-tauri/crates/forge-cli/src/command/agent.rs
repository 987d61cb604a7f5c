//! `forge agent`.

use forge_api::{
    operations::{AgentCreate, AgentGet, AgentList, AgentUpdate},
    ops::{
        Empty,
        agents::{AgentPath, CreateAgent, UpdateAgent},
    },
};
use forge_model::{
    agent::{self, AdapterKind},
    ids::AgentId,
};
use serde_json::{Map, Value, json};

use crate::{answer::Answer, args::Agent, at::At, error::CliError, labels, shown::table};

pub(crate) async fn run(at: &At, command: Agent) -> Result<Answer, CliError> {
    match command {
        Agent::Add { name, command, env, model, max_concurrent, machine, args } => {
            let mut config = json!({ "command": command });
            if let Some(machines) = labels::required(machine)? {
                config["machines"] = json!(machines);
            }
            if !args.is_empty() {
                config["args"] = json!(args);
            }
            if !env.is_empty() {
                config["env"] = Value::Object(variables(&env)?);
            }
            let new = CreateAgent { name, adapter: AdapterKind::Shell, config, model, max_concurrent };
            let agent = at.call(AgentCreate, new).await?;
            let text = format!("Added {} ({}).", agent.name, agent.id);
            Ok(Answer::new(agent.json, text))
        }
        Agent::Edit { agent, machine, default_machine: _ } => {
            let agent_id = AgentId::from(at.holder(&agent).await?);
            let found = at.call(AgentGet, AgentPath { agent_id: agent_id.clone() }).await?;
            let machines = labels::required(machine)?;
            let mut config = found.config.clone();
            config["machines"] = json!(machines);
            let change =
                UpdateAgent { agent_id, name: None, config: Some(config), model: None, max_concurrent: None };
            let changed = at.call(AgentUpdate, change).await?;
            let on =
                machines.map_or_else(|| "the machines of its project".to_owned(), |it| labels::shown(&it));
            let text = format!("{} runs on: {on}.", changed.name);
            Ok(Answer::new(changed.json, text))
        }
        Agent::List => {
            let page = at.call(AgentList, Empty {}).await?;
            let rows: Vec<Vec<String>> = page.items.iter().map(row).collect();
            let text = if rows.is_empty() {
                "No agents. Add one with `forge agent add NAME --command COMMAND`.".to_owned()
            } else {
                table(&["ID", "NAME", "RUNNING", "COMMAND"], &rows)
            };
            Ok(Answer::new(page.json, text))
        }
    }
}

fn row(agent: &agent::Agent) -> Vec<String> {
    let state = if agent.paused { " (paused)" } else { "" };
    vec![
        agent.id.to_string(),
        agent.name.clone(),
        format!("{} of {}{state}", agent.running, agent.max_concurrent),
        agent.config["command"].as_str().unwrap_or_default().to_owned(),
    ]
}

fn variables(pairs: &[String]) -> Result<Map<String, Value>, CliError> {
    pairs
        .iter()
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), Value::from(value))),
            _ => Err(CliError::Usage {
                message: format!("`{pair}` is not NAME=VALUE"),
                hint: "Write it as NAME=VALUE.",
            }),
        })
        .collect()
}

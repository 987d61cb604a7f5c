//! `forge agent`.

use forge_api::{
    operations::{AgentCreate, AgentList},
    ops::{Empty, agents::CreateAgent},
};
use forge_model::agent::{self, AdapterKind};
use serde_json::{Map, Value, json};

use crate::{answer::Answer, args::Agent, at::At, error::CliError, shown::table};

pub(crate) async fn run(at: &At, command: Agent) -> Result<Answer, CliError> {
    match command {
        Agent::Add { name, command, env, model, max_concurrent, args } => {
            let mut config = json!({ "command": command });
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

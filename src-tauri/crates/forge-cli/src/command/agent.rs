//! `forge agent`.

use serde_json::{Map, Value, json};

use crate::{
    answer::Answer,
    args::Agent,
    at::At,
    error::CliError,
    shown::{items, string, table},
};

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
            let mut input = json!({ "name": name, "adapter": "shell", "config": config });
            if let Some(model) = model {
                input["model"] = Value::from(model);
            }
            if let Some(most) = max_concurrent {
                input["max_concurrent"] = Value::from(most);
            }
            let agent = at.call("agent_create", input).await?;
            let text = format!("Added {} ({}).", string(&agent, "name"), string(&agent, "id"));
            Ok(Answer::new(agent, text))
        }
        Agent::List => {
            let page = at.call("agent_list", json!({})).await?;
            let rows: Vec<Vec<String>> = items(&page).iter().map(row).collect();
            let text = if rows.is_empty() {
                "No agents. Add one with `forge agent add NAME --command COMMAND`.".to_owned()
            } else {
                table(&["ID", "NAME", "RUNNING", "COMMAND"], &rows)
            };
            Ok(Answer::new(page, text))
        }
    }
}

fn row(agent: &Value) -> Vec<String> {
    let state = if agent["paused"] == true { " (paused)" } else { "" };
    vec![
        string(agent, "id"),
        string(agent, "name"),
        format!("{} of {}{state}", agent["running"], agent["max_concurrent"]),
        string(&agent["config"], "command"),
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

//! `forge agent`.

use forge_api::{
    operations::{
        AgentCheck, AgentCreate, AgentDelete, AgentGet, AgentKnown, AgentLimits, AgentList, AgentPause,
        AgentResume, AgentUpdate,
    },
    ops::{
        Empty,
        agents::{self, AgentPath, CreateAgent, KnownAgent, UpdateAgent},
    },
};
use forge_model::{
    agent::{self, AdapterKind},
    ids::AgentId,
    time::Timestamp,
    words::counted,
};
use serde_json::{Map, Value, json};

use crate::{
    answer::Answer,
    args::{Agent, EditAgent},
    at::At,
    error::CliError,
    labels,
    shown::{NONE, printable, table},
    words::{program_key, time},
};

pub(crate) async fn run(at: &At, command: Agent) -> Result<Answer, CliError> {
    match command {
        Agent::Add { name, program, command, env, model, max_concurrent, machine, args } => {
            let (adapter, mut config, args) = match (program, command) {
                (None, command) => (AdapterKind::Shell, json!({ "command": command }), args),
                (Some(program), _) => supported(at, &program, args).await?,
            };
            if let Some(machines) = labels::required(machine)? {
                config["machines"] = json!(machines);
            }
            if !args.is_empty() {
                // Behind those that the program always needs.
                let needed = config["args"].as_array().cloned().unwrap_or_default();
                config["args"] = needed.into_iter().chain(args.into_iter().map(Value::from)).collect();
            }
            if !env.is_empty() {
                config["env"] = Value::Object(variables(&env)?);
            }
            let new = CreateAgent { name, adapter, config, model, max_concurrent };
            let agent = at.call(AgentCreate, new).await?;
            let text = format!("Added {} ({}).", agent.name, agent.id);
            Ok(Answer::new(agent.json, text))
        }
        Agent::Edit(change) => edit(at, change).await,
        Agent::Scoreboard(asked) => super::scoreboard::run(at, asked).await,
        Agent::Limits => limits(at).await,
        Agent::Detect => {
            let page = at.call(AgentKnown, Empty {}).await?;
            let rows: Vec<Vec<String>> = page.items.iter().map(known_row).collect();
            let text = table(&["PROGRAM", "NAME", "VERSION", "SIGNED IN", ""], &rows);
            Ok(Answer::new(page.json, text))
        }
        Agent::Check { agent } => {
            let check = at.call(AgentCheck, path(at, &agent).await?).await?;
            let text = checked(&check);
            Ok(Answer { good: check.problem.is_none(), ..Answer::new(check.json, text) })
        }
        Agent::Pause { agent } => {
            let agent = at.call(AgentPause, path(at, &agent).await?).await?;
            let text = format!("{} starts no new runs.", agent.name);
            Ok(Answer::new(agent.json, text))
        }
        Agent::Resume { agent } => {
            let agent = at.call(AgentResume, path(at, &agent).await?).await?;
            let text = format!("{} may start new runs again.", agent.name);
            Ok(Answer::new(agent.json, text))
        }
        Agent::Remove { agent } => {
            let done = at.call(AgentDelete, path(at, &agent).await?).await?;
            Ok(Answer::new(done.json, format!("Removed {agent}.")))
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

async fn limits(at: &At) -> Result<Answer, CliError> {
    let agents = at.call(AgentList, Empty {}).await?.value.items;
    let page = at.call(AgentLimits, Empty {}).await?;
    let mut rows = Vec::new();
    for it in &page.items {
        let name = agents.iter().find(|agent| agent.id == it.agent_id).map_or(NONE, |agent| &agent.name);
        let row = |window: String, used: String, until: Option<Timestamp>| {
            vec![name.to_owned(), window, used, until.map_or_else(|| NONE.to_owned(), time)]
        };
        if let Some(until) = it.limited_until {
            rows.push(row("refused".to_owned(), NONE.to_owned(), Some(until)));
        }
        rows.extend(
            it.windows.iter().map(|it| row(it.label(), format!("{} %", it.used_percent), it.resets_at)),
        );
    }
    let text = match rows.as_slice() {
        [] => "No agent's program has reported a limit.".to_owned(),
        rows => table(&["AGENT", "LIMIT", "USED", "UNTIL"], rows),
    };
    Ok(Answer::new(page.json, text))
}

async fn path(at: &At, agent: &str) -> Result<AgentPath, CliError> {
    Ok(AgentPath { agent_id: AgentId::from(at.holder(agent).await?) })
}

/// A supported program by its name, with the configuration that it needs and what is left of the arguments. Of another
/// program that speaks the Agent Client Protocol, the first argument is the program.
async fn supported(
    at: &At,
    program: &str,
    args: Vec<String>,
) -> Result<(AdapterKind, Value, Vec<String>), CliError> {
    match program.parse() {
        Ok(AdapterKind::Acp) => {}
        // What drives only this program knows its name and arguments itself.
        Ok(adapter) => return Ok((adapter, json!({}), args)),
        Err(_) => {
            let known = at.call(AgentKnown, Empty {}).await?.value.items;
            let known = known.into_iter().find(|it| program_key(it) == program);
            return known.map(|it| (it.adapter, it.config, args)).ok_or_else(|| CliError::Usage {
                message: format!("`{program}` is not a supported program"),
                hint: "List them with `forge agent detect`, or use --command.",
            });
        }
    }
    let mut args = args.into_iter();
    let program = args.next().ok_or_else(|| CliError::Usage {
        message: "no program was named that speaks the Agent Client Protocol".to_owned(),
        hint: "Name it after `--`: `forge agent add NAME --program acp -- PROGRAM ARGUMENTS`.",
    })?;
    Ok((AdapterKind::Acp, json!({ "program": program }), args.collect()))
}

async fn edit(at: &At, change: EditAgent) -> Result<Answer, CliError> {
    let EditAgent { agent, name, model, max_concurrent, machine, default_machine } = change;
    let path = path(at, &agent).await?;
    let machines = labels::required(machine)?;
    let is_placed = machines.is_some() || default_machine;
    if name.is_none() && model.is_none() && max_concurrent.is_none() && !is_placed {
        return Err(CliError::Usage {
            message: "no change was given".to_owned(),
            hint: "`forge agent edit --help` lists what can be.",
        });
    }
    let config = match is_placed {
        true => {
            let mut config = at.call(AgentGet, path.clone()).await?.value.config;
            config["machines"] = json!(machines);
            Some(config)
        }
        false => None,
    };
    // An empty name leaves the choice to the program again.
    let model = model.map(|model| Some(model).filter(|model| !model.trim().is_empty()));
    let change = UpdateAgent { agent_id: path.agent_id, name, config, model, max_concurrent };
    let changed = at.call(AgentUpdate, change).await?;
    let model = changed.model.as_deref().unwrap_or("chosen by the program");
    let runs = counted(changed.max_concurrent.into(), "concurrent run", "concurrent runs");
    let mut text = format!("{}: model {model}, up to {runs}.", changed.name);
    if is_placed {
        let on = machines.map_or_else(|| "the machines of its project".to_owned(), |it| labels::shown(&it));
        text.push_str(&format!("\n{} runs on: {on}.", changed.name));
    }
    Ok(Answer::new(changed.json, text))
}

fn known_row(known: &KnownAgent) -> Vec<String> {
    let check = &known.check;
    let signed_in = match check.signed_in {
        Some(true) => "yes",
        Some(false) => "no",
        None => NONE,
    };
    let version = match (&check.version, check.found) {
        (Some(version), _) => version.clone(),
        (None, true) => "found".to_owned(),
        (None, false) => "missing".to_owned(),
    };
    let remedy = check.remedy.clone().unwrap_or_default();
    vec![program_key(known), known.name.clone(), version, signed_in.to_owned(), remedy]
}

fn checked(check: &agents::AgentCheck) -> String {
    let program = check.program.as_deref().unwrap_or("The program");
    let version = check.version.as_ref().map(|version| format!(", version {version}")).unwrap_or_default();
    let mut lines = vec![match check.found {
        true => format!("{program} is found{version}."),
        false => format!("{program} is not found."),
    }];
    lines.extend(
        check.signed_in.map(|is| if is { "Signed in.".to_owned() } else { "Not signed in.".to_owned() }),
    );
    lines.extend(check.problem.iter().chain(&check.remedy).cloned());
    printable(&lines.join("\n"))
}

fn row(agent: &agent::Agent) -> Vec<String> {
    let state = if agent.paused { " (paused)" } else { "" };
    vec![
        agent.id.to_string(),
        agent.name.clone(),
        format!("{} of {}{state}", agent.running, agent.max_concurrent),
        agent.config["command"].as_str().map_or_else(|| agent.adapter.to_string(), str::to_owned),
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

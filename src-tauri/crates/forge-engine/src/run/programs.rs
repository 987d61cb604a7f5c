//! Agent programs on this machine: which are installed, what they offer, and whether a profile works.

use std::time::{Duration, Instant};

use forge_agents::log::DEFAULT_CAP_BYTES;
use forge_agents::{
    AgentError, Control, Detected, Launch, Limits, LogReader, LogWriter, SessionRequest, adapter,
};
use forge_model::agent::{AdapterKind, Agent, AgentModel, PermissionMode};
use forge_model::execution::ExecutionRole;
use forge_model::ids::AgentId;
use forge_model::log::EntryKind;
use serde_json::{Value, json};

use crate::{
    EngineError, World,
    core::{self, environment::TRIALS, private_data},
    cost::prices::{Cost, Ledger},
    error::Result,
    program,
};

/// A program that Forge knows how to drive.
#[derive(Debug, Clone, Copy)]
struct Known {
    name: &'static str,
    adapter: AdapterKind,
    program: &'static str,
    args: &'static [&'static str],
}

/// What is looked for on the machine.
const KNOWN: &[Known] = &[
    Known { name: "Codex", adapter: AdapterKind::Codex, program: "codex", args: &[] },
    Known { name: "Claude Code", adapter: AdapterKind::Claude, program: "claude", args: &[] },
    Known { name: "OpenCode", adapter: AdapterKind::Acp, program: "opencode", args: &["acp"] },
    Known { name: "Gemini CLI", adapter: AdapterKind::Acp, program: "gemini", args: &["--acp"] },
];

/// How long a trial may take.
const TRIAL_TIME: Duration = Duration::from_secs(120);
/// From the gentle signal to the kill of a trial.
const TRIAL_GRACE: Duration = Duration::from_secs(2);
/// What a trial asks.
const TRIAL_PROMPT: &str = "Answer with the one word `ready` and do nothing else.";

/// What the look for a known program found.
#[derive(Debug)]
pub struct KnownProgram {
    /// Display name.
    pub name: &'static str,
    /// How it is driven.
    pub adapter: AdapterKind,
    /// The configuration of a profile for it.
    pub config: Value,
    /// Where it is, or why it cannot be used.
    pub found: std::result::Result<Detected, AgentError>,
    /// The profiles that use it, by name.
    pub profiles: Vec<String>,
}

/// How a trial of a profile went.
#[derive(Debug)]
pub struct Trial {
    /// Whether the agent answered.
    pub result: std::result::Result<(), AgentError>,
    /// What it said.
    pub text: String,
    /// From its start to its end.
    pub took: Duration,
    /// What it cost, in micro-dollars.
    pub cost_micro_usd: Option<u64>,
}

/// Looks for the programs that Forge knows.
pub(crate) async fn known_programs(world: &World) -> Result<Vec<KnownProgram>> {
    let agents = world.store().read().await?.agents().list().await?;
    let refreshed = refreshed_login(world).await;
    let looks = KNOWN.iter().map(|known| {
        let (agents, refreshed) = (&agents, &refreshed);
        async move {
            let mut config = json!({ "program": known.program });
            if !known.args.is_empty() {
                config = json!({ "program": known.program, "args": known.args });
            }
            let found = match refreshed {
                Ok(()) => detect_program(world, known.adapter, &config).await,
                Err(error) => Err(error.clone()),
            };
            let uses = |agent: &&Agent| {
                agent.adapter == known.adapter
                    && program_of(agent)
                        .is_none_or(|program| program.rsplit('/').next().unwrap_or_default() == known.program)
            };
            let profiles = agents.iter().filter(uses).map(|agent| agent.name.clone()).collect();
            KnownProgram { name: known.name, adapter: known.adapter, config, found, profiles }
        }
    });
    Ok(futures::future::join_all(looks).await)
}

/// The models that a program offers; empty for adapters that cannot tell. The inner error is for people to read.
pub(crate) async fn models_of(
    world: &World,
    kind: AdapterKind,
    config: &Value,
) -> Result<std::result::Result<Vec<AgentModel>, AgentError>> {
    if let Err(error) = refreshed_login(world).await {
        return Ok(Err(error));
    }
    Ok(match core::environment::probe_folder(world, kind, config).await {
        Ok(place) => adapter(kind).models(config, &place).await,
        Err(error) => Err(error),
    })
}

/// Lets an agent answer one word, in an empty folder of its own, without permission to change anything. What it
/// costs is the user's, is told with the answer, and is in no task's, project's or day's sum: it belongs to none.
pub(crate) async fn try_agent(world: &World, id: &AgentId) -> Result<Trial> {
    let found = world.store().read().await?.agents().get(id).await?;
    let agent = found.ok_or_else(|| EngineError::not_found("agent", id))?;
    let trial = format!("trial-{}", world.inner.config.ids.new_id());
    let folder = world.data_dir().join(TRIALS).join(&trial);
    let made = tokio::fs::create_dir_all(&folder).await;
    made.map_err(EngineError::io("create a folder for the trial"))?;
    let tried = try_in(world, &agent, &trial, &folder).await;
    if let Err(error) = tokio::fs::remove_dir_all(&folder).await {
        tracing::warn!(%error, folder = %folder.display(), "failed to remove the folder of a trial");
    }
    tried
}

/// Looks for a program in a folder of its own.
pub(crate) async fn detect_program(
    world: &World,
    kind: AdapterKind,
    config: &Value,
) -> std::result::Result<Detected, AgentError> {
    let place = core::environment::probe_folder(world, kind, config).await?;
    adapter(kind).detect(config, &place).await
}

async fn try_in(world: &World, agent: &Agent, trial: &str, folder: &std::path::Path) -> Result<Trial> {
    let (logs, tree) = (folder.join("log"), folder.join("tree"));
    let prompt_file = folder.join("prompt.md");
    tokio::fs::create_dir_all(&tree).await.map_err(EngineError::io("create a folder for the trial"))?;
    private_data::write(&prompt_file, TRIAL_PROMPT).await.map_err(EngineError::io("write the prompt"))?;
    let environment = core::environment::agent_environment(world, None, agent, None).await?;
    let redactor = std::sync::Arc::clone(environment.redactor());
    let log = LogWriter::open(&logs, trial, trial, DEFAULT_CAP_BYTES, redactor)?;
    let launch = Launch {
        execution_id: trial.to_owned(),
        task_id: trial.to_owned(),
        keeper: world.keeper().clone(),
        process: 1,
        kept: 0,
        memo: Vec::new(),
        log: log.clone(),
        config: agent.config.clone(),
        model: agent.model.clone(),
        prompt: TRIAL_PROMPT.to_owned(),
        prompt_file: prompt_file.clone(),
        worktree: tree,
        given: None,
        base: environment.base(),
        env: Vec::new(),
        shell: vec!["sh".to_owned(), "-c".to_owned()],
        // Nothing of a project is there: it is the program as the user starts it.
        sandbox: None,
        limits: Limits { wall_clock: Some(TRIAL_TIME), ..Limits::default() },
        grace: TRIAL_GRACE,
        session: SessionRequest::New,
        carry: None,
        role: ExecutionRole::Drafter,
        permissions: PermissionMode::ReadOnly,
        mcp: None,
        started: Box::new(|_| {}),
    };
    let (control, _handle, _told) = Control::new(world.inner.shutdown.child_token());
    let begun = Instant::now();
    let outcome = adapter(agent.adapter).run(launch, &control).await;
    super::kept::forget_processes(world, &forge_model::ids::ExecutionId(trial.to_owned())).await;
    program::log::close_log(world, log).await?;
    let mut ledger = Ledger::default();
    for sample in &outcome.usage {
        ledger.add(sample, &std::collections::BTreeMap::new());
    }
    let Cost { micro_usd, .. } = ledger.cost();
    let text = said_in(&logs, trial)?;
    Ok(Trial { result: outcome.result, text, took: begun.elapsed(), cost_micro_usd: micro_usd })
}

/// Takes the login shell's environment anew: a program may just have been installed.
pub(crate) async fn refreshed_login(world: &World) -> std::result::Result<(), AgentError> {
    let taken = world.inner.logins.refresh(&world.inner.login_shell).await;
    taken.map(drop).map_err(|error| AgentError::Unavailable {
        program: "the login shell".to_owned(),
        detail: error.to_string(),
    })
}

fn program_of(agent: &Agent) -> Option<&str> {
    agent.config.get("program").and_then(Value::as_str)
}

/// What an agent said last in a log: its text, else what its command printed.
fn said_in(logs: &std::path::Path, log: &str) -> Result<String> {
    let page = LogReader::page(logs, log, None, None, 200)?;
    let of = |kinds: &[EntryKind]| {
        let texts = page.entries.iter().filter(|entry| kinds.contains(&entry.kind));
        texts
            .filter_map(|entry| entry.body.get("text").and_then(Value::as_str))
            .next_back()
            .map(str::to_owned)
    };
    Ok(of(&[EntryKind::AssistantText]).or_else(|| of(&[EntryKind::Stdout])).unwrap_or_default())
}

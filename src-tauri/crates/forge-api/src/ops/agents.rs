//! Agent profiles.

use forge_engine::{AgentError, Detected, NewAgent};
use forge_model::actor::Actor;
use forge_model::agent::{AdapterKind, Agent, AgentLimits, AgentModel, env_value, restore_secrets};
use forge_model::ids::AgentId;
use forge_model::redact::Redactor;
use serde_json::Value;

use super::{Done, Empty, Page, answer, input};
use crate::{Api, ApiError, input::nullable};

input! {
    /// An agent profile to add.
    pub struct CreateAgent {
        /// Display name.
        pub name: String,
        /// The adapter that starts and controls the program.
        pub adapter: AdapterKind,
        /// Configuration of the adapter; for `shell`: `{command, args?, env?, wall_clock_seconds?, silence_seconds?}`.
        #[specta(type = specta_typescript::Unknown)]
        pub config: Value,
        /// The model to request.
        #[serde(default)]
        pub model: Option<String>,
        /// Maximum number of concurrent runs; 1 when absent.
        #[serde(default)]
        pub max_concurrent: Option<u32>,
    }

    /// Changes to an agent profile.
    pub struct UpdateAgent {
        /// The profile.
        pub agent_id: AgentId,
        /// Display name.
        #[serde(default)]
        pub name: Option<String>,
        /// Configuration of the adapter.
        #[serde(default)]
        #[specta(type = Option<specta_typescript::Unknown>)]
        pub config: Option<Value>,
        /// The model; null removes it.
        #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
        #[specta(type = Option<String>)]
        #[schemars(with = "Option<String>")]
        pub model: Option<Option<String>>,
        /// Maximum number of concurrent runs.
        #[serde(default)]
        pub max_concurrent: Option<u32>,
    }

    /// A program to detect, by a profile that need not be saved.
    pub struct ProbeAgent {
        /// The adapter that starts and controls the program.
        pub adapter: AdapterKind,
        /// Configuration of the adapter.
        #[specta(type = specta_typescript::Unknown)]
        pub config: Value,
    }

    /// An agent profile by its id.
    pub struct AgentPath {
        /// The profile.
        pub agent_id: AgentId,
    }
}

answer! {
    /// Result of detecting an agent's program.
    pub struct AgentCheck {
        /// Whether it can be started.
        pub found: bool,
        /// Path of the program.
        pub program: Option<String>,
        /// Version, if the program reports one.
        pub version: Option<String>,
        /// Whether the program is signed in; null if unknown.
        pub signed_in: Option<bool>,
        /// Why it cannot be started.
        pub problem: Option<String>,
        /// Remedy.
        pub remedy: Option<String>,
    }
}

answer! {
    /// A supported agent program.
    pub struct KnownAgent {
        /// Display name.
        pub name: String,
        /// The adapter that starts and controls the program.
        pub adapter: AdapterKind,
        /// Adapter configuration of a profile for the program.
        #[specta(type = specta_typescript::Unknown)]
        pub config: Value,
        /// Result of detecting the program.
        pub check: AgentCheck,
        /// Names of the profiles that use the program.
        pub profiles: Vec<String>,
    }

    /// The models that a program offers.
    pub struct AgentModels {
        /// The models; empty if the program does not list them.
        pub models: Vec<AgentModel>,
        /// Why the models could not be listed.
        pub problem: Option<String>,
        /// Remedy.
        pub remedy: Option<String>,
    }

    /// Result of trying an agent.
    pub struct AgentTrial {
        /// Whether the agent answered.
        pub ok: bool,
        /// The agent's answer.
        pub text: String,
        /// Why the agent did not answer.
        pub problem: Option<String>,
        /// Remedy.
        pub remedy: Option<String>,
        /// Duration from start to end.
        #[specta(type = f64)]
        pub duration_ms: u64,
        /// Cost in micro-dollars; null if unknown.
        #[specta(type = Option<f64>)]
        pub cost_micro_usd: Option<u64>,
    }
}

impl AgentCheck {
    /// What was found, without the secrets in what the program said.
    fn of(found: Result<Detected, AgentError>, redactor: &Redactor) -> Self {
        match found {
            Ok(found) => Self {
                found: true,
                program: Some(found.program.to_string_lossy().into_owned()),
                version: found.version.map(|version| redactor.string(version)),
                signed_in: found.signed_in,
                problem: None,
                remedy: None,
            },
            Err(error) => Self {
                found: false,
                program: None,
                version: None,
                signed_in: None,
                problem: Some(redactor.string(error.to_string())),
                remedy: Some(error.remedy().to_owned()),
            },
        }
    }
}

pub(crate) async fn known(api: Api, _: Actor, _: Empty) -> Result<Page<KnownAgent>, ApiError> {
    let found = api.engine().known_programs().await?;
    let redactor = api.engine().redactor(None);
    let found = found.into_iter().map(|known| KnownAgent {
        name: known.name.to_owned(),
        adapter: known.adapter,
        config: known.config,
        check: AgentCheck::of(known.found, &redactor),
        profiles: known.profiles,
    });
    Ok(Page::whole(found.collect()))
}

pub(crate) async fn probe(api: Api, _: Actor, probe: ProbeAgent) -> Result<AgentCheck, ApiError> {
    let config = with_stored_secrets(&api, probe.config).await?;
    let found = api.engine().probe_program(probe.adapter, &config).await?;
    Ok(AgentCheck::of(found, &api.engine().redactor(None)))
}

pub(crate) async fn models(api: Api, _: Actor, probe: ProbeAgent) -> Result<AgentModels, ApiError> {
    let config = with_stored_secrets(&api, probe.config).await?;
    let asked = api.engine().models_of(probe.adapter, &config).await?;
    Ok(match asked {
        Ok(models) => AgentModels { models, problem: None, remedy: None },
        Err(error) => AgentModels {
            models: Vec::new(),
            problem: Some(api.engine().redactor(None).string(error.to_string())),
            remedy: Some(error.remedy().to_owned()),
        },
    })
}

pub(crate) async fn trial(api: Api, _: Actor, path: AgentPath) -> Result<AgentTrial, ApiError> {
    let trial = api.engine().try_agent(&path.agent_id).await?;
    let error = trial.result.err();
    Ok(AgentTrial {
        ok: error.is_none(),
        text: trial.text,
        problem: error.as_ref().map(|error| api.engine().redactor(None).string(error.to_string())),
        remedy: error.map(|error| error.remedy().to_owned()),
        duration_ms: u64::try_from(trial.took.as_millis()).unwrap_or(u64::MAX),
        cost_micro_usd: trial.cost_micro_usd,
    })
}

/// A configuration that is asked about while it is edited has placeholders for the secrets of the profile that it comes
/// from. A value counts when all profiles with such a variable have the same.
async fn with_stored_secrets(api: &Api, mut config: Value) -> Result<Value, ApiError> {
    let agents = api.engine().agents().await?;
    restore_secrets(&mut config, |name| {
        let mut values = agents.iter().filter_map(|agent| env_value(&agent.config, name));
        let first = values.next()?;
        values.all(|other| other == first).then_some(first)
    });
    Ok(config)
}

pub(crate) async fn list(api: Api, _: Actor, _: Empty) -> Result<Page<Agent>, ApiError> {
    let agents = api.engine().agents().await?;
    Ok(Page::whole(agents.into_iter().map(Agent::without_secrets).collect()))
}

pub(crate) async fn create(api: Api, _: Actor, new: CreateAgent) -> Result<Agent, ApiError> {
    let new = NewAgent {
        name: Some(new.name),
        adapter: Some(new.adapter),
        config: Some(new.config),
        model: Some(new.model),
        max_concurrent: new.max_concurrent,
        paused: None,
    };
    Ok(api.engine().create_agent(new).await?.without_secrets())
}

pub(crate) async fn get(api: Api, _: Actor, path: AgentPath) -> Result<Agent, ApiError> {
    Ok(api.engine().agent(&path.agent_id).await?.without_secrets())
}

pub(crate) async fn update(api: Api, _: Actor, change: UpdateAgent) -> Result<Agent, ApiError> {
    let edit = NewAgent {
        name: change.name,
        config: change.config,
        model: change.model,
        max_concurrent: change.max_concurrent,
        ..NewAgent::default()
    };
    Ok(api.engine().update_agent(&change.agent_id, edit).await?.without_secrets())
}

pub(crate) async fn delete(api: Api, _: Actor, path: AgentPath) -> Result<Done, ApiError> {
    api.engine().delete_agent(&path.agent_id).await?;
    Ok(Done::yes())
}

pub(crate) async fn pause(api: Api, _: Actor, path: AgentPath) -> Result<Agent, ApiError> {
    Ok(api
        .engine()
        .update_agent(&path.agent_id, NewAgent { paused: Some(true), ..NewAgent::default() })
        .await?
        .without_secrets())
}

pub(crate) async fn resume(api: Api, _: Actor, path: AgentPath) -> Result<Agent, ApiError> {
    Ok(api
        .engine()
        .update_agent(&path.agent_id, NewAgent { paused: Some(false), ..NewAgent::default() })
        .await?
        .without_secrets())
}

pub(crate) async fn check(api: Api, _: Actor, path: AgentPath) -> Result<AgentCheck, ApiError> {
    let found = api.engine().detect_agent(&path.agent_id).await?;
    Ok(AgentCheck::of(found, &api.engine().redactor(None)))
}

pub(crate) async fn limits(api: Api, _: Actor, _: Empty) -> Result<Page<AgentLimits>, ApiError> {
    Ok(Page::whole(api.engine().agent_limits().await?))
}

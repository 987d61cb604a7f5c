//! Agent profiles.

use forge_engine::NewAgent;
use forge_model::actor::Via;
use forge_model::agent::{AdapterKind, Agent};
use forge_model::ids::AgentId;
use serde_json::Value;

use super::{Done, Empty, Page, answer, input};
use crate::{Api, ApiError, input::nullable};

input! {
    /// An agent profile to add.
    pub struct CreateAgent {
        /// What people call it.
        pub name: String,
        /// How it is driven.
        pub adapter: AdapterKind,
        /// The adapter's own configuration; for `shell`: `{command, args?, env?, wall_clock_seconds?, silence_seconds?}`.
        #[specta(type = specta_typescript::Unknown)]
        pub config: Value,
        /// The model it is asked to use.
        #[serde(default)]
        pub model: Option<String>,
        /// How many of its executions may run at once; 1 when absent.
        #[serde(default)]
        pub max_concurrent: Option<u32>,
    }

    /// What is to change of an agent profile.
    pub struct UpdateAgent {
        /// The profile.
        pub agent_id: AgentId,
        /// What people call it.
        #[serde(default)]
        pub name: Option<String>,
        /// The adapter's own configuration.
        #[serde(default)]
        #[specta(type = Option<specta_typescript::Unknown>)]
        pub config: Option<Value>,
        /// The model; null takes it away.
        #[serde(default, deserialize_with = "nullable")]
        #[specta(type = Option<String>)]
        #[schemars(with = "Option<String>")]
        pub model: Option<Option<String>>,
        /// How many of its executions may run at once.
        #[serde(default)]
        pub max_concurrent: Option<u32>,
    }

    /// An agent profile by its id.
    pub struct AgentPath {
        /// The profile.
        pub agent_id: AgentId,
    }
}

answer! {
    /// What a look for an agent's program found.
    pub struct AgentCheck {
        /// Whether it can be started.
        pub found: bool,
        /// Where it is.
        pub program: Option<String>,
        /// Its version, when it tells one.
        pub version: Option<String>,
        /// Why it cannot be started.
        pub problem: Option<String>,
        /// What to do about it.
        pub remedy: Option<String>,
    }
}

pub(crate) async fn list(api: Api, _: Via, _: Empty) -> Result<Page<Agent>, ApiError> {
    Ok(Page::whole(api.engine().agents().await?))
}

pub(crate) async fn create(api: Api, _: Via, new: CreateAgent) -> Result<Agent, ApiError> {
    let new = NewAgent {
        name: Some(new.name),
        adapter: Some(new.adapter),
        config: Some(new.config),
        model: Some(new.model),
        max_concurrent: new.max_concurrent,
        paused: None,
    };
    Ok(api.engine().create_agent(new).await?)
}

pub(crate) async fn get(api: Api, _: Via, path: AgentPath) -> Result<Agent, ApiError> {
    Ok(api.engine().agent(&path.agent_id).await?)
}

pub(crate) async fn update(api: Api, _: Via, change: UpdateAgent) -> Result<Agent, ApiError> {
    let edit = NewAgent {
        name: change.name,
        config: change.config,
        model: change.model,
        max_concurrent: change.max_concurrent,
        ..NewAgent::default()
    };
    Ok(api.engine().update_agent(&change.agent_id, edit).await?)
}

pub(crate) async fn delete(api: Api, _: Via, path: AgentPath) -> Result<Done, ApiError> {
    api.engine().delete_agent(&path.agent_id).await?;
    Ok(Done::yes())
}

pub(crate) async fn pause(api: Api, _: Via, path: AgentPath) -> Result<Agent, ApiError> {
    Ok(api
        .engine()
        .update_agent(&path.agent_id, NewAgent { paused: Some(true), ..NewAgent::default() })
        .await?)
}

pub(crate) async fn resume(api: Api, _: Via, path: AgentPath) -> Result<Agent, ApiError> {
    Ok(api
        .engine()
        .update_agent(&path.agent_id, NewAgent { paused: Some(false), ..NewAgent::default() })
        .await?)
}

pub(crate) async fn check(api: Api, _: Via, path: AgentPath) -> Result<AgentCheck, ApiError> {
    Ok(match api.engine().detect_agent(&path.agent_id).await? {
        Ok(found) => AgentCheck {
            found: true,
            program: Some(found.program.to_string_lossy().into_owned()),
            version: found.version,
            problem: None,
            remedy: None,
        },
        Err(error) => AgentCheck {
            found: false,
            program: None,
            version: None,
            problem: Some(error.to_string()),
            remedy: Some(error.remedy().to_owned()),
        },
    })
}

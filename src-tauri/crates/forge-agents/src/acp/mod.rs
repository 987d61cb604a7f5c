//! The adapter of any program that speaks the Agent Client Protocol, version 1.

use async_trait::async_trait;
use forge_model::agent::{AdapterKind, AgentModel};
use serde_json::Value;

use crate::{Adapter, AgentError, Capabilities, Control, Detected, Launch, RunOutcome, program};

/// Drives any program that speaks the Agent Client Protocol, version 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct AcpAdapter;

#[async_trait]
impl Adapter for AcpAdapter {
    fn kind(&self) -> AdapterKind {
        AdapterKind::Acp
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    async fn detect(&self, config: &Value, _path: &str) -> Result<Detected, AgentError> {
        program::parse(config).and(Err(unserved()))
    }

    async fn models(&self, _config: &Value, _path: &str) -> Result<Vec<AgentModel>, AgentError> {
        Err(unserved())
    }

    async fn run(&self, _launch: Launch, _control: &Control) -> RunOutcome {
        RunOutcome::failed(unserved())
    }
}

fn unserved() -> AgentError {
    AgentError::Unavailable { program: "acp".to_owned(), detail: "not served yet".to_owned() }
}

//! Who asks, and who does what is asked.

use async_trait::async_trait;
use forge_api::{Api, ApiError, RunScope};
use forge_model::actor::Via;
use serde_json::Value;

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// The person, by a program of theirs.
    Person,
    /// An agent that Forge started, with the token of its run.
    Run(RunScope),
}

/// What does the operations of the contract.
#[async_trait]
pub trait Backend: Clone + Send + Sync + 'static {
    /// Does one operation.
    ///
    /// # Errors
    /// What the operation refuses, and what the caller's scope does.
    async fn call(&self, caller: &Caller, op: &str, input: Value) -> Result<Value, ApiError>;
}

#[async_trait]
impl Backend for Api {
    async fn call(&self, caller: &Caller, op: &str, input: Value) -> Result<Value, ApiError> {
        match caller {
            Caller::Person => Self::call(self, Via::Mcp, op, input).await,
            Caller::Run(scope) => self.call_within(scope, op, input).await,
        }
    }
}

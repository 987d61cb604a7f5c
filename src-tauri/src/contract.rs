//! The contract as the shell itself asks it: by types, in the name of the board.

use forge_api::{Api, ApiError, Client, MisfitError};
use forge_model::actor::Via;
use serde_json::Value;

/// Why an operation gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It is refused.
    #[error(transparent)]
    Refused(#[from] ApiError),
    /// The answer is not what the contract says.
    #[error(transparent)]
    Answer(#[from] MisfitError),
}

/// The engine of this process, asked in the name of the board.
pub struct Contract<'a>(pub &'a Api);

impl Client for Contract<'_> {
    type Error = AskError;

    async fn send(&self, operation: &str, input: Value) -> Result<Value, AskError> {
        Ok(self.0.call(Via::Board, operation, input).await?)
    }
}

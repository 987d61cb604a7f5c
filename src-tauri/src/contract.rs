//! The contract as the shell itself asks it: by types, in the name of the board.

use forge_api::{ApiError, Client, MisfitError};
use serde_json::Value;

use crate::host::WindowEngine;

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

/// The engine of the window, asked in the name of the board.
pub struct Contract<'a>(pub &'a WindowEngine);

impl Client for Contract<'_> {
    type Error = AskError;

    async fn send(&self, operation: &str, input: Value) -> Result<Value, AskError> {
        Ok(self.0.call(operation, input).await?)
    }
}

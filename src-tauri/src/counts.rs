//! The two numbers that the shell itself needs, asked of the contract like everything else.

use forge_api::{Api, ApiError};
use forge_model::actor::Via;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::json;

/// The most that one answer lists; the tray shows no more.
const MOST: u32 = 200;

/// Why something could not be counted.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    /// The operation is refused.
    #[error(transparent)]
    Refused(#[from] ApiError),
    /// The answer is not what the contract says.
    #[error("Could not read the answer: {0}")]
    Answer(#[from] serde_json::Error),
}

#[derive(Deserialize)]
struct Page<T> {
    items: Vec<T>,
}

#[derive(Deserialize)]
struct Agent {
    running: usize,
}

/// How many tasks need the person, up to 200.
pub async fn attention(api: &Api) -> Result<usize, CountError> {
    let answer = api.call(Via::Board, "attention", json!({ "limit": MOST })).await?;
    Ok(Page::<IgnoredAny>::deserialize(answer)?.items.len())
}

/// How many agents are at work.
pub async fn running_agents(api: &Api) -> Result<usize, CountError> {
    let answer = api.call(Via::Board, "agent_list", json!({})).await?;
    Ok(Page::<Agent>::deserialize(answer)?.items.iter().map(|agent| agent.running).sum())
}

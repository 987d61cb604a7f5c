//! The two numbers that the shell itself needs, asked of the contract like everything else.

use forge_api::{
    Api, Client as _,
    operations::{AgentList, Attention},
    ops::{Empty, tasks::Limited},
};

use crate::{
    contract::{AskError, Contract},
    host::WindowEngine,
};

/// The most that one answer lists; the tray shows no more.
const MOST: u32 = 200;

/// How many tasks need the person, up to 200.
pub async fn attention(api: &Api) -> Result<usize, AskError> {
    let engine = WindowEngine::Here(api.clone());
    Ok(Contract(&engine).call(Attention, Limited { limit: Some(MOST), cursor: None }).await?.items.len())
}

/// How many agents are at work.
pub async fn running_agents(api: &Api) -> Result<usize, AskError> {
    let engine = WindowEngine::Here(api.clone());
    Ok(Contract(&engine)
        .call(AgentList, Empty {})
        .await?
        .items
        .iter()
        .map(|agent| agent.running as usize)
        .sum())
}

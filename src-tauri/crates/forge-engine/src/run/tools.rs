//! Forge's own tools for runs on other machines, whose programs call by their keeper.
//!
//! What a call may do is decided where calls by HTTP are: whoever serves this engine gives it what answers. A call is
//! taken once an engine serves; until then it waits there.

use std::{
    convert::Infallible,
    future::pending,
    sync::{Arc, Weak},
};

use async_trait::async_trait;
use forge_agents::ForgeMcp;
use forge_keeper::{CallAnswerer, McpProgram};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    World,
    core::location::{Location, There},
    error::Result,
    run::{prepared::Prepared, tokens},
};

/// What answers messages of the Model Context Protocol. It is given by whoever serves this engine.
#[async_trait]
pub trait ToolServer: Send + Sync + 'static {
    /// Answers a message of a run that shows this token; none where there is nothing to answer. `client` is which program
    /// of the run speaks, as its requests are numbered by itself.
    async fn answer(&self, token: &str, client: u64, message: &[u8]) -> Option<Vec<u8>>;

    /// Refuses a message, for this reason; none where there is nothing to answer.
    fn refuse(&self, message: &[u8], why: &str) -> Option<Vec<u8>>;
}

/// Said of a call that an engine had which is gone.
const UNKNOWN: &str = "Forge was restarted while it worked on this call, so it may have been done. Look at the state \
    before you call again.";

/// What answers calls, once this engine is served. It knows this engine, so it is not held here.
struct Server(watch::Sender<Option<Weak<dyn ToolServer>>>);

impl Default for Server {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

/// Says what answers the calls of runs on other machines.
pub(crate) fn set_tool_server(world: &World, server: Weak<dyn ToolServer>) {
    world.part::<Server>().0.send_replace(Some(server));
}

/// Forge's own tools, when the project lets its agents use them and they are served: by HTTP here, by a program there.
pub(super) async fn mcp_of(
    world: &World,
    p: &Prepared,
    location: &Location,
    cancel: &CancellationToken,
) -> Result<Option<ForgeMcp>> {
    let Some(url) = tokens::mcp_url(world).filter(|_| p.context.settings.mcp.inject) else {
        return Ok(None);
    };
    let run = &p.row.execution.id;
    let there = match location {
        Location::Here => {
            return Ok(Some(ForgeMcp::Http { url, token: tokens::give_token(world, run).await? }));
        }
        Location::There(there) => there,
    };
    if world.part::<Server>().0.borrow().as_ref().and_then(Weak::upgrade).is_none() {
        return Ok(None);
    }
    let Some(McpProgram { program, folder }) = there.mcp_program(world, cancel).await? else {
        return Ok(None);
    };
    let (Some(program), Some(folder)) = (program.to_str(), folder.to_str()) else {
        tracing::warn!(path = %program.display(), "the keeper's path is no text: agents there get no tools of Forge");
        return Ok(None);
    };
    let (program, folder) = (program.to_owned(), folder.to_owned());
    Ok(Some(ForgeMcp::Program { program, folder, token: tokens::give_token(world, run).await? }))
}

/// Answers the calls of a run on another machine, for as long as this is polled.
pub(super) async fn answer_calls(
    world: &World,
    p: &Prepared,
    location: &Location,
    mcp: Option<&ForgeMcp>,
) -> Infallible {
    if let (Location::There(there), Some(ForgeMcp::Program { token, .. })) = (location, mcp) {
        take_calls(world, p, there, token.clone()).await;
    }
    pending().await
}

async fn take_calls(world: &World, p: &Prepared, there: &There, token: String) {
    let mut server = world.part::<Server>().0.subscribe();
    let served = server.wait_for(Option::is_some).await.ok().and_then(|server| server.clone());
    let Some(server) = served else { return };
    let answerer = Answerer { server, token };
    let (run, task) = (p.row.execution.id.as_str(), p.task.id.as_str());
    there.keeper().take_calls(run, task, Arc::new(answerer)).await;
}

/// Answers the calls of one run, as it may.
struct Answerer {
    server: Weak<dyn ToolServer>,
    token: String,
}

#[async_trait]
impl CallAnswerer for Answerer {
    async fn answer(&self, caller: u64, call: &[u8]) -> Option<Vec<u8>> {
        match self.server.upgrade() {
            Some(server) => server.answer(&self.token, caller, call).await,
            // This engine is about to end: the next one answers.
            None => pending().await,
        }
    }

    fn unknown(&self, call: &[u8]) -> Option<Vec<u8>> {
        self.server.upgrade()?.refuse(call, UNKNOWN)
    }
}

//! A scripted model on 127.0.0.1 that the real agent programs take for the service they were made for: OpenAI's
//! Responses and Chat Completions, Anthropic's Messages, Gemini's generateContent.
//!
//! A test writes [`Scenario`]s; a prompt asks for one by its tag ([`Scenario::tag`]); what the program's request
//! shows of the conversation decides which [`Turn`] comes next, so resumed and forked sessions need nothing here.
//! Only how often a turn was asked for is counted, for its failures. Requests without tools belong to no script
//! (titles, summaries) and get a harmless answer that costs nothing. Ids are made from the scenario and the
//! conversation, never from a clock. A request that no scenario fits is refused with 400 and says why.

mod answer;
mod call;
mod choose;
mod dialects;
mod exchange;
mod programs;
mod request;
mod scenario;
mod schema;
mod state;
mod tools;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Result, bail};
use axum::Router;
use tokio::{net::TcpListener, task::JoinHandle, time::Instant};

use state::State;

pub use programs::{AgentProgram, Seat};
pub use request::{Dialect, Message, Request, Requests, Role};
pub use scenario::{Failure, Scenario, Tokens, Turn};
pub use state::KEY;

/// Far more than any program takes; reached only when something is broken.
const LIMIT: Duration = Duration::from_secs(60);

/// A server. It ends with its value.
pub struct ModelServer {
    address: SocketAddr,
    state: Arc<State>,
    listening: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        if let Some(listening) = self.take_listening() {
            listening.abort();
        }
    }
}

impl ModelServer {
    /// Starts one that has no scenarios yet, at a port that was free.
    ///
    /// # Errors
    /// When the network refuses.
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let server = Self { address, state: Arc::default(), listening: Mutex::new(None) };
        server.serve(listener);
        Ok(server)
    }

    fn serve(&self, listener: TcpListener) {
        let router = Router::new().fallback(exchange::answer).with_state(self.state.clone());
        let task = tokio::spawn(async move {
            // It ends with the test.
            let _ = axum::serve(listener, router).await;
        });
        *self.listening.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
    }

    fn take_listening(&self) -> Option<JoinHandle<()>> {
        self.listening.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Where it is, without a path: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds a scenario, and gives the tag that asks for it.
    pub fn script(&self, scenario: Scenario) -> String {
        let tag = Scenario::tag(&scenario.name);
        self.state.scripts().push(scenario);
        tag
    }

    /// Nobody listens any more: connections are refused. Answers that have begun go on.
    pub async fn go_offline(&self) {
        if let Some(listening) = self.take_listening() {
            listening.abort();
            // It was cancelled, which is what its end says.
            let _ = listening.await;
        }
    }

    /// It listens again, at the same address.
    ///
    /// # Errors
    /// When somebody else took the port meanwhile.
    pub async fn come_back(&self) -> Result<()> {
        self.go_offline().await;
        self.serve(TcpListener::bind(self.address).await?);
        Ok(())
    }

    /// Lets go on what waits at this gate, now and later.
    pub fn release(&self, gate: &str) {
        self.state.open.send_modify(|open| {
            open.insert(gate.to_owned());
        });
    }

    /// The requests until now.
    #[must_use]
    pub fn requests(&self) -> Requests {
        self.state.seen().requests.clone()
    }

    /// What was refused because of its path, its key, or because no scenario fits: a line for each.
    #[must_use]
    pub fn refused(&self) -> Vec<String> {
        self.state.seen().refused.clone()
    }

    /// How many answers the program did not wait for.
    #[must_use]
    pub fn hung_up(&self) -> usize {
        self.state.seen().hung_up
    }

    /// Waits until a scenario was asked for that often, and gives its requests.
    ///
    /// # Errors
    /// When it never is.
    pub async fn asked(&self, scenario: &str, times: usize) -> Result<Requests> {
        let what = format!("{times} requests for `{scenario}`");
        self.until(&what, |server| server.requests().of(scenario).len() >= times).await?;
        Ok(self.requests().of(scenario))
    }

    /// Waits until the program has given up that many answers.
    ///
    /// # Errors
    /// When it never has.
    pub async fn given_up(&self, answers: usize) -> Result<()> {
        self.until(&format!("{answers} answers given up"), |server| server.hung_up() >= answers).await
    }

    /// Waits until this holds; looked at whenever something happens here.
    ///
    /// # Errors
    /// When it never does; says what came instead.
    pub async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) -> Result<()> {
        let mut happened = self.state.happened.subscribe();
        let end = Instant::now() + LIMIT;
        while !holds(self) {
            if tokio::time::timeout_at(end, happened.changed()).await.is_err() {
                let came: Vec<_> = self.requests().iter().map(|it| it.plays.clone()).collect();
                bail!(
                    "waited {} s in vain for {what}; {came:?} came, refused {:?}",
                    LIMIT.as_secs(),
                    self.refused()
                );
            }
        }
        Ok(())
    }
}

//! An engine on another computer, for as long as somebody uses it: the connection is made again when it is cut.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use forge_api::{ApiError, Method};
use forge_model::actor::Via;
use serde_json::{Value, json};
use tokio::{
    sync::{Notify, broadcast, watch},
    task::JoinHandle,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::{
    CallError, Contact, Destination, EngineClient, EventStream, RemoteFault, client::operation,
    fault::unknown_outcome, tunnel::Tunnel,
};

/// From one attempt to the next: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The same for what only a person can mend. A server locks out who tries too often.
const PERSONS_PAUSE: Duration = Duration::from_secs(600);

/// How long a question waits for the connection, and how long a change does.
const QUESTION_WAITS: Duration = Duration::from_secs(60);
const CHANGE_WAITS: Duration = Duration::from_secs(30);
/// How long after a failure the loss of the connection may take to show.
const SHOWS_WITHIN: Duration = Duration::from_secs(1);

/// A number beyond all events: the engine answers with its last one.
const BEYOND: i64 = i64::MAX;

/// How many events a slow reader may be behind.
const BEHIND: usize = 4096;

/// What happened at the engine.
#[derive(Debug, Clone)]
pub enum Happened {
    /// An event, as its JSON; what grew has no number.
    Event(Arc<Value>),
    /// The connection was cut and made again: what is not kept, such as the growth of logs, was missed.
    Reconnected {
        /// The number of the last event that was received before.
        seen: i64,
    },
}

/// An engine on another computer. Cheap to clone; the connection ends with the last clone.
#[derive(Debug, Clone)]
pub struct RemoteEngine {
    inner: Arc<Inner>,
    connection: Arc<Connection>,
}

/// What keeps the connection, for as long as somebody uses the engine.
#[derive(Debug)]
struct Connection {
    ends: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.ends.cancel();
    }
}

#[derive(Debug)]
struct Inner {
    destination: Destination,
    meta: Value,
    state: watch::Sender<State>,
    happened: broadcast::Sender<Happened>,
    /// Wakes who waits for the next attempt.
    nudged: Notify,
}

#[derive(Debug, Clone)]
struct State {
    contact: Contact,
    live: Option<Live>,
}

#[derive(Debug, Clone)]
struct Live {
    client: EngineClient,
    /// The process of the engine.
    engine: u64,
    /// How many connections there were before.
    number: u64,
}

impl RemoteEngine {
    /// Connects, and stays connected.
    ///
    /// # Errors
    /// When the engine cannot be used. Nothing is tried again then.
    pub async fn connect(destination: Destination) -> Result<Self, RemoteFault> {
        let tunnel = Tunnel::open(&destination).await?;
        let (events, seen) = follow(&tunnel, None).await?;
        let live = Live { client: tunnel.client.clone(), engine: tunnel.engine, number: 0 };
        let inner = Arc::new(Inner {
            destination,
            meta: tunnel.meta.clone(),
            state: watch::Sender::new(State { contact: Contact::Live, live: Some(live) }),
            happened: broadcast::Sender::new(BEHIND),
            nudged: Notify::new(),
        });
        let ends = CancellationToken::new();
        let stay = stay_connected(Arc::clone(&inner), tunnel, events, seen);
        let ended = ends.clone();
        let task = tokio::spawn(async move {
            tokio::select! {
                () = ended.cancelled() => {}
                () = stay => {}
            }
        });
        let connection = Connection { ends, task: Mutex::new(Some(task)) };
        Ok(Self { inner, connection: Arc::new(connection) })
    }

    /// Ends the connection, and returns when nothing of it is left here. The engine goes on.
    pub async fn close(&self) {
        self.connection.ends.cancel();
        let task = self.connection.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            // It has nothing to say.
            let _ = task.await;
        }
    }

    /// What the computer is called.
    #[must_use]
    pub fn host(&self) -> &str {
        self.inner.destination.host()
    }

    /// What the engine said of itself: version, data folder, git.
    #[must_use]
    pub fn meta(&self) -> &Value {
        &self.inner.meta
    }

    /// Whether the engine can be reached.
    #[must_use]
    pub fn contact(&self) -> Contact {
        self.inner.state.borrow().contact.clone()
    }

    /// Returns when the contact is another one.
    pub async fn contact_other_than(&self, known: &Contact) -> Contact {
        let mut state = self.inner.state.subscribe();
        // The sender lives as long as this.
        let other = state.wait_for(|state| state.contact != *known).await;
        other.map_or_else(|_| known.clone(), |state| state.contact.clone())
    }

    /// Tries at once to connect again.
    pub fn nudge(&self) {
        self.inner.nudged.notify_one();
    }

    /// What happens from now on.
    #[must_use]
    pub fn happened(&self) -> broadcast::Receiver<Happened> {
        self.inner.happened.subscribe()
    }

    /// Does one operation. It waits for a connection that was cut, for a while. A change is made once, however often the
    /// connection is cut meanwhile.
    ///
    /// # Errors
    /// What the engine refuses; `unreachable` and the like when it cannot be asked, in which case nothing was changed;
    /// `outcome_unknown` when it may have been.
    pub async fn call(&self, via: Via, name: &str, input: Value) -> Result<Value, ApiError> {
        let known = operation(name);
        let changes = known.is_some_and(|it| it.method != Method::Get);
        let ends_with_caller = known.is_some_and(|it| it.ends_with_caller);
        let key = changes.then(|| uuid::Uuid::new_v4().to_string());
        let until = Instant::now() + if changes { CHANGE_WAITS } else { QUESTION_WAITS };
        // The process that may have received the change.
        let mut received: Option<u64> = None;
        loop {
            let live = match self.live(until).await {
                Ok(live) => live,
                Err(_) if received.is_some() => return Err(unknown_outcome(self.host())),
                Err(fault) => return Err(ApiError::from(&fault)),
            };
            if received.is_some_and(|engine| engine != live.engine) {
                return Err(unknown_outcome(self.host()));
            }
            let error = match live.client.call(via, name, input.clone(), key.as_deref()).await {
                Ok(answer) => return Ok(answer),
                Err(CallError::Refused(refused)) => return Err(refused),
                Err(CallError::Strange(said)) => return Err(strange(self.host(), &said)),
                Err(CallError::Unreachable(error)) => error,
            };
            tracing::debug!(%error, name, "a request was cut");
            if changes && !error.is_connect() {
                received = Some(live.engine);
                if ends_with_caller {
                    return Err(unknown_outcome(self.host()));
                }
            }
            if Instant::now() >= until {
                return Err(match received {
                    Some(_) => unknown_outcome(self.host()),
                    None => ApiError::from(&self.lost()),
                });
            }
            // What cut the request cuts the stream of events, too.
            let mut state = self.inner.state.subscribe();
            let other = state.wait_for(|state| state.live.as_ref().is_none_or(|it| it.number != live.number));
            let _ = tokio::time::timeout(SHOWS_WITHIN, other).await;
        }
    }

    /// The connection, once there is one.
    async fn live(&self, until: Instant) -> Result<Live, RemoteFault> {
        let mut state = self.inner.state.subscribe();
        let live = tokio::time::timeout_at(until, state.wait_for(|state| state.live.is_some())).await;
        live.ok().and_then(Result::ok).and_then(|state| state.live.clone()).ok_or_else(|| self.lost())
    }

    fn lost(&self) -> RemoteFault {
        match self.contact() {
            Contact::Unreachable { fault, .. } => fault,
            Contact::Live => {
                let said = "the engine does not answer".to_owned();
                RemoteFault::Lost { host: self.host().to_owned(), said }
            }
        }
    }
}

fn strange(host: &str, said: &str) -> ApiError {
    ApiError {
        code: "strange_answer".to_owned(),
        message: format!("Could not read what the engine on {host} answered: {said}."),
        hints: vec!["Install the same version of Forge on both computers.".to_owned()],
        details: json!(null),
        status: 502,
    }
}

/// Opens the stream of events: what follows `seen`, or what happens from now on. It comes with the number of the last event.
async fn follow(tunnel: &Tunnel, seen: Option<i64>) -> Result<(EventStream, i64), RemoteFault> {
    let lost = |said: String| RemoteFault::Lost { host: tunnel.host().to_owned(), said };
    let opened = tunnel.client.events(Some(seen.unwrap_or(BEYOND))).await;
    let mut events = opened.map_err(|error| lost(error.to_string().trim_end_matches('.').to_owned()))?;
    if let Some(seen) = seen {
        return Ok((events, seen));
    }
    let last = events.next().await.and_then(|event| event["seq"].as_i64());
    let last = last.ok_or_else(|| lost("the stream of events ended".to_owned()))?;
    Ok((events, last))
}

/// Passes on what happens, and connects again when that ends.
async fn stay_connected(inner: Arc<Inner>, first: Tunnel, first_events: EventStream, first_seen: i64) {
    let (mut tunnel, mut events, mut seen, mut number) = (first, first_events, first_seen, 0_u64);
    loop {
        pass_on(&inner, &mut tunnel, &mut events, &mut seen).await;
        let host = inner.destination.host().to_owned();
        let since = SystemTime::now();
        let fault = RemoteFault::Lost { host, said: "the connection ended".to_owned() };
        unreachable(&inner, since, fault);
        let fault = tunnel.close().await;
        tracing::info!(%fault, "the connection with a remote engine was lost");
        unreachable(&inner, since, fault);
        (tunnel, events) = connect_again(&inner, since, seen).await;
        number += 1;
        let live = Live { client: tunnel.client.clone(), engine: tunnel.engine, number };
        inner.state.send_replace(State { contact: Contact::Live, live: Some(live) });
        // Nobody may be listening.
        let _ = inner.happened.send(Happened::Reconnected { seen });
    }
}

/// Passes events on until the connection is lost.
async fn pass_on(inner: &Inner, tunnel: &mut Tunnel, events: &mut EventStream, seen: &mut i64) {
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = tunnel.ended() => None,
        };
        let Some(event) = event.or_else(|| events.at_hand()) else { return };
        if let Some(seq) = event["seq"].as_i64() {
            *seen = seq;
        }
        // Nobody may be listening.
        let _ = inner.happened.send(Happened::Event(Arc::new(event)));
    }
}

fn unreachable(inner: &Inner, since: SystemTime, fault: RemoteFault) {
    inner.state.send_replace(State { contact: Contact::Unreachable { since, fault }, live: None });
}

/// Tries until there is a connection: later and later, or when somebody asks for it.
async fn connect_again(inner: &Inner, since: SystemTime, seen: i64) -> (Tunnel, EventStream) {
    let mut failures = 0;
    let mut pause = FIRST_PAUSE;
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = inner.nudged.notified() => {}
        }
        let opened = async {
            let tunnel = Tunnel::open(&inner.destination).await?;
            let (events, _) = follow(&tunnel, Some(seen)).await?;
            Ok::<_, RemoteFault>((tunnel, events))
        };
        match opened.await {
            Ok(opened) => return opened,
            Err(fault) => {
                failures += 1;
                pause = pause_after(failures, fault.is_passing());
                unreachable(inner, since, fault);
            }
        }
    }
}

fn pause_after(failures: u32, passes: bool) -> Duration {
    if passes { LONGEST_PAUSE.min(FIRST_PAUSE * 2_u32.saturating_pow(failures)) } else { PERSONS_PAUSE }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::{TcpListener, TcpStream},
    };

    use super::*;

    fn live(listener: &TcpListener, engine: u64) -> Live {
        let url = format!("http://{}", listener.local_addr().unwrap());
        Live { client: EngineClient::new(url, None, None).unwrap(), engine, number: engine }
    }

    /// An engine that is connected, without a connection to be kept.
    fn connected(live: Live) -> RemoteEngine {
        let inner = Inner {
            destination: Destination::new("far".to_owned(), Arc::default()),
            meta: Value::Null,
            state: watch::Sender::new(State { contact: Contact::Live, live: Some(live) }),
            happened: broadcast::Sender::new(1),
            nudged: Notify::new(),
        };
        let connection = Connection { ends: CancellationToken::new(), task: Mutex::new(None) };
        RemoteEngine { inner: Arc::new(inner), connection: Arc::new(connection) }
    }

    /// Receives a request whole; its key, and the connection that waits for the answer.
    async fn receive(listener: &TcpListener) -> (Option<String>, TcpStream) {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut text = String::new();
        while !text.ends_with('}') {
            let mut bytes = [0; 4096];
            let read = stream.read(&mut bytes).await.unwrap();
            text.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
        }
        let key = text
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix("idempotency-key: ").map(str::to_owned));
        (key, stream)
    }

    fn moved() -> Value {
        json!({ "task_id": "t", "to": "backlog", "version": 1 })
    }

    #[tokio::test]
    async fn change_that_was_cut_after_it_was_received_is_sent_again_with_its_key() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let engine = connected(live(&listener, 1));
        let answers = async {
            let (first, stream) = receive(&listener).await;
            drop(stream);
            let (second, mut stream) = receive(&listener).await;
            let answer =
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{\"a\": 1}";
            stream.write_all(answer.as_bytes()).await.unwrap();
            (first, second)
        };
        let (answer, (first, second)) = tokio::join!(engine.call(Via::Board, "task_move", moved()), answers);
        assert_eq!(answer.unwrap(), json!({ "a": 1 }));
        assert!(first.is_some() && first == second, "{first:?} {second:?}");
    }

    #[tokio::test]
    async fn change_that_another_engine_may_have_made_is_not_sent_again() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let engine = connected(live(&listener, 1));
        let cut = async {
            let (_, stream) = receive(&listener).await;
            let other = State { contact: Contact::Live, live: Some(live(&listener, 2)) };
            engine.inner.state.send_replace(other);
            drop(stream);
        };
        let (answer, ()) = tokio::join!(engine.call(Via::Board, "task_move", moved()), cut);
        assert_eq!(answer.unwrap_err().code, "outcome_unknown");
    }

    #[test]
    fn attempts_come_later_and_later_and_hardly_ever_where_a_person_is_needed() {
        assert_eq!(pause_after(1, true), Duration::from_secs(1));
        assert_eq!(pause_after(3, true), Duration::from_secs(4));
        assert_eq!(pause_after(40, true), LONGEST_PAUSE);
        assert_eq!(pause_after(1, false), PERSONS_PAUSE);
    }
}

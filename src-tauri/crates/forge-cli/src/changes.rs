//! Events as they happen, from the engine of this process or of another one.

use std::collections::VecDeque;

use forge_engine::Engine;
use forge_model::event::EventType;
use forge_remote::{EventStream, Happened};
use serde_json::{Value, json};
use tokio::sync::{
    broadcast::{Receiver, error::RecvError},
    watch,
};

/// How many events are read at once.
const BATCH: u32 = 500;

/// Events from a moment on, each as its JSON.
pub(crate) struct Changes {
    source: Source,
    ready: VecDeque<Value>,
}

enum Source {
    Own { engine: Engine, committed: watch::Receiver<i64>, seen: i64 },
    Remote(Box<EventStream>),
    There(Receiver<Happened>),
}

impl Changes {
    pub(crate) fn own(engine: Engine) -> Self {
        let committed = engine.events();
        let seen = *committed.borrow();
        Self { source: Source::Own { engine, committed, seen }, ready: VecDeque::new() }
    }

    pub(crate) fn remote(events: EventStream) -> Self {
        Self { source: Source::Remote(Box::new(events)), ready: VecDeque::new() }
    }

    /// Those of an engine on another computer, whose connection may be cut meanwhile.
    pub(crate) const fn there(happened: Receiver<Happened>) -> Self {
        Self { source: Source::There(happened), ready: VecDeque::new() }
    }

    /// The next event. None when there will be no more.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            match &mut self.source {
                Source::Own { engine, committed, seen } => {
                    let last = *committed.borrow_and_update();
                    if last <= *seen {
                        committed.changed().await.ok()?;
                        continue;
                    }
                    match engine.events_after(*seen, BATCH).await {
                        Ok(Some(events)) if !events.is_empty() => {
                            for event in events {
                                *seen = event.seq;
                                self.ready.extend(serde_json::to_value(event).ok());
                            }
                        }
                        Ok(_) => *seen = last,
                        Err(error) => {
                            tracing::error!(%error, "failed to read events");
                            return None;
                        }
                    }
                }
                Source::Remote(events) => return events.next().await,
                Source::There(happened) => match happened.recv().await {
                    Ok(Happened::Event(event)) => return Some((*event).clone()),
                    // Nobody knows what was missed: whoever waits looks again.
                    Ok(Happened::Reconnected { .. }) | Err(RecvError::Lagged(_)) => {
                        return Some(json!({ "type": EventType::EventsResync }));
                    }
                    Err(RecvError::Closed) => return None,
                },
            }
        }
    }
}

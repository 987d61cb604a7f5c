//! What happens, as server-sent events.
//!
//! A reader says with `Last-Event-ID` what it has seen: 0 replays all that is kept, a number what follows it,
//! nothing only what is new. A number that is no longer kept, or was never given out, is answered with
//! `events.resync`: read everything again. Log growth and the state of the disk come without an id, since they are not kept.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::sse::{Event as SseEvent, KeepAlive, Sse},
};
use forge_api::{ApiError, STORAGE_CHANGED};
use forge_engine::{Engine, Growths, StorageHealth};
use forge_model::{
    event::{Event, EventType},
    time::Timestamp,
};
use futures::Stream;
use serde_json::{Value, json};
use tokio::{
    sync::{OwnedSemaphorePermit, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::{answer::Refusal, shared::Shared};

const HEARTBEAT: Duration = Duration::from_secs(15);
/// Growth of one log within this time is told once.
const COALESCE: Duration = Duration::from_millis(30);
/// How many events are read at once.
const BATCH: u32 = 500;
/// How many streams are open at once: a client that forgets to end its own is told so, before it slows all others.
pub(crate) const MAX_STREAMS: usize = 64;

/// `GET /api/v1/events`.
pub(crate) async fn stream(
    State(shared): State<Shared>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<SseEvent, Infallible>>>, Refusal> {
    let seen = last_event_id(&headers)?;
    let place = shared.streams.try_acquire_owned().map_err(|_| too_many())?;
    let reader = Reader::new(shared.api.engine().clone(), seen, shared.stopping, place);
    let events = futures::stream::unfold(reader, async |mut reader| {
        reader.next().await.map(|event| (Ok(event), reader))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT).text("heartbeat")))
}

fn too_many() -> Refusal {
    let message = format!("{MAX_STREAMS} event streams are open");
    Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too_many_streams", message)
        .hint("Close one. A program needs only one stream; it carries events of all tasks.")
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<i64>, ApiError> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    match value.to_str().ok().map(|text| (text.trim().is_empty(), text.trim().parse::<i64>())) {
        Some((true, _)) => Ok(None),
        Some((_, Ok(seq))) if seq >= 0 => Ok(Some(seq)),
        _ => Err(ApiError::invalid("Last-Event-ID", "must be the number of an event")),
    }
}

struct Reader {
    engine: Engine,
    committed: watch::Receiver<i64>,
    logs: Growths,
    storage: watch::Receiver<StorageHealth>,
    seen: i64,
    ready: VecDeque<SseEvent>,
    tell_growth_at: Option<Instant>,
    stopping: CancellationToken,
    /// Free again for another reader once this one is gone.
    _place: OwnedSemaphorePermit,
}

impl Reader {
    fn new(
        engine: Engine,
        seen: Option<i64>,
        stopping: CancellationToken,
        place: OwnedSemaphorePermit,
    ) -> Self {
        let committed = engine.events();
        let last = *committed.borrow();
        let mut reader = Self {
            logs: engine.log_growth(),
            storage: engine.follow_storage(),
            engine,
            committed,
            seen: seen.unwrap_or(last),
            ready: VecDeque::new(),
            tell_growth_at: None,
            stopping,
            _place: place,
        };
        if reader.seen > last {
            reader.resync(last);
        }
        reader
    }

    /// The next event; none when the server stops.
    async fn next(&mut self) -> Option<SseEvent> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.stopping.is_cancelled() {
                return None;
            }
            let last = *self.committed.borrow_and_update();
            if last > self.seen {
                self.read(last).await?;
            } else {
                self.wait().await?;
            }
        }
    }

    async fn read(&mut self, last: i64) -> Option<()> {
        match self.engine.events_after(self.seen, BATCH).await {
            Ok(Some(events)) if !events.is_empty() => {
                for event in events {
                    self.seen = event.seq;
                    self.ready.push_back(of_event(&event));
                }
                Some(())
            }
            Ok(_) => {
                self.resync(last);
                Some(())
            }
            Err(error) => {
                // The reader connects again and says what it has seen.
                tracing::error!(%error, "failed to read events for a client");
                None
            }
        }
    }

    async fn wait(&mut self) -> Option<()> {
        let tell_at = self.tell_growth_at;
        let tell = async {
            match tell_at {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.stopping.cancelled() => None,
            changed = self.committed.changed() => changed.ok(),
            changed = self.storage.changed() => {
                changed.ok()?;
                self.ready.push_back(storage_changed(self.engine.now()));
                Some(())
            }
            () = tell => {
                self.tell_growth();
                Some(())
            }
            grown = self.logs.wait() => {
                self.tell_growth_at.get_or_insert_with(|| Instant::now() + COALESCE);
                grown
            }
        }
    }

    fn tell_growth(&mut self) {
        self.tell_growth_at = None;
        let grown = self.logs.take();
        if grown.missed {
            let last = *self.committed.borrow_and_update();
            self.resync(last);
        }
        let at = self.engine.now();
        for growth in grown.logs {
            let data = json!({
                "seq": Value::Null,
                "type": EventType::ExecutionLog,
                "at": at,
                "project_id": growth.project_id,
                "task_id": growth.task_id,
                "entity_id": growth.log_id,
                "data": { "last_seq": growth.seq },
            });
            self.ready.push_back(SseEvent::default().data(data.to_string()));
        }
    }

    fn resync(&mut self, last: i64) {
        self.seen = last;
        self.ready.push_back(of_event(&Event {
            seq: last,
            kind: EventType::EventsResync,
            at: self.engine.now(),
            project_id: None,
            task_id: None,
            entity_id: String::new(),
            data: Value::Null,
        }));
    }
}

fn storage_changed(at: Timestamp) -> SseEvent {
    let none = Value::Null;
    let data = json!({
        "seq": none, "type": STORAGE_CHANGED, "at": at, "project_id": none, "task_id": none, "entity_id": "", "data": none,
    });
    SseEvent::default().data(data.to_string())
}

fn of_event(event: &Event) -> SseEvent {
    // JSON escapes line breaks, so the text is one line.
    let text = serde_json::to_string(event).unwrap_or_else(|error| {
        tracing::error!(%error, seq = event.seq, "failed to write an event");
        Value::Null.to_string()
    });
    SseEvent::default().id(event.seq.to_string()).data(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reader_has_seen() {
        let of = |value: Option<&str>| {
            let mut headers = HeaderMap::new();
            if let Some(value) = value {
                headers.insert("last-event-id", value.parse().unwrap());
            }
            last_event_id(&headers).map_err(|error| error.code)
        };
        assert_eq!(of(None), Ok(None));
        assert_eq!(of(Some("")), Ok(None));
        assert_eq!(of(Some("0")), Ok(Some(0)));
        assert_eq!(of(Some(" 17 ")), Ok(Some(17)));
        for wrong in ["-1", "x", "1.5"] {
            assert_eq!(of(Some(wrong)), Err("invalid".to_owned()), "{wrong}");
        }
    }
}

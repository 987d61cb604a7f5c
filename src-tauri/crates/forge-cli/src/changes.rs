//! Events as they happen, from the engine of this process or of another one.

use std::collections::VecDeque;

use forge_engine::Engine;
use reqwest::Response;
use serde_json::Value;
use tokio::sync::watch;

/// How many events are read at once.
const BATCH: u32 = 500;

/// Events from a moment on, each as its JSON.
pub(crate) struct Changes {
    source: Source,
    ready: VecDeque<Value>,
}

enum Source {
    Own { engine: Engine, committed: watch::Receiver<i64>, seen: i64 },
    Remote { response: Response, unread: Vec<u8> },
}

impl Changes {
    pub(crate) fn own(engine: Engine) -> Self {
        let committed = engine.events();
        let seen = *committed.borrow();
        Self { source: Source::Own { engine, committed, seen }, ready: VecDeque::new() }
    }

    pub(crate) fn remote(response: Response) -> Self {
        Self { source: Source::Remote { response, unread: Vec::new() }, ready: VecDeque::new() }
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
                Source::Remote { response, unread } => {
                    unread.extend_from_slice(&response.chunk().await.ok()??);
                    self.ready.extend(take_events(unread));
                }
            }
        }
    }
}

/// Takes the whole events out of what was received, and leaves the rest.
fn take_events(unread: &mut Vec<u8>) -> Vec<Value> {
    let Some(end) = unread.windows(2).rposition(|pair| pair == b"\n\n") else { return Vec::new() };
    let whole: Vec<u8> = unread.drain(..end + 2).collect();
    String::from_utf8_lossy(&whole)
        .lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?.trim_start()).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_are_taken_whole() {
        let mut unread = b": heartbeat\n\nid: 1\ndata: {\"a\":1}\n\nid: 2\nda".to_vec();
        assert_eq!(take_events(&mut unread), [json!({ "a": 1 })]);
        assert_eq!(unread, b"id: 2\nda");
        unread.extend_from_slice(b"ta: {\"a\":2}\n");
        assert_eq!(take_events(&mut unread), [] as [Value; 0]);
        unread.push(b'\n');
        assert_eq!(take_events(&mut unread), [json!({ "a": 2 })]);
        assert!(unread.is_empty());
    }
}

//! Server-sent events, as they are read.

use std::{collections::VecDeque, time::Duration};

use reqwest::Response;
use serde_json::Value;

/// The engine says something every 15 seconds; one that is silent for this long cannot be reached.
const SILENT: Duration = Duration::from_secs(40);

/// Events of an engine, each as its JSON.
#[derive(Debug)]
pub struct EventStream {
    response: Response,
    unread: Vec<u8>,
    ready: VecDeque<Value>,
}

impl EventStream {
    pub(crate) const fn new(response: Response) -> Self {
        Self { response, unread: Vec::new(), ready: VecDeque::new() }
    }

    /// The next event. None when there will be no more.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let chunk = tokio::time::timeout(SILENT, self.response.chunk()).await.ok()?.ok()??;
            self.unread.extend_from_slice(&chunk);
            self.ready.extend(take_events(&mut self.unread));
        }
    }

    /// An event that was received already.
    pub(crate) fn at_hand(&mut self) -> Option<Value> {
        self.ready.pop_front()
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

//! From the engine's change feed to the page.
//!
//! Batches come numbered and coalesced. Only a window that can be seen is told; when it is seen again after
//! something was held back, it is told to read everything again.

use std::sync::{Arc, Mutex, PoisonError};

use forge_api::{Api, Change, ChangeBatch};
use tauri::{AppHandle, Emitter as _, Runtime, async_runtime::JoinHandle};
use tokio::sync::{Notify, watch};

use crate::windows;

const CHANGES: &str = "changes";

/// The tag of every answer.
const EVERYTHING: &str = "*";
/// The tags of the answer that the tray counts.
const COUNTED: &[&str] = &["attention", EVERYTHING];

/// What the page was not told, up to this number.
#[derive(Debug, Default)]
struct Gate {
    held: Option<i64>,
}

impl Gate {
    /// Whether a batch that ends at `seq` is to be sent.
    fn admit(&mut self, seq: i64, visible: bool) -> bool {
        // What comes after something held back waits for the catching up, else the page would miss the gap.
        if visible && self.held.is_none() {
            return true;
        }
        self.held = Some(seq);
        false
    }

    /// What a page must be told that is seen again.
    fn catch_up(&mut self) -> Option<ChangeBatch> {
        let seq = self.held.take()?;
        Some(ChangeBatch { after: seq, seq, changes: vec![Change::of_everything(seq)] })
    }
}

/// Passes batches on until the engine stops; `counted` is told, seen or not, when the tray's number may change.
pub async fn pump<R: Runtime>(
    app: AppHandle<R>,
    api: Api,
    visible: watch::Receiver<bool>,
    counted: Arc<Notify>,
) {
    let page = Page::new(app, visible);
    let mut feed = api.feed();
    while let Some(batch) = feed.next().await {
        if batch.changes.iter().flat_map(|change| &change.tags).any(|tag| COUNTED.contains(&tag.as_str())) {
            counted.notify_one();
        }
        page.tell(&batch);
    }
}

/// The page, which is told while it can be seen.
pub struct Page<R: Runtime> {
    app: AppHandle<R>,
    visible: watch::Receiver<bool>,
    gate: Arc<Mutex<Gate>>,
    catching_up: JoinHandle<()>,
}

impl<R: Runtime> Page<R> {
    /// Tells the page from now on, when it is seen again, too.
    pub fn new(app: AppHandle<R>, visible: watch::Receiver<bool>) -> Self {
        let gate = Arc::new(Mutex::new(Gate::default()));
        let following = follow_visibility(app.clone(), visible.clone(), Arc::clone(&gate));
        Self { app, visible, gate, catching_up: tauri::async_runtime::spawn(following) }
    }

    /// Passes a batch on, or holds it back.
    pub fn tell(&self, batch: &ChangeBatch) {
        // Sent under the lock, so that nothing slips between the decision and the batch.
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        if gate.admit(batch.seq, *self.visible.borrow()) {
            emit(&self.app, batch);
        }
    }
}

impl<R: Runtime> Drop for Page<R> {
    fn drop(&mut self) {
        self.catching_up.abort();
    }
}

async fn follow_visibility<R: Runtime>(
    app: AppHandle<R>,
    mut visible: watch::Receiver<bool>,
    gate: Arc<Mutex<Gate>>,
) {
    while visible.changed().await.is_ok() {
        if !*visible.borrow_and_update() {
            continue;
        }
        let mut gate = gate.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(batch) = gate.catch_up() {
            emit(&app, &batch);
        }
    }
}

fn emit<R: Runtime>(app: &AppHandle<R>, batch: &ChangeBatch) {
    if let Err(error) = app.emit_to(windows::target(), CHANGES, batch) {
        tracing::warn!(%error, "failed to tell the window about changes");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seen_page_is_told_everything() {
        let mut gate = Gate::default();
        assert!(gate.admit(3, true));
        assert!(gate.admit(7, true));
        assert_eq!(gate.catch_up(), None);
    }

    #[test]
    fn what_was_held_back_is_read_again() {
        let mut gate = Gate::default();
        assert!(gate.admit(3, true));
        assert!(!gate.admit(5, false));
        assert!(!gate.admit(8, false));
        let batch = gate.catch_up().unwrap();
        assert_eq!(
            serde_json::to_value(&batch).unwrap(),
            serde_json::json!({
                "after": 8,
                "seq": 8,
                "changes": [{
                    "seq": 8,
                    "type": "events.resync",
                    "project_id": null,
                    "task_id": null,
                    "entity_id": "",
                    "tags": ["*"],
                }],
            })
        );
        assert_eq!(gate.catch_up(), None, "once");
        assert!(gate.admit(9, true));
    }

    #[test]
    fn nothing_overtakes_the_catching_up() {
        let mut gate = Gate::default();
        assert!(!gate.admit(5, false));
        assert!(!gate.admit(6, true));
        assert_eq!(gate.catch_up().unwrap().seq, 6);
    }
}

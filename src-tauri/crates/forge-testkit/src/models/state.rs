//! What the requests to a server share.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use super::{request::Requests, scenario::Scenario};

/// The only key that a server takes.
pub const KEY: &str = "test-key";

/// What all its requests share.
#[derive(Default)]
pub(super) struct State {
    pub(super) scripts: Mutex<Vec<Scenario>>,
    pub(super) seen: Mutex<Seen>,
    /// Rises with everything that happens, for who waits.
    pub(super) happened: watch::Sender<u64>,
    /// The gates that were released.
    pub(super) open: watch::Sender<HashSet<String>>,
}

#[derive(Default)]
pub(super) struct Seen {
    pub(super) requests: Requests,
    pub(super) refused: Vec<String>,
    pub(super) hung_up: usize,
    pub(super) attempts: HashMap<(String, usize), usize>,
}

impl State {
    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn scripts(&self) -> MutexGuard<'_, Vec<Scenario>> {
        self.scripts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes down what happened, and tells those who wait.
    pub(super) fn note(&self, write: impl FnOnce(&mut Seen)) {
        write(&mut self.seen());
        self.happened.send_modify(|count| *count += 1);
    }
}

//! What handlers share.

use std::sync::Arc;

use forge_api::Api;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{connections::Limits, repeats::Repeats};

/// What handlers share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) api: Api,
    pub(crate) stopping: CancellationToken,
    /// The streams of events that may still be opened.
    pub(crate) streams: Arc<Semaphore>,
    /// Changes that may come again.
    pub(crate) repeats: Repeats,
    /// What clients may take.
    pub(crate) limits: Limits,
}

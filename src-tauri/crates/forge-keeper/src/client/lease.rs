//! The connection that says that an engine is there.

use std::sync::{Arc, Weak};

use super::{Inner, Keeper, pause::Pause};
use crate::{
    Place,
    wire::{Tell, Wire, receive_message},
};

/// Holds the connection. When it breaks, a keeper of this machine is gone; one elsewhere goes on, and is told again as
/// soon as it can be reached.
pub(super) async fn hold(keeper: Weak<Inner>, mut wire: Wire) {
    loop {
        // Nothing is said on it: what comes is its end.
        while receive_message::<Tell>(&mut wire).await.is_ok() {}
        wire = match again(&keeper).await {
            Some(wire) => wire,
            None => return,
        };
    }
}

/// None when no engine needs it, or there is nothing to go on with.
async fn again(keeper: &Weak<Inner>) -> Option<Wire> {
    let mut pause = Pause::default();
    loop {
        let connector = match &keeper.upgrade()?.place {
            Place::Far(connector) => Arc::clone(connector),
            Place::Program(_) | Place::Within => return None,
        };
        pause.until_reachable(&*connector).await;
        let engine = Keeper { inner: keeper.upgrade()? };
        let patience = engine.inner.lease.lock().await.patience;
        match engine.lease(patience).await {
            Ok(wire) => return Some(wire),
            Err(error) => tracing::debug!(%error, "failed to tell a keeper that the engine is there"),
        }
    }
}

//! Work that falls due: it is done at the times that it names itself, and whenever something changed.

use std::{future::Future, sync::Arc};

use forge_model::time::Timestamp;
use tokio::sync::Notify;

use crate::{
    World,
    core::{guarded, sleep},
    error::Result,
};

/// Work that failed is tried again after this many milliseconds.
const AFTER_FAILURE_MS: i64 = 15 * 60 * 1_000;

/// Does some work from now on: at once, when it is next due as it says, and when `changed` is notified. `what` names it in
/// the log.
pub(crate) fn keep_up<F, W>(world: &World, changed: Arc<Notify>, what: &'static str, work: F)
where
    F: Fn(World) -> W + Clone + Send + Sync + 'static,
    W: Future<Output = Result<Option<Timestamp>>> + Send + 'static,
{
    guarded::keep_going(world, move |world| {
        let (changed, work) = (Arc::clone(&changed), work.clone());
        async move {
            loop {
                let next = match work(world.clone()).await {
                    Ok(next) => next,
                    Err(error) => {
                        tracing::error!(%error, "failed to {what}");
                        Some(world.now().plus_ms(AFTER_FAILURE_MS))
                    }
                };
                let due = async {
                    match next {
                        Some(at) => sleep::sleep_until(&world, at).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    () = world.inner.shutdown.cancelled() => return,
                    () = changed.notified() => {}
                    _ = due => {}
                }
            }
        }
    });
}

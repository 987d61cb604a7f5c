//! Catching panics: a panic ends the unit of work in which it happens, and nothing else.

use std::any::Any;
use std::cell::RefCell;
use std::panic;
use std::panic::AssertUnwindSafe;
use std::sync::Once;
use std::time::Duration;

use futures::FutureExt as _;

use crate::{World, error::Panic};

/// How long a timer that panicked waits before it is begun again, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

const LONGEST_PAUSE: Duration = Duration::from_secs(5 * 60);

thread_local! {
    /// Where this thread panicked last.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Has every panic write down where it is, on top of what is done with panics already.
fn note_places() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let place = info.location().map(|at| format!("{}:{}", at.file(), at.line()));
            PLACE.with_borrow_mut(|last| *last = place);
            before(info);
        }));
    });
}

/// Does some work; a panic in it is an answer.
///
/// # Errors
/// The panic.
pub fn guarded<T>(work: impl Future<Output = T>) -> impl Future<Output = Result<T, Panic>> {
    note_places();
    // What a panic leaves unfinished is in the database: its transaction is rolled back. Locks are not poisoned.
    // Boxed, since whoever guards much would otherwise carry all of it on its own stack.
    let caught = Box::pin(AssertUnwindSafe(work).catch_unwind());
    async move {
        caught.await.map_err(|payload| {
            // Nothing was awaited since the panic was caught: this is the thread that it happened on.
            let place = PLACE.with_borrow_mut(Option::take);
            let place = place.unwrap_or_else(|| "an unknown place".to_owned());
            let caught = Panic { message: said(payload.as_ref()), place };
            tracing::error!(place = %caught.place, message = %caught.message, "caught a panic");
            caught
        })
    }
}

fn said(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// Keeps something going until it ends by itself or the engine stops: a panic ends one pass of it.
pub(crate) fn keep_going<F, W>(world: &World, begin: F)
where
    F: Fn(World) -> W + Send + 'static,
    W: Future<Output = ()> + Send + 'static,
{
    let world = world.clone();
    world.clone().inner.tracker.spawn(async move {
        let mut pause = FIRST_PAUSE;
        while guarded(begin(world.clone())).await.is_err() {
            tokio::select! {
                () = world.inner.shutdown.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    });
}

/// Does something once, beside everything else.
pub(crate) fn in_background(world: &World, work: impl Future<Output = ()> + Send + 'static) {
    world.inner.tracker.spawn(async move { drop(guarded(work).await) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn timer_that_panics_is_restarted() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = crate::EngineConfig::new(folder.path().to_owned(), std::env::vars_os());
        config.work = crate::Work::Nothing;
        let world = crate::start::open(config).await.unwrap();
        let (started, mut passes) = tokio::sync::mpsc::unbounded_channel();
        keep_going(&world, move |_| {
            let started = started.clone();
            async move {
                started.send(()).unwrap();
                assert!(started.is_closed(), "a panic of the timer");
            }
        });
        for _ in 0..2 {
            let pass = tokio::time::timeout(Duration::from_secs(20), passes.recv()).await;
            pass.expect("the timer was not restarted").unwrap();
        }
        passes.close();
        crate::start::stop(&world, crate::start::Runs::End).await;
    }

    #[tokio::test]
    async fn panic_in_guarded_work_says_what_and_where() {
        let panicked = guarded(async {
            tokio::task::yield_now().await;
            panic!("{} of its kind", 1);
        });
        let caught: Panic = panicked.await.map(|(): ()| ()).unwrap_err();
        assert_eq!(caught.message, "1 of its kind");
        let (file, line) = caught.place.rsplit_once(':').unwrap();
        assert!(file.ends_with("guarded.rs") && line.parse::<u32>().is_ok(), "{}", caught.place);
        assert_eq!(guarded(async { 7 }).await, Ok(7));
    }
}

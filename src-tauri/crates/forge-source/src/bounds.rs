//! What keeps a parser from taking the program down: a size, a stack of its own, a caller that may give up.
//!
//! Parsers descend by recursion. They run on a thread whose stack is reserved, not used, and
//! [`nesting`](crate::nesting) refuses what would not fit into it.

use std::{panic, thread, time::Duration};

use tokio::{sync::oneshot, time};

/// The largest file that is read, in bytes.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Reserved address space; only what a text really needs of it becomes memory. In builds without optimisation,
/// which need the most, the deepest text that `nesting` lets through takes less than half.
const STACK: usize = 1 << 29;

/// Why there is no answer.
#[derive(Debug, thiserror::Error, Clone, Copy, PartialEq, Eq)]
pub enum GaveUp {
    /// The time was over first.
    #[error("parsing took longer than {0:?}")]
    TimeLimit(Duration),
    /// The system has no room for one more thread.
    #[error("could not start a parser thread")]
    NoThread,
    /// The parser failed in itself.
    #[error("the parser crashed")]
    Panicked,
}

/// Runs `work` on a thread with a large stack and waits for it.
pub(crate) fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, GaveUp> {
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("source".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, work)
            .map_err(|_| GaveUp::NoThread)?;
        thread.join().map_err(|_| GaveUp::Panicked)
    })
}

/// Runs `work` off the async runtime and gives up on it after `limit`.
///
/// A thread cannot be ended from outside: what was given up runs on to its own end, which [`MAX_BYTES`] bounds,
/// and its answer is dropped. The same holds if the returned future is dropped.
pub async fn within<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, GaveUp> {
    let (send, receive) = oneshot::channel();
    thread::Builder::new()
        .name("source".to_owned())
        .spawn(move || {
            let answer = panic::catch_unwind(panic::AssertUnwindSafe(work));
            // Nobody listens any more when the caller gave up.
            let _ = send.send(answer);
        })
        .map_err(|_| GaveUp::NoThread)?;
    match time::timeout(limit, receive).await {
        Err(_) => Err(GaveUp::TimeLimit(limit)),
        Ok(Ok(Ok(answer))) => Ok(answer),
        Ok(Ok(Err(_)) | Err(_)) => Err(GaveUp::Panicked),
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use super::{GaveUp, on_large_stack, within};

    #[test]
    fn a_panic_is_an_answer() {
        assert_eq!(on_large_stack(|| 7), Ok(7));
        assert_eq!(on_large_stack(|| assert_eq!(1, 2)), Err(GaveUp::Panicked));
    }

    #[tokio::test]
    async fn who_waits_can_give_up() {
        let (release, hold) = mpsc::channel::<()>();
        let limit = Duration::from_millis(1);
        let stuck = within(limit, move || hold.recv().is_ok()).await;
        assert_eq!(stuck, Err(GaveUp::TimeLimit(limit)));
        drop(release);
        assert_eq!(within(Duration::from_secs(60), || 7).await, Ok(7));
        assert_eq!(within(Duration::from_secs(60), || assert_eq!(1, 2)).await, Err(GaveUp::Panicked));
    }
}

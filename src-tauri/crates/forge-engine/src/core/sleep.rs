//! Waiting for a time. Deadlines are times of the wall clock, so that what falls due while the machine sleeps is
//! done when it wakes; every waiter looks again when the clock jumps.
//!
//! A timer of tokio counts the monotonic clock, which stands still during sleep. So each wait is cut into short
//! sleeps, and a jump of the wall clock (it was set, or the machine woke) ends them at once.

use std::time::Duration;

use forge_model::time::Timestamp;

use crate::{World, core};

/// How long one nap lasts at most, should nobody tell of a jump.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// Follows the jumps of the wall clock from now on.
pub(crate) fn follow_clock(world: &World) {
    core::guarded::keep_going(world, async |world: World| {
        loop {
            tokio::select! {
                () = world.inner.shutdown.cancelled() => return,
                () = world.inner.config.clock.jumped() => {}
            }
            tracing::info!("the wall clock jumped: it was set, or the machine woke from sleep");
            world.inner.clock_jumps.send_modify(|jumps| *jumps += 1);
        }
    });
}

/// Sleeps until the wall clock says `at`; false when the engine stops before that.
pub(crate) async fn sleep_until(world: &World, at: Timestamp) -> bool {
    let mut jumps = world.inner.clock_jumps.subscribe();
    loop {
        let left = u64::try_from(at.since(world.now())).unwrap_or(0);
        if left == 0 {
            return true;
        }
        let nap = Duration::from_millis(left).min(LOOK_EVERY);
        tokio::select! {
            () = world.inner.shutdown.cancelled() => return false,
            () = tokio::time::sleep(nap) => {}
            // The sender lives as long as the engine.
            _ = jumps.changed() => {}
        }
    }
}

/// Sleeps for a while in which time asleep counts; false when the engine stops before that. A clock that is set
/// back does not make it longer.
pub(crate) async fn pause(world: &World, length: Duration) -> bool {
    let until = world.now().plus_ms(i64::try_from(length.as_millis()).unwrap_or(i64::MAX));
    tokio::select! {
        slept = sleep_until(world, until) => slept,
        () = tokio::time::sleep(length) => true,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use futures::future::BoxFuture;
    use tokio::sync::Notify;

    use super::*;
    use crate::core::sync::locked;
    use crate::{Clock, EngineConfig, Work};

    /// A clock that stands still until it is moved.
    #[derive(Default)]
    struct Moved {
        now: Mutex<i64>,
        jumped: Notify,
    }

    impl Moved {
        fn to(&self, now: i64) {
            *locked(&self.now) = now;
            self.jumped.notify_one();
        }
    }

    impl Clock for Moved {
        fn now(&self) -> Timestamp {
            Timestamp(*locked(&self.now))
        }

        fn jumped(&self) -> BoxFuture<'_, ()> {
            Box::pin(self.jumped.notified())
        }
    }

    const HOUR_MS: i64 = 60 * 60 * 1000;

    #[tokio::test]
    async fn deadline_that_passed_during_sleep_fires_when_the_machine_wakes() {
        let (dir, clock) = (tempfile::tempdir().unwrap(), Arc::new(Moved::default()));
        let mut config = EngineConfig::new(dir.path().to_owned(), std::env::vars_os());
        (config.clock, config.work) = (Arc::clone(&clock) as Arc<dyn Clock>, Work::Nothing);
        let world = crate::start::open(config).await.unwrap();
        let sleeps = |wait: i64| {
            let world = world.clone();
            tokio::spawn(async move { sleep_until(&world, Timestamp(wait)).await })
        };
        let due = [sleeps(HOUR_MS), sleeps(8 * HOUR_MS)];
        let pause = {
            let world = world.clone();
            tokio::spawn(async move { pause(&world, Duration::from_secs(8 * 60 * 60)).await })
        };
        let later = sleeps(9 * HOUR_MS);
        // All of them sleep before the machine does.
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(due.iter().all(|sleep| !sleep.is_finished()), "something was due before its time");
        clock.to(8 * HOUR_MS);
        let patience = Duration::from_secs(20);
        for sleep in due.into_iter().chain([pause]) {
            assert!(tokio::time::timeout(patience, sleep).await.expect("woke too late").unwrap());
        }
        assert!(!later.is_finished(), "something was due before its time");
        crate::start::stop(&world, crate::start::Runs::End).await;
        assert!(!later.await.unwrap(), "the engine stopped before its time");
    }

    #[tokio::test]
    async fn system_clock_that_does_not_jump_tells_of_no_jump() {
        let wait = tokio::time::timeout(Duration::from_millis(50), crate::SystemClock.jumped());
        assert!(wait.await.is_err());
    }
}

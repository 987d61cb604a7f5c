//! Observed time: the time that passed while an engine ran, and at most a day of each pause. Ages of what is to be
//! deleted count by it, so that a jump of the wall clock makes nothing old.

use std::time::Duration;

use forge_model::time::Timestamp;
use forge_store::table::clock::Mark;
use tokio::time::Instant;

use crate::{
    World,
    core::{self, sync::locked},
    error::Result,
};

pub(crate) const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// How often the clocks are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(30 * 60);
/// How old an item may seem that was made after the mark before it.
const BETWEEN_MARKS_MS: i64 = 60 * 60 * 1000;
/// How long marks are kept.
const KEPT_MS: i64 = 800 * DAY_MS;

/// How much observed time passed since a mark, of which so much surely passed while the engine ran.
fn observed_since(mark: Mark, now: Timestamp, ran_ms: i64) -> i64 {
    now.since(mark.wall).clamp(ran_ms, ran_ms.saturating_add(DAY_MS))
}

fn ms_between(from: Instant, to: Instant) -> i64 {
    i64::try_from(to.saturating_duration_since(from).as_millis()).unwrap_or(i64::MAX)
}

/// How much observed time has surely passed, in milliseconds, since the wall clock showed this time; none before
/// anything was observed.
pub(crate) async fn observed_age(world: &World, made: Timestamp) -> Result<Option<i64>> {
    let mut conn = world.store().read().await?;
    let Some(last) = conn.clock_marks().last().await? else { return Ok(None) };
    let now = last.observed_ms.saturating_add(ms_between(*locked(&world.inner.marked), Instant::now()));
    let latest = conn.clock_marks().latest_moment_of(made).await?;
    Ok(latest.map(|latest| now.saturating_sub(latest.min(now))))
}

/// Looks at both clocks, now and from now on: every half an hour, and at each jump of the wall clock, so that
/// between two marks both clocks go alike. A disk that refuses the first mark keeps nobody from starting.
///
/// # Errors
/// When the time cannot be recorded, and not for a reason that passes.
pub(crate) async fn observe_time(world: &World) -> Result<()> {
    let is_marked = match mark_time(world).await {
        Ok(()) => true,
        Err(error) if core::disk::passes_with_storage(world, &error).await => {
            tracing::warn!(%error, "failed to record the time at start; trying again");
            core::disk::suspect_storage(world);
            false
        }
        Err(error) => return Err(error),
    };
    let jumps = world.inner.clock_jumps.subscribe();
    core::guarded::keep_going(world, move |world: World| {
        let mut jumps = jumps.clone();
        async move {
            let mut waits = is_marked;
            loop {
                if waits {
                    tokio::select! {
                        goes_on = core::sleep::pause(&world, LOOK_EVERY) => if !goes_on { return },
                        // The sender lives as long as the engine.
                        _ = jumps.changed() => {}
                    }
                }
                waits = true;
                if let Err(error) = core::disk::with_patience(&world, || mark_time(&world)).await {
                    tracing::warn!(%error, "failed to record the time that passed");
                }
                if world.inner.shutdown.is_cancelled() {
                    return;
                }
            }
        }
    });
    Ok(())
}

async fn mark_time(world: &World) -> Result<()> {
    let (now, at) = (world.now(), Instant::now());
    let ran_ms = ms_between(*locked(&world.inner.marked), at);
    let mut tx = world.store().write().await?;
    let observed_ms = match tx.clock_marks().last().await? {
        Some(last) => last.observed_ms.saturating_add(observed_since(last, now, ran_ms)),
        None => 0,
    };
    tx.clock_marks_mut().put(Mark { observed_ms, wall: now }, KEPT_MS).await?;
    tx.commit().await?;
    *locked(&world.inner.marked) = at;
    Ok(())
}

/// What was made at or before this time is surely older than so many days of observed time; none while the engine
/// has not observed that many.
pub(crate) async fn older_than(world: &World, days: u32) -> Result<Option<Timestamp>> {
    let mut conn = world.store().read().await?;
    let Some(last) = conn.clock_marks().last().await? else { return Ok(None) };
    let then = last.observed_ms - i64::from(days) * DAY_MS;
    let wall = conn.clock_marks().earliest_wall_since(then).await?;
    // Never later than the wall clock says itself.
    let plain = world.now().plus_ms(-i64::from(days) * DAY_MS);
    Ok(wall.map(|wall| wall.plus_ms(-BETWEEN_MARKS_MS).min(plain)))
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    };

    use futures::future::BoxFuture;
    use tokio::sync::Notify;

    use super::*;
    use crate::{Clock, EngineConfig, Observer, Work};

    /// Refuses every statement while it is told to.
    #[derive(Default)]
    struct Refusing(AtomicBool);

    impl Observer for Refusing {
        fn at(&self, _: &str) {}

        fn takes_statement(&self) -> bool {
            !self.0.load(Ordering::Acquire)
        }
    }

    #[derive(Default)]
    struct Set {
        now: AtomicI64,
        jumped: Notify,
    }

    impl Clock for Set {
        fn now(&self) -> Timestamp {
            Timestamp(self.now.load(Ordering::Acquire))
        }

        fn jumped(&self) -> BoxFuture<'_, ()> {
            Box::pin(self.jumped.notified())
        }
    }

    async fn until(what: &str, holds: impl AsyncFn() -> bool) {
        for _ in 0..400 {
            if holds().await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("waited in vain: {what}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn disk_that_refuses_the_first_record_is_waited_for() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Arc::new(Refusing::default()));
        let mut config = EngineConfig::new(dir.path().to_owned(), std::env::vars_os());
        (config.observer, config.work) = (Some(Arc::clone(&disk) as Arc<dyn Observer>), Work::Nothing);
        let world = crate::start::open(config).await.unwrap();
        disk.0.store(true, Ordering::Release);
        observe_time(&world).await.expect("the start was refused");
        assert_eq!(observed_age(&world, world.now()).await.unwrap(), None);
        disk.0.store(false, Ordering::Release);
        until("a record", async || observed_age(&world, world.now()).await.unwrap().is_some()).await;
        crate::start::stop(&world, crate::start::Runs::End).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn clock_that_is_set_back_between_two_looks_ages_nothing() {
        let (dir, clock) = (tempfile::tempdir().unwrap(), Arc::new(Set::default()));
        clock.now.store(2000 * DAY_MS, Ordering::Release);
        let mut config = EngineConfig::new(dir.path().to_owned(), std::env::vars_os());
        (config.clock, config.work) = (Arc::clone(&clock) as Arc<dyn Clock>, Work::Nothing);
        let world = crate::start::open(config).await.unwrap();
        observe_time(&world).await.unwrap();
        for (ms, earliest) in [(DAY_MS, DAY_MS), (2000 * DAY_MS + 1000, DAY_MS)] {
            clock.now.store(ms, Ordering::Release);
            clock.jumped.notify_one();
            until("a record of the jump", async || {
                let mut conn = world.store().read().await.unwrap();
                conn.clock_marks().last().await.unwrap().is_some_and(|mark| mark.wall == Timestamp(ms))
            })
            .await;
            let mut conn = world.store().read().await.unwrap();
            let wall = conn.clock_marks().earliest_wall_since(0).await.unwrap();
            assert_eq!(wall, Some(Timestamp(earliest)), "made while the clock was back, and old by it");
        }
        crate::start::stop(&world, crate::start::Runs::End).await;
    }

    #[test]
    fn a_pause_counts_for_a_day_at_most_and_a_clock_set_back_for_what_ran() {
        let mark = Mark { observed_ms: 0, wall: Timestamp(1_000_000) };
        let after = |ms: i64, ran: i64| observed_since(mark, mark.wall.plus_ms(ms), ran);
        assert_eq!(after(5000, 0), 5000);
        assert_eq!(after(400 * DAY_MS, 0), DAY_MS);
        assert_eq!(after(400 * DAY_MS, 1000), DAY_MS + 1000);
        assert_eq!(after(-DAY_MS, 1000), 1000);
    }
}

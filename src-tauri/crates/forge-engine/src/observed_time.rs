//! Time as the engine has observed it: what passed while it ran, and at most a day of each pause. Ages of what is to be
//! deleted are counted by it, so that a wall clock that jumps makes nothing old.

use std::time::Duration;

use forge_model::time::Timestamp;
use forge_store::table::{clock, clock::Mark};
use tokio::time::Instant;

use crate::{Engine, engine::locked, error::Result};

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

impl Engine {
    /// Looks at both clocks, now and from now on: every half an hour, and at each jump of the wall clock, so that
    /// between two marks both clocks go alike. A disk that refuses the first mark keeps nobody from starting.
    ///
    /// # Errors
    /// When the time cannot be recorded, and not for a reason that passes.
    pub(crate) async fn observe_time(&self) -> Result<()> {
        let is_marked = match self.mark_time().await {
            Ok(()) => true,
            Err(error) if self.passes_with_storage(&error).await => {
                tracing::warn!(%error, "failed to record the time at start; trying again");
                self.suspect_storage();
                false
            }
            Err(error) => return Err(error),
        };
        let jumps = self.inner.clock_jumps.subscribe();
        self.keep_going(move |engine: Self| {
            let mut jumps = jumps.clone();
            async move {
                let mut waits = is_marked;
                loop {
                    if waits {
                        tokio::select! {
                            goes_on = engine.pause(LOOK_EVERY) => if !goes_on { return },
                            // The sender lives as long as the engine.
                            _ = jumps.changed() => {}
                        }
                    }
                    waits = true;
                    if let Err(error) = engine.with_patience(|| engine.mark_time()).await {
                        tracing::warn!(%error, "failed to record the time that passed");
                    }
                    if engine.inner.shutdown.is_cancelled() {
                        return;
                    }
                }
            }
        });
        Ok(())
    }

    async fn mark_time(&self) -> Result<()> {
        let (now, at) = (self.now(), Instant::now());
        let ran_ms = ms_between(*locked(&self.inner.marked), at);
        let mut tx = self.store().write().await?;
        let observed_ms = match clock::last(&mut tx).await? {
            Some(last) => last.observed_ms.saturating_add(observed_since(last, now, ran_ms)),
            None => 0,
        };
        clock::put(&mut tx, Mark { observed_ms, wall: now }, KEPT_MS).await?;
        tx.commit().await?;
        *locked(&self.inner.marked) = at;
        Ok(())
    }

    /// How much observed time has surely passed, in milliseconds, since the wall clock showed this time; none before
    /// anything was observed.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn observed_age(&self, made: Timestamp) -> Result<Option<i64>> {
        let mut conn = self.store().read().await?;
        let Some(last) = clock::last(&mut conn).await? else { return Ok(None) };
        let now = last.observed_ms.saturating_add(ms_between(*locked(&self.inner.marked), Instant::now()));
        let latest = clock::latest_moment_of(&mut conn, made).await?;
        Ok(latest.map(|latest| now.saturating_sub(latest.min(now))))
    }

    /// What was made at or before this time is surely older than so many days of observed time; none while the engine
    /// has not observed that many.
    pub(crate) async fn older_than(&self, days: u32) -> Result<Option<Timestamp>> {
        let mut conn = self.store().read().await?;
        let Some(last) = clock::last(&mut conn).await? else { return Ok(None) };
        let then = last.observed_ms - i64::from(days) * DAY_MS;
        let wall = clock::earliest_wall_since(&mut conn, then).await?;
        // Never later than the wall clock says itself.
        let plain = self.now().plus_ms(-i64::from(days) * DAY_MS);
        Ok(wall.map(|wall| wall.plus_ms(-BETWEEN_MARKS_MS).min(plain)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

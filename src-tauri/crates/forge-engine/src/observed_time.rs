//! Time as the engine has observed it: what passed while it ran, and at most a day of each pause. Ages of what is to be
//! deleted are counted by it, so that a wall clock that jumps makes nothing old.

use std::time::Duration;

use forge_model::time::Timestamp;
use forge_store::table::{clock, clock::Mark};
use tokio::time::Instant;

use crate::{Engine, error::Result};

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

impl Engine {
    /// Looks at both clocks, now and from now on.
    pub(crate) async fn observe_time(&self) -> Result<()> {
        self.mark_time(0).await?;
        self.keep_going(async |engine: Self| {
            let mut last = Instant::now();
            loop {
                if !engine.pause(LOOK_EVERY).await {
                    return;
                }
                let ran = i64::try_from(last.elapsed().as_millis()).unwrap_or(0);
                match engine.mark_time(ran).await {
                    Ok(()) => last = Instant::now(),
                    Err(error) => tracing::warn!(%error, "failed to record the time that passed"),
                }
            }
        });
        Ok(())
    }

    async fn mark_time(&self, ran_ms: i64) -> Result<()> {
        let now = self.now();
        let mut tx = self.store().write().await?;
        let observed_ms = match clock::last(&mut tx).await? {
            Some(last) => last.observed_ms.saturating_add(observed_since(last, now, ran_ms)),
            None => 0,
        };
        clock::put(&mut tx, Mark { observed_ms, wall: now }, KEPT_MS).await?;
        tx.commit().await?;
        Ok(())
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

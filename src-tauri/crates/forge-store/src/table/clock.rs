//! `clock_marks`: what the wall clock showed at each moment of observed time. A wall clock jumps; observed time does not.

use forge_model::time::Timestamp;
use sqlx::Row as _;

use crate::StoreError;

handles!(clock_marks() -> ClockMarks, clock_marks_mut() -> ClockMarksMut);

/// A moment by both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Observed time so far, in milliseconds.
    pub observed_ms: i64,
    /// What the wall clock showed.
    pub wall: Timestamp,
}

impl ClockMarks<'_> {
    /// The latest mark; none before the first.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn last(&mut self) -> Result<Option<Mark>, StoreError> {
        let row =
            sqlx::query("SELECT observed_ms, wall_ms FROM clock_marks ORDER BY observed_ms DESC LIMIT 1")
                .fetch_optional(&mut *self.conn)
                .await?;
        Ok(row.map(|row| Mark { observed_ms: row.get(0), wall: Timestamp(row.get(1)) }))
    }

    /// The latest moment of observed time, in milliseconds, at which the wall clock may have shown a time. Between two marks
    /// both clocks went alike. None before the first mark.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn latest_moment_of(&mut self, wall: Timestamp) -> Result<Option<i64>, StoreError> {
        // With no mark before that time it was before the first one.
        let row = sqlx::query(
            "SELECT coalesce(
                 (SELECT min(mark.observed_ms + ?1 - mark.wall_ms, coalesce(
                     (SELECT min(later.observed_ms) FROM clock_marks later WHERE later.observed_ms > mark.observed_ms),
                     9223372036854775807))
                  FROM clock_marks mark WHERE mark.wall_ms <= ?1 ORDER BY mark.observed_ms DESC LIMIT 1),
                 (SELECT min(observed_ms) FROM clock_marks))",
        )
        .bind(wall.0)
        .fetch_one(&mut *self.conn)
        .await?;
        Ok(row.get(0))
    }

    /// The earliest wall time of all marks from the last one at or before `observed_ms` on: whatever was made since then was
    /// made later by the wall clock, however it jumped. None when there is no mark that old.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn earliest_wall_since(&mut self, observed_ms: i64) -> Result<Option<Timestamp>, StoreError> {
        let row = sqlx::query(
            "SELECT min(wall_ms) FROM clock_marks
             WHERE observed_ms >= (SELECT max(observed_ms) FROM clock_marks WHERE observed_ms <= ?1)",
        )
        .bind(observed_ms)
        .fetch_one(&mut *self.conn)
        .await?;
        Ok(row.get::<Option<i64>, _>(0).map(Timestamp))
    }
}

impl ClockMarksMut<'_> {
    /// Keeps a mark, and forgets those that are older than `kept_ms` of observed time.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn put(&mut self, mark: Mark, kept_ms: i64) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO clock_marks (observed_ms, wall_ms) VALUES (?1, ?2)
             ON CONFLICT (observed_ms) DO UPDATE SET wall_ms = min(wall_ms, ?2)",
        )
        .bind(mark.observed_ms)
        .bind(mark.wall.0)
        .execute(self.tx.sqlite())
        .await?;
        sqlx::query("DELETE FROM clock_marks WHERE observed_ms < ?1")
            .bind(mark.observed_ms.saturating_sub(kept_ms))
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::empty;

    #[tokio::test]
    async fn time_of_the_wall_clock_is_found_at_the_latest_moment_that_showed_it() {
        let mut tx = empty().await;
        assert_eq!(tx.clock_marks().latest_moment_of(Timestamp(1000)).await.unwrap(), None);
        // Set back for a while, then far ahead.
        for (observed_ms, wall) in [(0, 1000), (10, 1010), (20, 100), (30, 1030), (40, 9_000_000)] {
            tx.clock_marks_mut().put(Mark { observed_ms, wall: Timestamp(wall) }, i64::MAX).await.unwrap();
        }
        let mut latest = Vec::new();
        for wall in [50, 105, 1000, 1025, 1035, 5000, 9_000_007] {
            latest.push(tx.clock_marks().latest_moment_of(Timestamp(wall)).await.unwrap());
        }
        assert_eq!(latest, [Some(0), Some(25), Some(30), Some(30), Some(35), Some(40), Some(47)]);
    }

    #[tokio::test]
    async fn a_jump_of_the_wall_clock_makes_nothing_older() {
        let mut tx = empty().await;
        for (observed_ms, wall) in [(0, 1000), (10, 1010), (20, 9_000_000), (30, 9_000_010), (40, 1040)] {
            tx.clock_marks_mut().put(Mark { observed_ms, wall: Timestamp(wall) }, i64::MAX).await.unwrap();
        }
        assert_eq!(tx.clock_marks().earliest_wall_since(-1).await.unwrap(), None);
        assert_eq!(tx.clock_marks().earliest_wall_since(5).await.unwrap(), Some(Timestamp(1000)));
        assert_eq!(tx.clock_marks().earliest_wall_since(15).await.unwrap(), Some(Timestamp(1010)));
        assert_eq!(
            tx.clock_marks().earliest_wall_since(35).await.unwrap(),
            Some(Timestamp(1040)),
            "the clock went back"
        );
        tx.clock_marks_mut().put(Mark { observed_ms: 50, wall: Timestamp(1050) }, 15).await.unwrap();
        assert_eq!(tx.clock_marks().earliest_wall_since(30).await.unwrap(), None, "forgotten");
        assert_eq!(
            tx.clock_marks().last().await.unwrap(),
            Some(Mark { observed_ms: 50, wall: Timestamp(1050) })
        );
    }
}

//! Counting the time limits of a program. Time in which somebody is asked, or a call waits for an engine, counts in
//! neither.

use std::time::Duration;

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use crate::{LimitHit, Limits};

/// How far the limits of a program are used up.
#[derive(Debug)]
struct Count {
    silence: Option<Duration>,
    /// What is left of the wall clock, as of `since`.
    left: Option<Duration>,
    /// Since when time counts; none while somebody is asked.
    since: Option<Instant>,
    /// When the program was heard last, or time began to count again.
    heard: Instant,
}

impl Count {
    const fn new(limits: Limits, now: Instant) -> Self {
        Self { silence: limits.silence, left: limits.wall_clock, since: Some(now), heard: now }
    }

    fn printed(&mut self, at: Instant) {
        self.heard = self.heard.max(at);
    }

    /// Somebody is asked, or not any more.
    fn waits(&mut self, waits: bool, now: Instant) {
        match self.since {
            Some(since) if waits => {
                self.left = self.left.map(|left| left.saturating_sub(now - since));
                self.since = None;
            }
            None if !waits => {
                self.since = Some(now);
                // While a person thinks nobody else is silent.
                self.printed(now);
            }
            Some(_) | None => {}
        }
    }

    /// Which limit is reached next if nothing happens, and when.
    fn due(&self) -> Option<(Instant, LimitHit)> {
        let since = self.since?;
        let wall_clock = self.left.map(|left| (since + left, LimitHit::WallClock));
        let silence = self.silence.map(|silence| (self.heard + silence, LimitHit::Silence));
        wall_clock.into_iter().chain(silence).min_by_key(|(at, _)| *at)
    }
}

/// Returns the first limit that is reached. `waiting` is whether a person is asked and whether calls wait for an engine,
/// `heard` when the program printed last.
pub(super) async fn reached(
    limits: Limits,
    [mut asks, mut calls]: [watch::Receiver<bool>; 2],
    heard: &watch::Sender<Instant>,
) -> LimitHit {
    let mut count = Count::new(limits, Instant::now());
    loop {
        count.printed(*heard.borrow());
        let waits = *asks.borrow_and_update() | *calls.borrow_and_update();
        count.waits(waits, Instant::now());
        let due = count.due();
        let reached = async {
            match due {
                Some((at, _)) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // The senders live as long as the program.
            _ = asks.changed() => {}
            _ = calls.changed() => {}
            () = reached => {
                count.printed(*heard.borrow());
                if let Some((_, hit)) = count.due().filter(|(at, _)| *at <= Instant::now()) {
                    return hit;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn limits(wall_clock: u64, silence: u64) -> Limits {
        Limits { wall_clock: Some(seconds(wall_clock)), silence: Some(seconds(silence)) }
    }

    #[test]
    fn silence_counts_from_the_last_output_and_not_while_somebody_is_asked() {
        let begun = Instant::now();
        let at = |after: u64| begun + seconds(after);
        let mut count = Count::new(limits(1000, 5), begun);
        assert_eq!(count.due(), Some((at(5), LimitHit::Silence)));
        count.printed(at(4));
        assert_eq!(count.due(), Some((at(9), LimitHit::Silence)));
        count.waits(true, at(6));
        assert_eq!(count.due(), None);
        count.waits(false, at(106));
        assert_eq!(count.due(), Some((at(111), LimitHit::Silence)));
    }

    #[test]
    fn wall_clock_stands_still_while_somebody_is_asked() {
        let begun = Instant::now();
        let at = |after: u64| begun + seconds(after);
        let mut count = Count::new(limits(5, 100), begun);
        count.waits(true, at(1));
        count.waits(true, at(7));
        assert_eq!(count.due(), None);
        count.waits(false, at(11));
        assert_eq!(count.due(), Some((at(15), LimitHit::WallClock)));
        count.waits(true, at(14));
        count.waits(false, at(20));
        assert_eq!(count.due(), Some((at(21), LimitHit::WallClock)));
        assert_eq!(Count::new(Limits::default(), begun).due(), None);
    }
}

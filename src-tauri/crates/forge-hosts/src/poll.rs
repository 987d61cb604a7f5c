//! When to look at a pull request again.

use forge_model::time::Timestamp;

use crate::limits::Quota;

/// Never sooner than that, in milliseconds.
const SHORTEST_MS: i64 = 30_000;
/// Never later than that, unless the host asks to wait longer, in milliseconds.
const LONGEST_MS: i64 = 15 * 60_000;
/// A quiet pull request is looked at after this part of its silence: an hour of silence gives three minutes.
const PART_OF_SILENCE: i64 = 20;
/// The older one is, the less anybody waits for it: a day gives about seven minutes.
const PART_OF_AGE: i64 = 200;
/// A look costs about this many requests when everything changed.
const REQUESTS_OF_A_LOOK: i64 = 6;
/// Requests that are left to the person's other programs.
const LEFT_TO_OTHERS: i64 = 100;

/// What the next look depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PollFacts {
    /// When the pull request was opened.
    pub opened_at: Timestamp,
    /// When a look last found something new.
    pub changed_at: Timestamp,
    /// How many looks failed in a row.
    pub failures: u32,
    /// Until when the host asked to wait, from [`crate::HostError::RateLimited`].
    pub wait_until: Option<Timestamp>,
    /// How many requests the host still grants, from [`crate::Host::quota`].
    pub quota: Option<Quota>,
}

/// When to look again. `chance` is a random number from 0 to 1 that spreads looks by a tenth, so that many
/// pull requests do not ask at once; whatever it is, the result stays within 30 seconds and 15 minutes. The one
/// exception is a host that asked to wait for longer: asking sooner would make it worse.
#[must_use]
pub fn next_poll(now: Timestamp, facts: &PollFacts, chance: f64) -> Timestamp {
    let quiet = now.since(facts.changed_at).max(0) / PART_OF_SILENCE;
    let aged = now.since(facts.opened_at).max(0) / PART_OF_AGE;
    // The age slows down what is quiet, not what changes just now.
    let calm = quiet.max(aged.min(quiet.saturating_mul(4)));
    let doubled = SHORTEST_MS << facts.failures.min(10);
    let backoff = if facts.failures == 0 { 0 } else { doubled };
    let wait = calm.max(backoff).max(spread(now, facts.quota)).clamp(SHORTEST_MS, LONGEST_MS);
    let wait = jittered(wait, chance).clamp(SHORTEST_MS, LONGEST_MS);
    let at = now.plus_ms(wait);
    facts.wait_until.filter(|until| *until > at).map_or(at, |until| until.plus_ms(jittered(1000, chance)))
}

/// How long to wait so that the granted requests last until there are new ones.
fn spread(now: Timestamp, quota: Option<Quota>) -> i64 {
    let Some(quota) = quota else { return 0 };
    let span = quota.reset_at.since(now).max(0);
    let looks = (i64::from(quota.remaining) - LEFT_TO_OTHERS).max(0) / REQUESTS_OF_A_LOOK;
    span.checked_div(looks).unwrap_or(span)
}

/// The span, a tenth more or less.
fn jittered(ms: i64, chance: f64) -> i64 {
    let chance = if chance.is_finite() { chance.clamp(0.0, 1.0) } else { 0.5 };
    // Thousandths are fine enough, and whole numbers stay exact.
    #[expect(clippy::cast_possible_truncation, reason = "between 0 and 200")]
    let thousandths = 900 + (chance * 200.0) as i64;
    ms.saturating_mul(thousandths) / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_700_000_000_000);
    const MINUTE: i64 = 60_000;
    const HOUR: i64 = 60 * MINUTE;

    fn facts(age: i64, quiet: i64) -> PollFacts {
        PollFacts {
            opened_at: NOW.plus_ms(-age),
            changed_at: NOW.plus_ms(-quiet),
            failures: 0,
            wait_until: None,
            quota: None,
        }
    }

    /// Seconds until the next look, without jitter.
    fn seconds(facts: &PollFacts) -> i64 {
        next_poll(NOW, facts, 0.5).since(NOW) / 1000
    }

    #[test]
    fn silence_and_age_make_looks_rarer() {
        for (age, quiet, expected) in [
            (0, 0, 30),
            (HOUR, 0, 30),
            (HOUR, HOUR, 180),
            (24 * HOUR, 10 * MINUTE, 120),
            (24 * HOUR, HOUR, 432),
            (24 * HOUR, 24 * HOUR, 900),
            (-HOUR, -HOUR, 30),
            (i64::MAX, i64::MAX, 900),
        ] {
            assert_eq!(seconds(&facts(age, quiet)), expected, "{age} {quiet}");
        }
    }

    #[test]
    fn failures_back_off() {
        let waits: Vec<i64> =
            (0..8).map(|failures| seconds(&PollFacts { failures, ..facts(0, 0) })).collect();
        assert_eq!(waits, [30, 60, 120, 240, 480, 900, 900, 900]);
        assert_eq!(seconds(&PollFacts { failures: u32::MAX, ..facts(0, 0) }), 900);
    }

    #[test]
    fn the_granted_requests_last() {
        let with = |remaining, minutes| PollFacts {
            quota: Some(Quota { remaining, reset_at: NOW.plus_ms(minutes * MINUTE) }),
            ..facts(0, 0)
        };
        for (remaining, minutes, expected) in
            [(5000, 60, 30), (400, 60, 72), (100, 10, 600), (0, 60, 900), (0, -5, 30)]
        {
            assert_eq!(seconds(&with(remaining, minutes)), expected, "{remaining} {minutes}");
        }
    }

    #[test]
    fn a_host_that_asks_to_wait_is_left_alone() {
        let until = |seconds: i64| PollFacts { wait_until: Some(NOW.plus_ms(seconds * 1000)), ..facts(0, 0) };
        assert_eq!(seconds(&until(5)), 30);
        assert_eq!(seconds(&until(3600)), 3601);
    }

    #[test]
    fn chance_stays_within_the_bounds() {
        for chance in [0.0, 0.3, 1.0, 7.0, -1.0, f64::NAN, f64::INFINITY] {
            for quiet in [0, HOUR, 100 * HOUR] {
                let wait = next_poll(NOW, &facts(quiet, quiet), chance).since(NOW);
                assert!((SHORTEST_MS..=LONGEST_MS).contains(&wait), "{chance} {quiet}: {wait}");
            }
        }
        let hour = facts(HOUR, HOUR);
        let spread = [0.0, 1.0].map(|chance| next_poll(NOW, &hour, chance).since(NOW) / 1000);
        assert_eq!(spread, [162, 198]);
    }
}

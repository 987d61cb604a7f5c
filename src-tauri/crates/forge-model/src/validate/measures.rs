//! Whether attempts get anywhere: pure functions of their scores and of what failed in each.

use crate::{contract, names};

/// How many earlier attempts are looked at for the same failures.
const OSCILLATION_WINDOW: usize = 4;
/// Over how many scores the velocity is taken, at most.
const VELOCITY_WINDOW: usize = 4;

names! {
    /// What to do next.
    pub enum Recommendation {
        /// Passed: continue.
        Proceed = "PROCEED",
        /// Fix it and try again.
        Retry = "RETRY",
        /// Retrying makes no progress: ask somebody else.
        Escalate = "ESCALATE",
    }
}

contract! {
    /// How an attempt compares with the earlier ones.
    #[serde(rename_all = "camelCase")]
    pub struct Measures {
        /// Whether it makes no progress.
        pub stagnant: bool,
        /// Gain of the score per attempt over the latest four; null before the third.
        pub velocity: Option<f64>,
        /// Whether it fails like one of the four attempts before the previous one.
        pub oscillating: bool,
        /// Whether it fails exactly like the previous one.
        pub same_as_prev: bool,
        /// What to do next.
        pub recommendation: Recommendation,
    }
}

/// What is known of one attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptFacts {
    /// Whether it passed.
    pub passed: bool,
    /// Its score, 0 to 1.
    pub score: f64,
    /// What failed, each by its identity; sorted, the same one as often as it failed.
    pub failures: Vec<String>,
}

impl AttemptFacts {
    /// The facts of an attempt in which so many checks counted and these failed.
    #[must_use]
    pub fn new(counted: usize, mut failures: Vec<String>) -> Self {
        failures.sort();
        let score = score_of(counted.saturating_sub(failures.len()), counted);
        Self { passed: failures.is_empty(), score, failures }
    }
}

impl Measures {
    /// Why attempts get nowhere, in words; none when they do not.
    #[must_use]
    pub fn why_stagnant(&self) -> Option<&'static str> {
        match (self.stagnant, self.same_as_prev, self.oscillating) {
            (false, ..) => None,
            (true, true, _) => Some("the same checks fail as before"),
            (true, false, true) => Some("an earlier failure reappeared"),
            (true, false, false) => Some("the score does not improve"),
        }
    }

    /// Those of a call that is not counted.
    #[must_use]
    pub const fn uncounted(recommendation: Recommendation) -> Self {
        Self { stagnant: false, velocity: None, oscillating: false, same_as_prev: false, recommendation }
    }
}

/// Passed checks of those that counted; 0 when none did.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "nobody makes 2^53 checks")]
pub fn score_of(passed: usize, counted: usize) -> f64 {
    if counted == 0 { 0.0 } else { passed as f64 / counted as f64 }
}

/// Measures an attempt against those before it, the latest last.
#[must_use]
pub fn measure(earlier: &[AttemptFacts], now: &AttemptFacts) -> Measures {
    let fails = !now.failures.is_empty();
    let fails_like = |other: &AttemptFacts| fails && other.failures == now.failures;
    let same_as_prev = earlier.last().is_some_and(fails_like);
    let has_two = earlier.len() >= 2;
    let oscillating =
        has_two && !same_as_prev && earlier.iter().rev().take(OSCILLATION_WINDOW).any(fails_like);
    let is_perfect = now.score >= 1.0;
    let regressing = has_two && !is_perfect && earlier.last().is_some_and(|last| now.score <= last.score);
    let velocity = velocity(earlier, now.score);
    let stands_still = !is_perfect && velocity.is_some_and(|velocity| velocity <= 0.0);
    let stagnant = same_as_prev || regressing || oscillating || stands_still;
    let recommendation = match (stagnant, now.passed) {
        (true, _) => Recommendation::Escalate,
        (false, true) => Recommendation::Proceed,
        (false, false) => Recommendation::Retry,
    };
    Measures { stagnant, velocity, oscillating, same_as_prev, recommendation }
}

/// What the score gained per attempt over the latest few; none before the third.
#[expect(clippy::cast_precision_loss, reason = "at most four")]
fn velocity(earlier: &[AttemptFacts], now: f64) -> Option<f64> {
    let count = earlier.len() + 1;
    if count < 3 {
        return None;
    }
    let window = count.min(VELOCITY_WINDOW);
    let oldest = earlier.get(count - window)?;
    Some((now - oldest.score) / (window - 1) as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn attempts() -> impl Strategy<Value = Vec<AttemptFacts>> {
        let one = (0usize..6).prop_flat_map(|counted| {
            prop::collection::vec("[abc]", 0..=counted)
                .prop_map(move |failed| AttemptFacts::new(counted, failed))
        });
        prop::collection::vec(one, 1..9)
    }

    proptest! {
        #[test]
        fn measures_keep_what_they_promise(all in attempts()) {
            let (now, earlier) = all.split_last().unwrap();
            let m = measure(earlier, now);
            prop_assert_eq!(m.velocity.is_some(), all.len() >= 3);
            prop_assert!(!(m.same_as_prev && m.oscillating), "the same set wins");
            prop_assert!(now.failures.is_empty() <= (!m.same_as_prev && !m.oscillating));
            prop_assert_eq!(m.recommendation == Recommendation::Escalate, m.stagnant);
            if !m.stagnant {
                prop_assert_eq!(m.recommendation == Recommendation::Proceed, now.passed);
            }
            if now.score >= 1.0 {
                prop_assert!(!m.stagnant, "what is perfect is good enough");
            }
            prop_assert!((0.0..=1.0).contains(&now.score));
            prop_assert!(m.velocity.is_none_or(|velocity| (-1.0..=1.0).contains(&velocity)));
        }

        #[test]
        fn the_order_in_which_checks_fail_says_nothing(
            mut failed in prop::collection::vec("[a-d]", 0..6), earlier in attempts(),
        ) {
            let there = AttemptFacts::new(6, failed.clone());
            failed.reverse();
            let back = AttemptFacts::new(6, failed);
            prop_assert_eq!(measure(&earlier, &there), measure(&earlier, &back));
        }

        #[test]
        fn what_is_older_than_the_windows_says_nothing(older in attempts(), all in attempts()) {
            let (now, earlier) = all.split_last().unwrap();
            prop_assume!(earlier.len() >= OSCILLATION_WINDOW);
            let longer: Vec<_> = older.iter().chain(earlier).cloned().collect();
            prop_assert_eq!(measure(&longer, now), measure(earlier, now));
        }
    }

    #[test]
    fn duplicates_are_kept() {
        let twice = AttemptFacts::new(4, vec!["a".into(), "a".into()]);
        let once = AttemptFacts::new(4, vec!["a".into()]);
        assert!(!measure(&[once], &twice).same_as_prev);
    }
}

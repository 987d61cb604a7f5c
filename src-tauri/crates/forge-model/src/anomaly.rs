//! Whether a run cost more than runs of its model usually do.
//!
//! Costs are whole micro-dollars and compared exactly: the ratio as the decimal that was written, the median
//! doubled. Nothing is divided before it is decided. What comes later never changes what was found.

use std::cmp::Ordering;

use crate::{contract, names};

/// The ratio that counts where none is given or what is given is none.
pub const DEFAULT_RATIO: f64 = 2.0;
/// The window that counts where none is given or what is given is none.
pub const DEFAULT_MEDIAN_WINDOW: u32 = 20;
/// The number of samples that counts where none is given or what is given is none.
pub const DEFAULT_MIN_SAMPLES: u32 = 1;

names! {
    /// What was found about a run's cost.
    pub enum CostFinding {
        /// Nobody looked.
        Disabled = "disabled",
        /// Nobody knows what it cost.
        CurrentUnknown = "current cost unknown",
        /// There is too little to compare it with.
        TooFewSamples = "too few samples",
        /// What it is compared with cost nothing.
        MedianZero = "median zero",
        /// It cost at most what is usual.
        Within = "within",
        /// It cost more.
        Above = "above",
    }
}

/// How runs are compared, as it is used: every number is in its bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    enabled: bool,
    ratio: f64,
    median_window: usize,
    min_samples: usize,
}

impl Threshold {
    /// What is no positive finite ratio, or no whole number from 1 on, counts as its default.
    #[must_use]
    pub fn new(
        enabled: bool,
        ratio: Option<f64>,
        median_window: Option<u32>,
        min_samples: Option<u32>,
    ) -> Self {
        let ratio = ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0).unwrap_or(DEFAULT_RATIO);
        let whole = |given: Option<u32>, default: u32| {
            usize::try_from(given.filter(|number| *number >= 1).unwrap_or(default)).unwrap_or(usize::MAX)
        };
        Self {
            enabled,
            ratio,
            median_window: whole(median_window, DEFAULT_MEDIAN_WINDOW),
            min_samples: whole(min_samples, DEFAULT_MIN_SAMPLES),
        }
    }

    /// The ratio above which a run is told.
    #[must_use]
    pub const fn ratio(&self) -> f64 {
        self.ratio
    }

    /// How many earlier runs are looked at.
    #[must_use]
    pub const fn median_window(&self) -> usize {
        self.median_window
    }
}

contract! {
    /// What a run's cost was compared with, and what came of it.
    pub struct CostJudgement {
        /// What was found.
        pub why: CostFinding,
        /// How many earlier runs were looked at.
        pub samples: u32,
        /// Their median in micro-dollars, which may end in half a one; null when there are too few.
        pub median_micro_usd: Option<f64>,
        /// The cost divided by the median, to three decimals; null without a median above zero.
        pub ratio: Option<f64>,
    }
}

impl CostJudgement {
    /// Whether it is an anomaly.
    #[must_use]
    pub fn is_anomaly(&self) -> bool {
        self.why == CostFinding::Above
    }
}

/// Judges a run by those of its model that ended before it, the latest last; an unknown cost uses no place.
#[must_use]
pub fn judge(threshold: &Threshold, before: &[Option<u64>], current: Option<u64>) -> CostJudgement {
    let nothing = |why| CostJudgement { why, samples: 0, median_micro_usd: None, ratio: None };
    if !threshold.enabled {
        return nothing(CostFinding::Disabled);
    }
    let Some(cost) = current else { return nothing(CostFinding::CurrentUnknown) };
    let window: Vec<u64> = before.iter().rev().filter_map(|c| *c).take(threshold.median_window).collect();
    let samples = u32::try_from(window.len()).unwrap_or(u32::MAX);
    let Some(doubled) = doubled_median(window).filter(|_| samples as usize >= threshold.min_samples) else {
        return CostJudgement { samples, ..nothing(CostFinding::TooFewSamples) };
    };
    let judged =
        CostJudgement { samples, median_micro_usd: Some(half(doubled)), ..nothing(CostFinding::Within) };
    if doubled == 0 {
        return CostJudgement { why: CostFinding::MedianZero, ..judged };
    }
    let is_above = compare(cost, threshold.ratio, doubled) == Ordering::Greater;
    let why = if is_above { CostFinding::Above } else { CostFinding::Within };
    CostJudgement { why, ratio: Some(thousandths(cost, doubled)), ..judged }
}

/// Twice the median of costs; none without any.
#[must_use]
pub fn doubled_median(mut costs: Vec<u64>) -> Option<u128> {
    costs.sort_unstable();
    let middle = costs.len() / 2;
    let upper = u128::from(*costs.get(middle)?);
    let lower = if costs.len() % 2 == 1 { upper } else { u128::from(*costs.get(middle.checked_sub(1)?)?) };
    Some(lower + upper)
}

/// Half of a doubled number, for showing: the shortest form of what is exact up to nine million dollars.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "shown, not compared")]
pub fn half(doubled: u128) -> f64 {
    doubled as f64 / 2.0
}

/// How a cost compares with `ratio` times the median, exactly.
fn compare(cost: u64, ratio: f64, doubled_median: u128) -> Ordering {
    // The shortest decimal that stands for the number is the one that was written.
    let (digits, exponent) = decimal(ratio);
    let cost = u128::from(cost) * 2;
    let (left, right) = if exponent < 0 {
        (scaled(cost, exponent.unsigned_abs()), doubled_median.checked_mul(digits))
    } else {
        (
            Some(cost),
            doubled_median.checked_mul(digits).and_then(|limit| scaled(limit, exponent.unsigned_abs())),
        )
    };
    match (left, right) {
        (Some(left), Some(right)) => left.cmp(&right),
        // Costs have 65 bits and a ratio 57: only tens put a side beyond 128, and then it is the greater.
        (None, _) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
    }
}

fn scaled(number: u128, tens: u32) -> Option<u128> {
    if number == 0 { Some(0) } else { number.checked_mul(10u128.checked_pow(tens)?) }
}

/// A positive finite number as `digits` times ten to the power of `exponent`.
fn decimal(number: f64) -> (u128, i32) {
    let text = format!("{number:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}").parse().unwrap_or(u128::MAX);
    let places = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
    (digits, exponent.parse::<i32>().unwrap_or(0) - places)
}

/// The cost divided by the median, rounded to three decimals, halves up.
#[expect(clippy::cast_precision_loss, reason = "shown, not compared")]
fn thousandths(cost: u64, doubled_median: u128) -> f64 {
    let numerator = u128::from(cost) * 2 * 1000;
    let rounded = (numerator * 2 + doubled_median) / (doubled_median * 2);
    rounded as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn always(ratio: f64) -> Threshold {
        Threshold::new(true, Some(ratio), None, None)
    }

    #[test]
    fn what_is_no_number_in_bounds_counts_as_the_default() {
        let usual = Threshold::new(true, Some(2.0), Some(20), Some(1));
        for ratio in [None, Some(0.0), Some(-1.0), Some(f64::NAN), Some(f64::INFINITY)] {
            assert_eq!(Threshold::new(true, ratio, Some(0), None), usual, "{ratio:?}");
        }
    }

    #[test]
    fn ratios_of_any_size_are_compared_without_rounding() {
        let most = u64::MAX;
        for (cost, ratio, doubled, expected) in [
            (684_000, 1.2, 1_140_000, Ordering::Equal),
            (684_001, 1.2, 1_140_000, Ordering::Greater),
            (3, 0.1, 60, Ordering::Equal),
            (most, 1.0, u128::from(most) * 2, Ordering::Equal),
            (most, f64::MIN_POSITIVE, u128::from(most) * 2, Ordering::Greater),
            (0, f64::MIN_POSITIVE, 1, Ordering::Less),
            (most, f64::MAX, 1, Ordering::Less),
            (1, 1e300, 1, Ordering::Less),
        ] {
            assert_eq!(compare(cost, ratio, doubled), expected, "{cost} {ratio} {doubled}");
        }
    }

    #[test]
    fn a_switched_off_look_finds_nothing() {
        let off = Threshold::new(false, None, None, None);
        assert_eq!(judge(&off, &[Some(1)], Some(9)).why, CostFinding::Disabled);
    }

    proptest! {
        #[test]
        fn the_order_inside_the_window_never_matters(mut costs in prop::collection::vec(0u64..50, 1..20), cost in 0u64..200) {
            let mut all: Vec<Option<u64>> = costs.iter().copied().map(Some).collect();
            let first = judge(&always(2.0), &all, Some(cost));
            costs.sort_unstable();
            all = costs.into_iter().map(Some).collect();
            prop_assert_eq!(first, judge(&always(2.0), &all, Some(cost)));
        }

        #[test]
        fn only_the_window_counts(old in prop::collection::vec(prop::option::of(0u64..9), 0..9), window in prop::collection::vec(0u64..50, 5), cost in 0u64..200) {
            let threshold = Threshold::new(true, Some(1.5), Some(5), None);
            let window: Vec<Option<u64>> = window.into_iter().map(Some).collect();
            let with_old: Vec<Option<u64>> = old.into_iter().chain(window.iter().copied()).collect();
            prop_assert_eq!(judge(&threshold, &window, Some(cost)), judge(&threshold, &with_old, Some(cost)));
        }

        #[test]
        fn unknown_costs_use_no_place(costs in prop::collection::vec(prop::option::of(0u64..50), 0..30), cost in 0u64..200) {
            let known: Vec<Option<u64>> = costs.iter().copied().filter(Option::is_some).collect();
            prop_assert_eq!(judge(&always(2.0), &costs, Some(cost)), judge(&always(2.0), &known, Some(cost)));
        }

        #[test]
        fn a_dearer_run_is_never_less_of_an_anomaly(costs in prop::collection::vec(0u64..50, 1..30), cost in 0u64..200, more in 0u64..50) {
            let costs: Vec<Option<u64>> = costs.into_iter().map(Some).collect();
            let found = judge(&always(2.0), &costs, Some(cost)).is_anomaly();
            prop_assert!(!found || judge(&always(2.0), &costs, Some(cost + more)).is_anomaly());
        }
    }
}

//! Tokens and cost that an agent spent, in the five classes that every adapter is brought to.
//!
//! `reasoning` is part of `output`, never added to it. Costs are integer micro-dollars: a sum of
//! many small floats drifts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use specta::Type;

/// The most that a cost or a count of tokens may be: the largest integer that every reader of JSON holds exactly.
pub const MAX_FIGURE: u64 = (1 << 53) - 1;

/// Dollars to the nearest micro-dollar; none when they are negative, not finite or more than [`MAX_FIGURE`].
#[must_use]
pub fn micro_usd(dollars: f64) -> Option<u64> {
    let micro = (dollars * 1_000_000.0).round();
    if !micro.is_finite() || dollars < 0.0 {
        return None;
    }
    // A float has no other way to an integer; the text of a whole one is exact.
    format!("{:.0}", micro.abs()).parse().ok().filter(|micro| *micro <= MAX_FIGURE)
}

/// An increment of usage since the previous sample, never a running total.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, Type, JsonSchema)]
pub struct UsageSample {
    /// Model name as reported by the program; empty if it reported none.
    pub model: String,
    /// Input tokens not served from a cache.
    #[specta(type = f64)]
    pub input_uncached: u64,
    /// Input tokens read from a cache.
    #[specta(type = f64)]
    pub cache_read: u64,
    /// Input tokens written to a cache.
    #[specta(type = f64)]
    pub cache_write: u64,
    /// Output tokens, including reasoning.
    #[specta(type = f64)]
    pub output: u64,
    /// The part of `output` that was reasoning.
    #[specta(type = f64)]
    pub reasoning: u64,
    /// Cost in micro-dollars as reported by the program; none if it reported none.
    #[specta(type = Option<f64>)]
    pub cost_micro_usd: Option<u64>,
}

impl UsageSample {
    /// Adds `other` to this sample, keeping this one's model. A cost is known when one of the two is.
    pub const fn add(&mut self, other: &Self) {
        self.input_uncached = self.input_uncached.saturating_add(other.input_uncached);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.cost_micro_usd = match (self.cost_micro_usd, other.cost_micro_usd) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (Some(a), None) => Some(a),
            (None, b) => b,
        };
    }
}

/// Sums samples model by model, in the order in which the models first appear.
#[must_use]
pub fn by_model(samples: &[UsageSample]) -> Vec<UsageSample> {
    let mut sums: Vec<UsageSample> = Vec::new();
    for sample in samples {
        match sums.iter_mut().find(|sum| sum.model == sample.model) {
            Some(sum) => sum.add(sample),
            None => sums.push(sample.clone()),
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(model: &str, output: u64, cost: Option<u64>) -> UsageSample {
        UsageSample { model: model.to_owned(), output, cost_micro_usd: cost, ..UsageSample::default() }
    }

    #[test]
    fn sums_by_model_and_keeps_unknown_costs_unknown() {
        let sums = by_model(&[
            sample("a", 1, None),
            sample("b", 2, Some(5)),
            sample("a", 3, None),
            sample("b", u64::MAX, Some(6)),
        ]);
        assert_eq!(sums, vec![sample("a", 4, None), sample("b", u64::MAX, Some(11))]);
    }
}

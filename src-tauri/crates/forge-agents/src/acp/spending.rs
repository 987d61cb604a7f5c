//! What a run spent: increments, each counted once.
//!
//! Costs come as the total of the whole session, over processes and forks: what was counted of it is carried along
//! and subtracted. Tokens come once for each prompt; opencode tells those of its last call of the model alone.

use forge_model::usage::{UsageSample, micro_usd};
use serde_json::{Value, json};

use super::wire::{Ended, Tokens};

/// Keeps what was counted.
#[derive(Debug, Default)]
pub(super) struct Spending {
    /// What the run before left.
    carried: Option<u64>,
    /// The total that was told while the session was opened.
    replayed: Option<u64>,
    /// The total that was counted up to, in micro-dollars; none when it is not known.
    counted: Option<u64>,
    /// Whether this session's costs are told.
    is_told: bool,
}

impl Spending {
    pub(super) fn new(carry: Option<&Value>) -> Self {
        let carried = carry.and_then(|carry| carry.get("cost_micro_usd")?.as_u64());
        Self { carried, ..Self::default() }
    }

    /// A total that belongs to what is being said again.
    pub(super) fn replayed(&mut self, usd: f64) {
        self.replayed = micro_usd(usd);
    }

    /// The session is open. A new one has cost nothing; what another one cost must be known from before.
    pub(super) fn opened(&mut self, is_new: bool) {
        self.counted = match (self.carried, self.replayed) {
            _ if is_new => Some(0),
            // A total below what was counted was begun anew.
            (Some(carried), Some(replayed)) => Some(carried.min(replayed)),
            (carried, replayed) => carried.or(replayed),
        };
    }

    /// A new total: what was spent since the one before. None when that cannot be told.
    pub(super) fn spent(&mut self, usd: f64) -> Option<u64> {
        let total = micro_usd(usd)?;
        self.is_told = true;
        let before = self.counted.replace(total)?;
        Some(total.checked_sub(before).unwrap_or(total))
    }

    /// What the next run of the session must know. It is known from the beginning: what is spent after it and never
    /// told, since the program is killed, is in the total that the session's next run is told.
    pub(super) fn carry(&self) -> Option<Value> {
        self.counted.map(|counted| json!({ "cost_micro_usd": counted }))
    }

    /// The tokens of a prompt. Their cost was counted before where it is told at all.
    pub(super) fn tokens(&self, ended: &Ended, model: &str) -> Vec<UsageSample> {
        let cost_micro_usd = self.is_told.then_some(0);
        let sample = |model: &str, tokens: &Tokens| {
            // Some agents count thoughts as output and some beside it; their sum tells which.
            let input = tokens.input.saturating_add(tokens.cache_read).saturating_add(tokens.cache_write);
            let both = tokens.output.saturating_add(tokens.thought);
            let is_beside = tokens.thought > 0 && tokens.total >= input.saturating_add(both);
            UsageSample {
                model: model.to_owned(),
                input_uncached: tokens.input,
                cache_read: tokens.cache_read,
                cache_write: tokens.cache_write,
                output: if is_beside { both } else { tokens.output },
                reasoning: tokens.thought,
                cost_micro_usd,
            }
        };
        let samples: Vec<_> = match &ended.tokens {
            Some(tokens) => {
                let only = ended.by_model.first().filter(|_| ended.by_model.len() == 1);
                vec![sample(only.map_or(model, |(model, _)| model), tokens)]
            }
            None => ended.by_model.iter().map(|(model, tokens)| sample(model, tokens)).collect(),
        };
        let is_some = |it: &UsageSample| {
            [it.input_uncached, it.cache_read, it.cache_write, it.output].iter().any(|count| *count > 0)
        };
        samples.into_iter().filter(is_some).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(carried: Option<u64>, replayed: Option<f64>, is_new: bool) -> Spending {
        let carry = carried.map(|it| json!({ "cost_micro_usd": it }));
        let mut spending = Spending::new(carry.as_ref());
        if let Some(usd) = replayed {
            spending.replayed(usd);
        }
        spending.opened(is_new);
        spending
    }

    #[test]
    fn totals_become_increments() {
        let mut new = opened(None, None, true);
        assert_eq!(new.spent(0.000_548), Some(548));
        assert_eq!(new.spent(0.001_096), Some(548));
        assert_eq!(new.spent(0.001_096), Some(0));
        assert_eq!(new.carry(), Some(json!({ "cost_micro_usd": 1096 })));
        for no_sum in [f64::NAN, -0.5, 1e10] {
            assert_eq!(new.spent(no_sum), None, "{no_sum}");
        }
        assert_eq!(new.spent(0.001_1), Some(4));
    }

    #[test]
    fn what_another_run_counted_is_not_counted_again() {
        assert_eq!(opened(Some(1096), None, false).spent(0.001_644), Some(548));
        assert_eq!(opened(Some(1096), Some(0.001_096), false).spent(0.001_644), Some(548));
        assert_eq!(opened(Some(1096), Some(0.0), false).spent(0.001_644), Some(1644), "begun anew");
        assert_eq!(opened(Some(1096), None, false).spent(0.000_548), Some(548), "begun anew");
        assert_eq!(opened(None, Some(0.001_096), false).spent(0.001_644), Some(548));
        assert_eq!(opened(Some(1096), None, true).spent(0.000_548), Some(548), "the other one was lost");
        let mut unknown = opened(None, None, false);
        assert_eq!(unknown.spent(0.001_644), None);
        assert_eq!(unknown.spent(0.002), Some(356));
    }

    #[test]
    fn a_run_that_is_told_no_cost_carries_the_one_before() {
        assert_eq!(opened(Some(7), None, false).carry(), Some(json!({ "cost_micro_usd": 7 })));
        assert_eq!(opened(None, None, true).carry(), Some(json!({ "cost_micro_usd": 0 })));
        assert_eq!(opened(None, None, false).carry(), None, "nobody knows what it cost before");
    }

    #[test]
    fn what_a_killed_run_never_told_is_counted_by_the_next() {
        let killed = opened(None, None, true).carry();
        let mut next = Spending::new(killed.as_ref());
        next.replayed(0.001_096);
        next.opened(false);
        assert_eq!(next.spent(0.001_644), Some(1644));
    }
}

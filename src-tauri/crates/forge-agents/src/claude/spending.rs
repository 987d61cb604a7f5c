//! What a run spent: increments, each counted once.
//!
//! The program's totals go on over resumed and forked sessions, and into new processes. What it says to have spent
//! since the result before does not; older versions do not say it, so the totals that the run before ended with are
//! carried along to be subtracted.

use std::collections::BTreeMap;

use forge_model::usage::{UsageSample, micro_usd};
use serde_json::{Value, json};

use super::wire::{Spent, Totals, TurnResult};

/// Keeps what was counted.
#[derive(Debug, Default)]
pub(super) struct Spending {
    /// The program's totals at the result before; none when they are not known.
    totals: Option<Totals>,
    /// Dollars by model as the program told them, and the micro-dollars that were counted of them.
    costs: BTreeMap<String, (f64, u64)>,
}

impl Spending {
    /// For a session that goes on with another one, whose run left `carry`, or for one of its own.
    pub(super) fn new(carry: Option<&Value>, goes_on: bool) -> Self {
        let carried = carry.and_then(|it| it.get("totals")).cloned();
        let totals = carried.and_then(|totals| serde_json::from_value(totals).ok());
        Self { totals: if goes_on { totals } else { Some(Totals::new()) }, costs: BTreeMap::new() }
    }

    /// What the turn cost, by model. None when it cannot be told from what was counted before.
    pub(super) fn count(&mut self, result: &TurnResult) -> Option<Vec<UsageSample>> {
        let before = self.totals.replace(result.totals.clone());
        let spent = match (&result.since, before) {
            (Some(since), _) => since.clone(),
            (None, Some(before)) => difference(&result.totals, &before),
            (None, None) => return None,
        };
        Some(spent.into_iter().filter_map(|(model, spent)| self.sample(model, spent)).collect())
    }

    /// What the next run of the session must know.
    pub(super) fn carry(&self) -> Option<Value> {
        self.totals.as_ref().map(|totals| json!({ "totals": totals }))
    }

    fn sample(&mut self, model: String, spent: Spent) -> Option<UsageSample> {
        let Spent { input, cache_read, cache_write, output, reasoning, cost } = spent;
        let cost_micro_usd = cost.and_then(|dollars| {
            // Rounded from the sum, so that many small costs do not drift.
            let (sum, counted) = self.costs.entry(model.clone()).or_default();
            let micro = micro_usd(dollars).and(micro_usd(*sum + dollars))?.saturating_sub(*counted);
            *sum += dollars;
            *counted += micro;
            Some(micro)
        });
        let is_nothing = input + cache_read + cache_write + output == 0 && cost_micro_usd.unwrap_or(0) == 0;
        (!is_nothing).then_some(UsageSample {
            model,
            input_uncached: input,
            cache_read,
            cache_write,
            output,
            reasoning,
            cost_micro_usd,
        })
    }
}

fn difference(now: &Totals, before: &Totals) -> Totals {
    let less = |(model, now): (&String, &Spent)| {
        let before = before.get(model).copied().unwrap_or_default();
        let spent = Spent {
            input: now.input.saturating_sub(before.input),
            cache_read: now.cache_read.saturating_sub(before.cache_read),
            cache_write: now.cache_write.saturating_sub(before.cache_write),
            output: now.output.saturating_sub(before.output),
            reasoning: now.reasoning.saturating_sub(before.reasoning),
            cost: now.cost.map(|cost| {
                if cost < 0.0 { cost } else { (cost - before.cost.unwrap_or_default()).max(0.0) }
            }),
        };
        (model.clone(), spent)
    };
    now.iter().map(less).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(input: u64, cost: f64) -> Totals {
        [("m".to_owned(), Spent { input, cost: Some(cost), ..Spent::default() })].into()
    }

    fn counted(spending: &mut Spending, totals: Totals, since: Option<Totals>) -> Option<Vec<(u64, u64)>> {
        let result = TurnResult { totals, since, ..TurnResult::default() };
        let samples = spending.count(&result)?;
        Some(samples.iter().map(|it| (it.input_uncached, it.cost_micro_usd.unwrap_or_default())).collect())
    }

    #[test]
    fn small_costs_are_rounded_as_a_sum() {
        let mut spending = Spending::new(None, false);
        let mut total = 0;
        for _ in 0..10 {
            let costs =
                counted(&mut spending, Totals::new(), Some(spent(1, 0.000_000_4))).unwrap_or_default();
            total += costs.iter().map(|(_, cost)| cost).sum::<u64>();
        }
        assert_eq!(total, 4);
    }

    #[test]
    fn cost_that_is_no_sum_of_money_is_unknown() {
        let costs = |dollars| {
            let result =
                TurnResult { totals: Totals::new(), since: Some(spent(1, dollars)), ..TurnResult::default() };
            let counted = Spending::new(None, false).count(&result).expect("counted");
            counted.iter().map(|sample| sample.cost_micro_usd).collect::<Vec<_>>()
        };
        assert_eq!((costs(-0.5), costs(1e10), costs(0.5)), (vec![None], vec![None], vec![Some(500_000)]));
        let mut total = Spending::new(None, false);
        let samples = total.count(&TurnResult { totals: spent(1, -0.5), ..TurnResult::default() });
        assert_eq!(samples.expect("counted")[0].cost_micro_usd, None);
    }

    #[test]
    fn totals_are_subtracted_from_what_was_carried() {
        let mut first = Spending::new(None, false);
        assert_eq!(counted(&mut first, spent(400, 0.002), None), Some(vec![(400, 2000)]));
        let carry = first.carry();
        let mut second = Spending::new(carry.as_ref(), true);
        assert_eq!(counted(&mut second, spent(900, 0.005), None), Some(vec![(500, 3000)]));
        assert_eq!(counted(&mut second, spent(900, 0.005), None), Some(vec![]));
        assert_eq!(counted(&mut Spending::new(None, true), spent(900, 0.005), None), None);
    }
}

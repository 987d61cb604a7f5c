//! What the calls of the model in the present turn used, as far as it was told before the turn's result.
//!
//! The result counts, where there is one: it knows calls that are not told, and what they cost. A program that is
//! killed gives none. Each call is told several times, with what it used by then; the highest counts, once.

use std::collections::BTreeMap;

use forge_model::usage::UsageSample;

use super::wire::{Call, CallTokens};

/// The calls of a turn.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// By the answer's name.
    calls: BTreeMap<String, UsageSample>,
    /// What all of them used, by the model's name: a turn may have very many.
    sums: BTreeMap<String, UsageSample>,
    /// The answer that comes now: the turn's own, and that of each sub-agent.
    current: BTreeMap<Option<String>, String>,
}

impl Calls {
    /// A call used so much by now.
    pub(super) fn heard(&mut self, call: Call) {
        let Call { id, model, parent, used } = call;
        if let Some(id) = &id {
            self.current.insert(parent.clone(), id.clone());
        }
        let Some(id) = id.or_else(|| self.current.get(&parent).cloned()) else { return };
        if used == CallTokens::default() {
            // The program's own words, not the model's.
            return;
        }
        let known = self.calls.entry(id).or_default();
        let before = known.clone();
        if let Some(model) = model {
            known.model = model;
        }
        known.input_uncached = known.input_uncached.max(used.input);
        known.cache_read = known.cache_read.max(used.cache_read);
        known.cache_write = known.cache_write.max(used.cache_write);
        known.output = known.output.max(used.output);
        known.reasoning = known.reasoning.max(used.reasoning);
        let now = known.clone();
        if let Some(sum) = self.sums.get_mut(&before.model) {
            sum.input_uncached = sum.input_uncached.saturating_sub(before.input_uncached);
            sum.cache_read = sum.cache_read.saturating_sub(before.cache_read);
            sum.cache_write = sum.cache_write.saturating_sub(before.cache_write);
            sum.output = sum.output.saturating_sub(before.output);
            sum.reasoning = sum.reasoning.saturating_sub(before.reasoning);
        }
        let empty = || UsageSample { model: now.model.clone(), ..UsageSample::default() };
        self.sums.entry(now.model.clone()).or_insert_with(empty).add(&now);
    }

    /// What they used, by model.
    pub(super) fn samples(&self) -> Vec<UsageSample> {
        self.sums.values().filter(|sum| !is_nothing(sum)).cloned().collect()
    }

    /// What they used beyond what the result of an interrupted turn tells: it leaves out the call that was cut off.
    /// The program may name a model in two ways, so that only the sums of all models compare.
    pub(super) fn beyond(&self, told: &[UsageSample]) -> Option<UsageSample> {
        let sum = |samples: &[UsageSample]| {
            samples.iter().fold(UsageSample::default(), |mut sum, sample| {
                sum.add(sample);
                sum
            })
        };
        let heard = self.samples();
        let (all, told) = (sum(&heard), sum(told));
        let more = UsageSample {
            model: heard.last()?.model.clone(),
            input_uncached: all.input_uncached.saturating_sub(told.input_uncached),
            cache_read: all.cache_read.saturating_sub(told.cache_read),
            cache_write: all.cache_write.saturating_sub(told.cache_write),
            output: all.output.saturating_sub(told.output),
            reasoning: all.reasoning.saturating_sub(told.reasoning),
            cost_micro_usd: None,
        };
        Some(more).filter(|more| !is_nothing(more))
    }
}

fn is_nothing(sample: &UsageSample) -> bool {
    sample.input_uncached + sample.cache_read + sample.cache_write + sample.output == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: Option<&str>, parent: Option<&str>, input: u64, output: u64) -> Call {
        Call {
            id: id.map(str::to_owned),
            model: id.map(|_| "m".to_owned()),
            parent: parent.map(str::to_owned),
            used: CallTokens { input, output, ..CallTokens::default() },
        }
    }

    fn heard(told: Vec<Call>) -> Calls {
        let mut calls = Calls::default();
        told.into_iter().for_each(|it| calls.heard(it));
        calls
    }

    fn sums(calls: &Calls) -> Vec<(String, u64, u64)> {
        calls.samples().into_iter().map(|it| (it.model, it.input_uncached, it.output)).collect()
    }

    #[test]
    fn a_call_counts_once_however_often_it_is_told() {
        let calls = heard(vec![
            call(Some("a"), None, 100, 1),
            call(Some("a"), None, 100, 1),
            call(Some("s"), Some("task"), 7, 1),
            call(None, None, 0, 40),
            call(None, Some("task"), 0, 3),
            call(Some("b"), None, 200, 2),
            call(Some("b"), None, 200, 2),
        ]);
        assert_eq!(sums(&calls), [("m".to_owned(), 307, 45)]);
    }

    #[test]
    fn what_nobody_asked_of_a_model_is_no_call() {
        let calls = heard(vec![call(None, None, 1, 1), call(Some("error"), None, 0, 0)]);
        assert!(sums(&calls).is_empty());
    }

    #[test]
    fn a_call_that_was_cut_off_is_what_the_result_leaves_out() {
        let calls = heard(vec![call(Some("a"), None, 100, 40), call(Some("b"), None, 200, 2)]);
        let told = |input_uncached, output| UsageSample {
            model: "m[1m]".to_owned(),
            input_uncached,
            output,
            ..UsageSample::default()
        };
        let beyond = |told: &[UsageSample]| calls.beyond(told).map(|it| (it.input_uncached, it.output));
        assert_eq!(beyond(&[told(100, 40)]), Some((200, 2)));
        assert_eq!(beyond(&[]), Some((300, 42)));
        assert_eq!(beyond(&[told(400, 50)]), None, "it knows of more");
    }
}

//! Counting tokens once, and when a limit is over.

use std::collections::HashMap;

use forge_model::usage::UsageSample;

use serde_json::{Value, json};

use super::wire::{count, object};
use crate::{adapter::ReportedWindow, json::text};

/// How long to wait at first when nobody told when the limit is over, in seconds.
const FIRST_WAIT: i64 = 60;

/// How long to wait at most when nobody told, in seconds.
const LONGEST_WAIT: i64 = 3600;

/// The classes of tokens, as the server counts them: input includes what a cache served or took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    input: u64,
    cache_read: u64,
    cache_write: u64,
    output: u64,
    reasoning: u64,
}

impl Tokens {
    fn read(value: &Value) -> Self {
        Self {
            input: count(value, "inputTokens"),
            cache_read: count(value, "cachedInputTokens"),
            cache_write: count(value, "cacheWriteInputTokens"),
            output: count(value, "outputTokens"),
            reasoning: count(value, "reasoningOutputTokens"),
        }
    }

    fn write(self) -> Value {
        json!({
            "inputTokens": self.input, "cachedInputTokens": self.cache_read,
            "cacheWriteInputTokens": self.cache_write, "outputTokens": self.output,
            "reasoningOutputTokens": self.reasoning,
        })
    }

    fn sample(self, model: &str) -> UsageSample {
        UsageSample {
            model: model.to_owned(),
            input_uncached: self.input.saturating_sub(self.cache_read).saturating_sub(self.cache_write),
            cache_read: self.cache_read,
            cache_write: self.cache_write,
            output: self.output,
            reasoning: self.reasoning,
            cost_micro_usd: None,
        }
    }
}

/// The running totals of the threads of a run.
#[derive(Debug, Default)]
pub(super) struct Counter {
    totals: HashMap<String, Tokens>,
    /// The total that the run before left, until the thread is known that goes on from it.
    carried: Option<Tokens>,
    /// How many runs in a row ended at a limit whose end nobody told.
    pub(super) limited: u32,
}

impl Counter {
    /// Takes what the run before left.
    pub(super) fn new(carry: Option<&Value>) -> Self {
        let total = carry.and_then(|carry| carry.get("total")).filter(|total| total.is_object());
        let limited = carry.map_or(0, |carry| count(carry, "limited"));
        Self {
            totals: HashMap::new(),
            carried: total.map(Tokens::read),
            limited: u32::try_from(limited).unwrap_or(u32::MAX),
        }
    }

    /// The thread is known. It counts on from what was carried when it is the earlier one, or a fork of it.
    pub(super) fn opened(&mut self, thread: &str, goes_on: bool) {
        if let Some(total) = self.carried.take().filter(|_| goes_on) {
            self.totals.insert(thread.to_owned(), total);
        }
    }

    /// What a report adds. Totals that were seen add nothing, nor do those of before this run (`is_new` false).
    pub(super) fn count(
        &mut self,
        thread: &str,
        usage: &Value,
        is_new: bool,
        model: &str,
    ) -> Option<UsageSample> {
        let total = Tokens::read(usage.get("total")?);
        let before = self.totals.insert(thread.to_owned(), total);
        if before == Some(total) || !is_new {
            return None;
        }
        let last = Tokens::read(usage.get("last")?);
        (last != Tokens::default()).then(|| last.sample(model))
    }

    /// What the next run of this thread must know.
    pub(super) fn carry(&self, thread: &str) -> Value {
        let total = self.totals.get(thread).map(|total| total.write());
        object([("total", total), ("limited", Some(json!(self.limited)))])
    }
}

/// When a limit is over, in Unix milliseconds, and how that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Until {
    pub(super) at_ms: i64,
    pub(super) how: String,
    /// Nobody told it.
    pub(super) guessed: bool,
}

/// When the limit is over that a call ran into: when the account's full window begins anew, if the server told one
/// (`any_window`: the fullest one counts although it is not full); else a minute from now, twice as long with each
/// run in a row that learns no more (`limited` of them before), at most an hour.
pub(super) fn until(now_ms: i64, limits: Option<&Value>, any_window: bool, limited: u32) -> Until {
    let windows = ["primary", "secondary"].map(|name| limits.and_then(|limits| limits.get(name)));
    let told = windows
        .into_iter()
        .flatten()
        .filter_map(|window| {
            let used = window.get("usedPercent")?.as_f64()?;
            let resets = window.get("resetsAt")?.as_i64()?.checked_mul(1000)?;
            (resets > now_ms && (used >= 100.0 || any_window)).then_some((used, resets))
        })
        .max_by(|a, b| a.0.min(100.0).total_cmp(&b.0.min(100.0)).then(a.1.cmp(&b.1)));
    if let Some((_, at_ms)) = told {
        let how = "The usage limit resets then.".to_owned();
        return Until { at_ms, how, guessed: false };
    }
    let wait = FIRST_WAIT.saturating_mul(1_i64 << limited.min(10)).min(LONGEST_WAIT);
    Until {
        at_ms: now_ms.saturating_add(wait * 1000),
        how: format!("The program gave no time; Forge retries in {wait} s."),
        guessed: true,
    }
}

/// The windows of a snapshot of limits.
pub(super) fn windows(limits: &Value) -> Vec<ReportedWindow> {
    let window = |name: &str| {
        let window = limits.get(name)?;
        Some(ReportedWindow {
            name: name.to_owned(),
            minutes: window
                .get("windowDurationMins")
                .and_then(Value::as_u64)
                .and_then(|it| it.try_into().ok()),
            used_percent: ReportedWindow::percent(window.get("usedPercent")?.as_f64()?)?,
            resets_ms: window.get("resetsAt").and_then(Value::as_i64).and_then(|at| at.checked_mul(1000)),
        })
    };
    ["primary", "secondary"].into_iter().filter_map(window).collect()
}

/// Whether a snapshot of limits says that one is reached, or how full they are.
pub(super) fn says_something(limits: &Value) -> bool {
    text(limits, "rateLimitReachedType").is_some()
        || ["primary", "secondary"].iter().any(|name| limits.get(*name).is_some_and(Value::is_object))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(total: u64, last: u64) -> Value {
        let tokens = |n: u64| {
            json!({
                "inputTokens": 10 * n, "cachedInputTokens": 4 * n, "cacheWriteInputTokens": n,
                "outputTokens": 2 * n, "reasoningOutputTokens": n,
            })
        };
        json!({ "total": tokens(total), "last": tokens(last) })
    }

    #[test]
    fn windows_are_read_as_far_as_they_are_told() {
        let limits = json!({
            "primary": { "usedPercent": 42.6, "windowDurationMins": 300, "resetsAt": 1_000 },
            "secondary": { "usedPercent": 7, "windowDurationMins": null, "resetsAt": null },
        });
        let window = |name: &str, minutes, used_percent, resets_ms| ReportedWindow {
            name: name.to_owned(),
            minutes,
            used_percent,
            resets_ms,
        };
        let expected =
            [window("primary", Some(300), 43, Some(1_000_000)), window("secondary", None, 7, None)];
        assert_eq!(windows(&limits), expected);
        for other in [json!({ "primary": null }), json!({ "primary": { "usedPercent": -1 } }), json!(null)] {
            assert_eq!(windows(&other), [], "{other}");
        }
    }

    #[test]
    fn counts_each_call_once_over_resume_and_fork() {
        let mut first = Counter::new(None);
        first.opened("a", false);
        let sample = first.count("a", &usage(1, 1), true, "m").expect("it is new");
        assert_eq!((sample.input_uncached, sample.cache_read, sample.cache_write), (5, 4, 1));
        assert_eq!((sample.output, sample.reasoning, sample.cost_micro_usd), (2, 1, None));
        assert_eq!(first.count("a", &usage(1, 1), true, "m"), None, "sent again at an interrupt");
        assert!(first.count("a", &usage(2, 1), true, "m").is_some());

        let mut resumed = Counter::new(Some(&first.carry("a")));
        resumed.opened("a", true);
        assert_eq!(resumed.count("a", &usage(2, 1), true, "m"), None, "sent again at the start");
        assert!(resumed.count("a", &usage(3, 1), true, "m").is_some());

        let mut fork = Counter::new(Some(&first.carry("a")));
        fork.opened("b", true);
        assert_eq!(fork.count("b", &usage(2, 1), true, "m"), None);
        assert_eq!(fork.count("b", &usage(5, 3), true, "m").map(|it| it.output), Some(6));

        let mut amnesiac = Counter::new(None);
        amnesiac.opened("a", true);
        assert_eq!(amnesiac.count("a", &usage(9, 1), false, "m"), None, "of before this run");
        assert_eq!(amnesiac.count("a", &usage(9, 1), true, "m"), None);
    }

    #[test]
    fn a_limit_ends_when_that_is_told_else_later_and_later() {
        let window = |used: u64, resets: u64| json!({ "usedPercent": used, "resetsAt": resets });
        let limits = json!({ "primary": window(100, 500), "secondary": window(20, 900) });
        assert_eq!(until(1000, Some(&limits), false, 0).at_ms, 500_000);
        let both = json!({ "primary": window(100, 500), "secondary": window(101, 900) });
        assert_eq!(until(1000, Some(&both), false, 0).at_ms, 900_000);
        let none_full = json!({ "primary": window(99, 500), "secondary": window(20, 900) });
        assert_eq!(until(0, Some(&none_full), true, 0).at_ms, 500_000);
        let waits: Vec<i64> =
            (0..9).map(|limited| until(0, Some(&none_full), false, limited).at_ms / 1000).collect();
        assert_eq!(waits, [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]);
        assert_eq!(until(600_000, Some(&limits), false, 0).at_ms, 660_000, "what is over is no limit");
        assert_eq!(until(0, None, true, u32::MAX).at_ms, 3_600_000);
    }
}

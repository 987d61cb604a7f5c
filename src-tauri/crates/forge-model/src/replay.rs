//! Elections, cost judgements and measures of attempts over facts that somebody wrote down: `forge replay` and the
//! examples.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::anomaly::{CostJudgement, Threshold, judge};
use crate::election::{Election, EntryFacts, GateResult, elect};
use crate::usage::micro_usd;
use crate::validate::{AttemptFacts, Measures, measure};

/// Micro-dollars in a dollar.
const MICRO: f64 = 1_000_000.0;

/// A race as it is written down.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RaceInput {
    /// Whether scores count.
    #[serde(default)]
    pub reviewer_enabled: bool,
    /// Who ran.
    pub strategies: Vec<StrategyInput>,
}

/// One entry as it is written down.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StrategyInput {
    /// Its name.
    pub name: String,
    /// Whether its checks passed; null when they never ran, and failed when absent.
    #[serde(default = "failed")]
    pub gate_passed: Option<bool>,
    /// What the reviewer gave it.
    #[serde(default)]
    pub reviewer_score: Option<f64>,
    /// What it cost in dollars; unknown when absent, negative or no number.
    #[serde(default)]
    pub cost_usd: Option<f64>,
    /// How long it took in milliseconds; shown, never used.
    #[serde(default)]
    pub duration_ms: Option<f64>,
}

/// A run and the runs before it, as they are written down.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CostInput {
    /// How they are compared.
    #[serde(default)]
    pub config: CostConfigInput,
    /// The runs before, the latest last, of any model.
    pub history: Vec<RunInput>,
    /// The run.
    pub current: RunInput,
}

/// How runs are compared; a number that is none in its bounds counts as its default.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CostConfigInput {
    /// Whether anybody looks; they do unless told otherwise.
    pub enabled: Option<bool>,
    /// Multiple of the median.
    pub ratio: Option<Value>,
    /// Over how many runs the median is taken.
    pub median_window: Option<Value>,
    /// How many runs there must be.
    pub min_samples: Option<Value>,
}

/// One run as it is written down.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunInput {
    /// The model.
    pub model: String,
    /// What it cost in dollars; unknown when absent, negative or no number.
    #[serde(default)]
    pub cost_usd: Option<f64>,
}

/// What was found about a run that somebody wrote down.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CostReplay {
    /// Whether it is an anomaly.
    pub recorded: bool,
    /// What it was compared with.
    #[serde(flatten)]
    pub judgement: CostJudgement,
    /// The median in dollars.
    pub median_usd: Option<f64>,
}

/// Attempts at a piece of work as they are written down.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistoryInput {
    /// The attempts, oldest first.
    pub attempts: Vec<AttemptInput>,
}

/// One attempt as it is written down.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttemptInput {
    /// How many checks counted.
    pub checks: usize,
    /// Which of them failed.
    pub failing: Vec<String>,
}

/// Attempts that somebody wrote down, measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HistoryReplay {
    /// The attempts, oldest first.
    pub attempts: Vec<AttemptReplay>,
}

/// One attempt that somebody wrote down, measured against those before it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AttemptReplay {
    /// Its number, from 1.
    pub attempt: usize,
    /// Whether it passed.
    pub passed: bool,
    /// Passed checks of those that counted.
    pub score: f64,
    /// The measures.
    #[serde(flatten)]
    pub measures: Measures,
}

impl HistoryInput {
    /// Measures again.
    #[must_use]
    pub fn measure(&self) -> HistoryReplay {
        let facts = |it: &AttemptInput| AttemptFacts::new(it.checks, it.failing.clone());
        let all: Vec<AttemptFacts> = self.attempts.iter().map(facts).collect();
        let measured = all.iter().enumerate().map(|(before, now)| AttemptReplay {
            attempt: before + 1,
            passed: now.passed,
            score: now.score,
            measures: measure(all.get(..before).unwrap_or_default(), now),
        });
        HistoryReplay { attempts: measured.collect() }
    }
}

impl RaceInput {
    /// Elects again.
    #[must_use]
    pub fn elect(&self) -> Election {
        let facts: Vec<EntryFacts> = self.strategies.iter().map(StrategyInput::facts).collect();
        elect(self.reviewer_enabled, &facts)
    }
}

/// Checks that nothing is said about.
#[expect(clippy::unnecessary_wraps, reason = "the value of a field that may be null")]
const fn failed() -> Option<bool> {
    Some(false)
}

impl StrategyInput {
    fn facts(&self) -> EntryFacts {
        EntryFacts {
            name: self.name.clone(),
            gate: match self.gate_passed {
                Some(true) => GateResult::Passed,
                Some(false) => GateResult::Failed,
                None => GateResult::NotRun,
            },
            without_checks: false,
            reviewer_score: self.reviewer_score,
            cost_micro_usd: self.cost_usd.and_then(micro_usd),
        }
    }
}

impl CostInput {
    /// Judges again.
    #[must_use]
    pub fn judge(&self) -> CostReplay {
        let whole = |value: &Option<Value>| value.as_ref()?.as_u64().and_then(|n| u32::try_from(n).ok());
        let threshold = Threshold::new(
            self.config.enabled.unwrap_or(true),
            self.config.ratio.as_ref().and_then(Value::as_f64),
            whole(&self.config.median_window),
            whole(&self.config.min_samples),
        );
        let before: Vec<Option<u64>> = self
            .history
            .iter()
            .filter(|run| run.model == self.current.model)
            .map(|run| run.cost_usd.and_then(micro_usd))
            .collect();
        let judgement = judge(&threshold, &before, self.current.cost_usd.and_then(micro_usd));
        CostReplay {
            recorded: judgement.is_anomaly(),
            median_usd: judgement.median_micro_usd.map(|median| median / MICRO),
            judgement,
        }
    }
}

//! Configuration of the inner loop: races, drafted fixes, cost anomalies and what a run teaches.
//!
//! It is one key, `innerLoop`, of the project's settings; `.forge.json` of the default branch may carry the same key.
//! What a task says wins over the project, the project over the repository, the repository over the defaults, each
//! value by itself, and every value knows where it comes from. Lists are replaced as wholes.

mod origin;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{
    anomaly::{DEFAULT_MEDIAN_WINDOW, DEFAULT_MIN_SAMPLES, DEFAULT_RATIO, Threshold},
    contract,
    ids::AgentId,
    names,
    service::ServiceDefinition,
    workflow::Finding,
};

pub use origin::{drop_unusable, layered, parse_repository, sources};

/// The key of settings and of `.forge.json`.
pub const KEY: &str = "innerLoop";
/// The most entries of a race that run at once, and the most strategies.
pub const MAX_STRATEGIES: usize = 16;
/// The longest name of a strategy in bytes.
pub const MAX_STRATEGY_NAME: usize = 64;
/// The longest time of an entry in seconds: a day.
pub const MAX_TIMEOUT_SECONDS: u32 = 86_400;

names! {
    /// Source of a value.
    pub enum ValueSource {
        /// Nobody set it.
        Default = "default",
        /// `.forge.json` of the default branch.
        Repository = "repository",
        /// The project's settings.
        Project = "project",
        /// The task itself.
        Task = "task",
    }
}

contract! {
    /// One strategy for a task in a race.
    #[derive(Eq)]
    #[serde(deny_unknown_fields)]
    pub struct Strategy {
        /// Its name, unique in the race; it becomes part of a branch's name.
        pub name: String,
        /// Who works.
        pub agent_id: AgentId,
        /// The model; the profile's when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub model: Option<String>,
        /// The effort; the profile's when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub effort: Option<String>,
        /// Extra instructions besides the task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub prompt_suffix: Option<String>,
    }

    /// Something that is on or off.
    #[derive(Default, Eq)]
    #[serde(deny_unknown_fields, default)]
    pub struct Switch {
        /// Whether it is on.
        pub enabled: bool,
    }

    /// Races between agents.
    #[derive(Eq)]
    #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
    pub struct Competitive {
        /// Whether tasks can be set to race.
        pub enabled: bool,
        /// Maximum number of concurrent entries.
        pub max_parallel: u32,
        /// How long an entry may take from its own start, in seconds.
        pub timeout_sec: u32,
        /// The strategies that race; every enabled agent when empty.
        pub strategies: Vec<Strategy>,
        /// Whether the result waits for a person, who can choose another winner.
        pub human_crown: bool,
        /// Whether the first name wins where no check, score or cost tells the entries apart. Without it such a race
        /// waits for a person's choice: a name is no reason to merge.
        pub name_decides: bool,
        /// How many days the losers' branches, diffs and logs are kept.
        pub keep_losers_days: u32,
    }

    /// Small patches drafted when a check fails.
    #[derive(Eq)]
    #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
    pub struct AutoFix {
        /// Whether they are drafted.
        pub enabled: bool,
        /// Whether a draft replaces the retry.
        pub apply_without_review: bool,
        /// Maximum number of lines that a draft changes.
        pub max_changed_lines: u32,
        /// Agent that drafts; the task's coder when absent.
        pub agent_id: Option<AgentId>,
    }

    /// Runs of unusually high cost for their model.
    #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
    pub struct CostAnomaly {
        /// Whether they are detected.
        pub enabled: bool,
        /// Multiple of the median.
        pub ratio: f64,
        /// Number of earlier runs for the median.
        pub median_window: u32,
        /// Minimum number of earlier runs.
        pub min_samples: u32,
    }

    /// The inner loop, complete.
    #[derive(Default)]
    #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
    pub struct InnerLoop {
        /// Whether a reviewer's score counts in elections.
        pub reviewer: Switch,
        /// Races.
        pub competitive: Competitive,
        /// Drafted fixes.
        pub auto_fix: AutoFix,
        /// Unusually high costs.
        pub cost_anomaly: CostAnomaly,
        /// Whether a review without progress blocks its task before the budget is used up.
        pub stop_on_stagnation: bool,
        /// A retry's prompt starts with what failed.
        pub reflexion: Switch,
        /// A finished task leaves a note of how it went.
        pub trajectory: Switch,
        /// Later tasks receive the lessons that people accepted.
        pub knowledge: Switch,
        /// A finished task leaves a record of its attempts.
        pub postmortem: Switch,
        /// Forge suggests checks for a project without any, based on its files.
        pub gate_suggestions: Switch,
    }

    /// Race settings of a task; they override the project's.
    #[derive(Default, Eq)]
    #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
    pub struct TaskRace {
        /// Whether the task has a race.
        pub enabled: bool,
        /// Who races.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub strategies: Option<Vec<Strategy>>,
        /// Maximum number of concurrent entries.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub max_parallel: Option<u32>,
        /// How long an entry may take, in seconds.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub timeout_sec: Option<u32>,
        /// Whether a person chooses the winner.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub human_crown: Option<bool>,
        /// Whether the first name breaks ties.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub name_decides: Option<bool>,
    }

    /// What `.forge.json` of the default branch says, as last read.
    pub struct RepositoryConfig {
        /// The commit whose file is active; null when no commit had one.
        pub commit: Option<String>,
        /// The commit that was checked last.
        pub looked_at: String,
        /// Problems of the file there, which is then not active.
        pub findings: Vec<Finding>,
        /// Its inner loop.
        #[specta(type = specta_typescript::Unknown)]
        pub inner_loop: Value,
        /// Its services.
        #[serde(default)]
        pub services: Vec<ServiceDefinition>,
    }

    /// The inner loop of a project, with the source of each value.
    pub struct InnerLoopState {
        /// The active values.
        pub config: InnerLoop,
        /// Source of each value, by its path (`competitive.maxParallel`).
        pub sources: BTreeMap<String, ValueSource>,
        /// Values of the repository; null before it was read.
        pub repository: Option<RepositoryConfig>,
    }
}

impl Default for Competitive {
    fn default() -> Self {
        Self {
            enabled: false,
            max_parallel: 2,
            timeout_sec: 1800,
            strategies: Vec::new(),
            human_crown: false,
            name_decides: false,
            keep_losers_days: 7,
        }
    }
}

impl Default for AutoFix {
    fn default() -> Self {
        Self { enabled: true, apply_without_review: false, max_changed_lines: 200, agent_id: None }
    }
}

impl Default for CostAnomaly {
    fn default() -> Self {
        Self {
            enabled: true,
            ratio: DEFAULT_RATIO,
            median_window: DEFAULT_MEDIAN_WINDOW,
            min_samples: DEFAULT_MIN_SAMPLES,
        }
    }
}

impl CostAnomaly {
    /// How runs are compared.
    #[must_use]
    pub fn threshold(&self) -> Threshold {
        Threshold::new(self.enabled, Some(self.ratio), Some(self.median_window), Some(self.min_samples))
    }
}

impl InnerLoop {
    /// What is wrong with it; paths begin with `prefix`.
    #[must_use]
    pub fn findings(&self, prefix: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        let race = format!("{prefix}.competitive");
        check_race(&race, self.competitive.max_parallel, self.competitive.timeout_sec, &mut findings);
        findings.extend(strategy_findings(&format!("{race}.strategies"), &self.competitive.strategies));
        let mut at_least_one = |path: &str, number: u32| {
            if number == 0 {
                findings.push(Finding::new(format!("{prefix}.{path}"), "must be at least 1"));
            }
        };
        at_least_one("autoFix.maxChangedLines", self.auto_fix.max_changed_lines);
        at_least_one("costAnomaly.medianWindow", self.cost_anomaly.median_window);
        at_least_one("costAnomaly.minSamples", self.cost_anomaly.min_samples);
        let ratio = self.cost_anomaly.ratio;
        if !(ratio.is_finite() && ratio > 0.0) {
            let message = "must be a number above 0, such as 2.0";
            findings.push(Finding::new(format!("{prefix}.costAnomaly.ratio"), message));
        }
        findings
    }

    /// The races of a task, where its own word replaces the project's.
    #[must_use]
    pub fn race_of(&self, task: &TaskRace) -> Competitive {
        let project = &self.competitive;
        Competitive {
            enabled: project.enabled && task.enabled,
            max_parallel: task.max_parallel.unwrap_or(project.max_parallel),
            timeout_sec: task.timeout_sec.unwrap_or(project.timeout_sec),
            strategies: task.strategies.clone().unwrap_or_else(|| project.strategies.clone()),
            human_crown: task.human_crown.unwrap_or(project.human_crown),
            name_decides: task.name_decides.unwrap_or(project.name_decides),
            keep_losers_days: project.keep_losers_days,
        }
    }
}

impl TaskRace {
    /// What is wrong with it; paths begin with `prefix`.
    #[must_use]
    pub fn findings(&self, prefix: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        check_race(prefix, self.max_parallel.unwrap_or(1), self.timeout_sec.unwrap_or(1), &mut findings);
        let strategies = self.strategies.as_deref().unwrap_or_default();
        findings.extend(strategy_findings(&format!("{prefix}.strategies"), strategies));
        findings
    }
}

fn check_race(prefix: &str, max_parallel: u32, timeout_sec: u32, findings: &mut Vec<Finding>) {
    if max_parallel == 0 || usize::try_from(max_parallel).unwrap_or(usize::MAX) > MAX_STRATEGIES {
        let message = format!("must be 1 to {MAX_STRATEGIES}");
        findings.push(Finding::new(format!("{prefix}.maxParallel"), message));
    }
    if timeout_sec == 0 || timeout_sec > MAX_TIMEOUT_SECONDS {
        let message = format!("must be 1 to {MAX_TIMEOUT_SECONDS} seconds");
        findings.push(Finding::new(format!("{prefix}.timeoutSec"), message));
    }
}

fn strategy_findings(prefix: &str, strategies: &[Strategy]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if strategies.len() > MAX_STRATEGIES {
        findings.push(Finding::new(prefix.to_owned(), format!("must be at most {MAX_STRATEGIES}")));
    }
    let mut seen = BTreeSet::new();
    for (index, strategy) in strategies.iter().enumerate() {
        let path = format!("{prefix}[{index}].name");
        if !is_strategy_name(&strategy.name) {
            let message = format!(
                "must be 1 to {MAX_STRATEGY_NAME} letters, digits, `.`, `_` or `-`, not beginning with a dot, \
                 and a name that git takes for a branch"
            );
            findings.push(Finding::new(path, message));
        } else if !seen.insert(strategy.name.as_str()) {
            findings.push(Finding::new(path, format!("`{}` is used twice", strategy.name)));
        }
    }
    findings
}

/// Whether a strategy may be called so: the name is part of a branch's and a folder's.
#[must_use]
pub fn is_strategy_name(name: &str) -> bool {
    let fits = (1..=MAX_STRATEGY_NAME).contains(&name.len());
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    // What git refuses in the last part of a branch's name.
    let for_git = !name.starts_with('.')
        && !name.ends_with('.')
        && !name.contains("..")
        && !name.to_ascii_lowercase().ends_with(".lock");
    fits && plain && for_git
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_defaults_are_those_that_are_written_down() {
        assert_eq!(
            serde_json::to_value(InnerLoop::default()).unwrap(),
            json!({
                "reviewer": { "enabled": false },
                "competitive": {
                    "enabled": false, "maxParallel": 2, "timeoutSec": 1800, "strategies": [],
                    "humanCrown": false, "nameDecides": false, "keepLosersDays": 7
                },
                "autoFix": {
                    "enabled": true, "applyWithoutReview": false, "maxChangedLines": 200, "agentId": null
                },
                "costAnomaly": { "enabled": true, "ratio": 2.0, "medianWindow": 20, "minSamples": 1 },
                "stopOnStagnation": false,
                "reflexion": { "enabled": false },
                "trajectory": { "enabled": false },
                "knowledge": { "enabled": false },
                "postmortem": { "enabled": false },
                "gateSuggestions": { "enabled": false }
            })
        );
    }

    #[test]
    fn names_that_git_or_a_file_system_refuse_are_none() {
        for name in ["a", "A.b_c-9", &"x".repeat(64)] {
            assert!(is_strategy_name(name), "{name}");
        }
        for name in ["", ".a", "a.", "a..b", "a/b", "a b", "é", "a.lock", "a.LOCK", &"x".repeat(65)] {
            assert!(!is_strategy_name(name), "{name}");
        }
    }

    #[test]
    fn a_task_replaces_key_by_key_and_cannot_race_where_races_are_off() {
        let mut config = InnerLoop::default();
        config.competitive.human_crown = true;
        let task = TaskRace { enabled: true, max_parallel: Some(5), ..TaskRace::default() };
        assert!(!config.race_of(&task).enabled);
        config.competitive.enabled = true;
        let race = config.race_of(&task);
        assert!(race.enabled && race.human_crown);
        assert_eq!((race.max_parallel, race.timeout_sec), (5, 1800));
    }
}

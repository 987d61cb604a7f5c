//! Reviews: one row per attempt at passing the gate, kept for ever.

use crate::{
    audit::{Audit, AuditFinding},
    contract,
    ids::{AgentId, ExecutionId, ReviewId, TaskId},
    names,
    time::Timestamp,
    validate::{Measures, ValidateGate, ValidateReport},
};

/// Longest time one check may take unless said otherwise, in seconds.
pub const DEFAULT_CI_TIMEOUT_SECONDS: u32 = 1800;

names! {
    /// State of a review.
    pub enum ReviewStatus {
        /// Checks or a reviewer run.
        Running = "running",
        /// A person must decide.
        AwaitingHuman = "awaiting_human",
        /// It passed.
        Passed = "passed",
        /// It failed.
        Failed = "failed",
        /// It was given up.
        Cancelled = "cancelled",
    }
}

names! {
    /// Result of a review.
    pub enum Verdict {
        /// Good.
        Pass = "pass",
        /// Not good.
        Fail = "fail",
        /// Checks passed after a conflict fix; the earlier approval still applies.
        PassCiOnly = "pass_ci_only",
    }
}

contract! {
    /// How a task's branch and worktree differ from the reviewed commit.
    #[derive(Eq)]
    pub struct WorkChanged {
        /// The commit that the review is about.
        pub reviewed_commit: String,
        /// The newest commit of the task.
        pub tip_commit: String,
        /// How many commits came after the reviewed one.
        pub commits: u32,
        /// Uncommitted paths in the worktree.
        pub uncommitted: Vec<String>,
    }

    /// Checks of a project or a task. Fields that a task leaves out are taken from its project.
    #[derive(Default)]
    #[serde(deny_unknown_fields, default)]
    pub struct ReviewConfig {
        /// Shell commands, run in order; an empty list switches the project's off.
        pub ci_steps: Option<Vec<String>>,
        /// Time limit of each, in seconds.
        pub ci_timeout_seconds: Option<u32>,
        /// Commits changes made by a check instead of failing it.
        pub allow_changes: Option<bool>,
        /// Reuses an earlier pass of a check on identical files instead of running it again.
        pub reuse_passes: Option<bool>,
        /// Validation after the commands pass; one without any check turns the project's off.
        pub validate: Option<ValidateGate>,
        /// Additional instructions for the reviewer.
        pub review_prompt: Option<String>,
    }

    /// Result of one run of the reviewer.
    pub struct AuditReport {
        /// The run.
        pub execution_id: ExecutionId,
        /// Who.
        pub agent_id: AgentId,
        /// What was read from it; without a verdict the auditor was unusable, not the work.
        #[serde(flatten)]
        pub audit: Audit,
        /// The end of its text, at most 16 KiB; the full text is in its log.
        pub text: String,
        /// Log with its full text.
        pub log_id: String,
        /// When it ended.
        pub at: Timestamp,
    }

    /// One check that ran.
    pub struct ReviewStep {
        /// Its place in the list, from 0.
        pub index: u32,
        /// The command.
        pub command: String,
        /// Null while it runs, or if a signal ended it.
        pub exit_code: Option<i32>,
        /// The signal that ended it.
        pub signal: Option<i32>,
        /// Whether it timed out.
        pub timed_out: bool,
        /// Whether it has ended.
        pub finished: bool,
        /// How long it took, in milliseconds.
        #[specta(type = f64)]
        pub duration_ms: i64,
        /// The end of its standard output, at most 4 KiB.
        pub stdout_tail: String,
        /// The end of its standard error, at most 4 KiB.
        pub stderr_tail: String,
        /// Whether an earlier pass on the same tree was used.
        pub cached: bool,
        /// Tracked files that it changed, which fails it.
        pub changed_files: Vec<String>,
        /// Log with its full output.
        pub log_id: String,
        /// What it complained about in all of its output, as it is compared with other attempts; absent when it
        /// passed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub diagnoses: Option<String>,
        /// Results of the checks if this is the gate `validate`, otherwise null.
        #[serde(default)]
        pub validate: Option<ValidateReport>,
    }

    /// One attempt at passing the gate.
    pub struct Review {
        /// Identity.
        pub id: ReviewId,
        /// The task.
        pub task_id: TaskId,
        /// 1, 2, ... per task.
        pub attempt_number: u32,
        /// The gate's state.
        pub state: String,
        /// Where it is.
        pub status: ReviewStatus,
        /// Its decision.
        pub verdict: Option<Verdict>,
        /// The checks.
        pub steps: Vec<ReviewStep>,
        /// Results of the reviewer's runs.
        pub audits: Vec<AuditReport>,
        /// The end of the text of the last of them, as of when the review was read; null when none ended.
        #[serde(default)]
        pub report: Option<String>,
        /// Its score of the work, 0 to 100.
        #[serde(default)]
        pub score: Option<u8>,
        /// Its findings.
        #[serde(default)]
        pub findings: Vec<AuditFinding>,
        /// The run whose work is reviewed; null when there was no run.
        pub work_execution_id: Option<ExecutionId>,
        /// A remark: `no checks configured`, `no changes`, ...
        pub note: Option<String>,
        /// Reason for the decision, in the decider's words.
        pub reason: Option<String>,
        /// Who decided.
        pub decided_by: Option<crate::actor::Actor>,
        /// How it compares with the attempts before it since retries were counted from zero; null while it is
        /// undecided, and when it checked nothing.
        pub measures: Option<Measures>,
        /// Where the branch left the target at that time.
        pub base_commit: Option<String>,
        /// The commit that was checked.
        pub reviewed_commit: Option<String>,
        /// When it began.
        pub started_at: Timestamp,
        /// When it ended.
        pub finished_at: Option<Timestamp>,
    }
}

impl ReviewConfig {
    /// This configuration with `over` on top, key by key.
    #[must_use]
    pub fn overridden_by(&self, over: Option<&Self>) -> Self {
        let Some(over) = over else { return self.clone() };
        Self {
            ci_steps: over.ci_steps.clone().or_else(|| self.ci_steps.clone()),
            ci_timeout_seconds: over.ci_timeout_seconds.or(self.ci_timeout_seconds),
            allow_changes: over.allow_changes.or(self.allow_changes),
            reuse_passes: over.reuse_passes.or(self.reuse_passes),
            validate: over.validate.clone().or_else(|| self.validate.clone()),
            review_prompt: over.review_prompt.clone().or_else(|| self.review_prompt.clone()),
        }
    }

    /// What is checked besides its commands, if anything is.
    #[must_use]
    pub fn gate(&self) -> Option<&ValidateGate> {
        self.validate.as_ref().filter(|gate| !gate.is_empty())
    }

    /// How many checks a review has when all of them are made.
    #[must_use]
    pub fn check_count(&self) -> usize {
        self.ci_steps.as_ref().map_or(0, Vec::len) + usize::from(self.gate().is_some())
    }

    /// What is wrong with it, by field.
    #[must_use]
    pub fn findings(&self, path: &str) -> Vec<crate::workflow::Finding> {
        let mut findings = Vec::new();
        for (index, step) in self.ci_steps.iter().flatten().enumerate() {
            if step.trim().is_empty() || step.contains('\0') {
                findings.push(crate::workflow::Finding {
                    path: format!("{path}.ci_steps[{index}]"),
                    message: "must be a shell command, not blank".to_owned(),
                });
            }
        }
        if self.ci_timeout_seconds == Some(0) {
            findings.push(crate::workflow::Finding {
                path: format!("{path}.ci_timeout_seconds"),
                message: "must be at least 1".to_owned(),
            });
        }
        findings.extend(self.validate.iter().flat_map(|gate| gate.findings(&format!("{path}.validate"))));
        findings
    }
}

impl ReviewStep {
    /// One that was only begun.
    #[must_use]
    pub fn begun(index: u32, command: &str, log_id: &str) -> Self {
        Self {
            index,
            command: command.to_owned(),
            exit_code: None,
            signal: None,
            timed_out: false,
            finished: false,
            duration_ms: 0,
            stdout_tail: String::new(),
            stderr_tail: String::new(),
            cached: false,
            changed_files: Vec::new(),
            log_id: log_id.to_owned(),
            diagnoses: None,
            validate: None,
        }
    }

    /// Whether it ended as it must.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        self.exit_code == Some(0) && !self.timed_out && self.changed_files.is_empty()
    }

    /// Why it failed, in words.
    #[must_use]
    pub fn failure(&self) -> String {
        let command = &self.command;
        if let Some(report) = self.validate.as_ref().filter(|report| !report.passed) {
            let failed: Vec<String> = report
                .results
                .iter()
                .filter(|result| result.passed() == Some(false))
                .map(|result| format!("{} {}", result.kind(), result.subject()))
                .collect();
            return match failed.as_slice() {
                [] => format!("check `{command}` was inconclusive: all results are unknown"),
                failed => format!("check `{command}` failed: {}", failed.join(", ")),
            };
        }
        match (self.timed_out, self.exit_code, self.signal) {
            (true, ..) => format!("check `{command}` timed out"),
            (_, Some(0), _) => {
                format!("check `{command}` changed tracked files: {}", self.changed_files.join(", "))
            }
            (_, Some(code), _) => format!("check `{command}` exited with {code}"),
            (_, None, Some(signal)) => format!("check `{command}` was killed by signal {signal}"),
            (_, None, None) => format!("could not run check `{command}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_switches_the_projects_checks_off() {
        let project = ReviewConfig {
            ci_steps: Some(vec!["npm test".into()]),
            ci_timeout_seconds: Some(60),
            ..ReviewConfig::default()
        };
        let task = ReviewConfig { ci_steps: Some(vec![]), ..ReviewConfig::default() };
        let both = project.overridden_by(Some(&task));
        assert_eq!((both.ci_steps, both.ci_timeout_seconds), (Some(vec![]), Some(60)));
        assert_eq!(project.overridden_by(None), project);
    }

    #[test]
    fn each_key_of_a_task_goes_before_its_projects() {
        let config = |on: bool, text: &str| ReviewConfig {
            ci_steps: Some(vec![text.into()]),
            ci_timeout_seconds: Some(if on { 1 } else { 2 }),
            allow_changes: Some(on),
            reuse_passes: Some(on),
            validate: Some(ValidateGate { files: vec![text.into()], ..ValidateGate::default() }),
            review_prompt: Some(text.into()),
        };
        let (project, task) = (config(false, "project"), config(true, "task"));
        assert_eq!(project.overridden_by(Some(&task)), task);
        assert_eq!(project.overridden_by(Some(&ReviewConfig::default())), project);
    }

    #[test]
    fn what_cannot_be_run_is_refused_by_its_place() {
        let config = ReviewConfig {
            ci_steps: Some(vec!["fine".into(), " ".into(), "a\0b".into()]),
            ci_timeout_seconds: Some(0),
            validate: Some(ValidateGate { files: vec!["../out".into()], ..ValidateGate::default() }),
            ..ReviewConfig::default()
        };
        let paths: Vec<_> = config.findings("review").into_iter().map(|finding| finding.path).collect();
        let expected = ["ci_steps[1]", "ci_steps[2]", "ci_timeout_seconds", "validate.files[0]"];
        assert_eq!(paths, expected.map(|field| format!("review.{field}")));
    }
}

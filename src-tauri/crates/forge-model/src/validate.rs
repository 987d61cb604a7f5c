//! Checks of a piece of work, and the score that is kept over attempts at it.
//!
//! What a call is given ([`ValidateInput`]) is looked over whole before anything runs; what its checks found
//! ([`CheckResult`]) becomes an attempt, measured against those before it by [`measure`]. Names are in camelCase in
//! every interface. Deliberately absent: running anything, telling one failure from another (`forge-reading`), and where
//! the attempts are kept.

mod input;
mod measures;

use crate::{
    contract,
    ids::{ProjectId, TaskId},
    names,
    time::Timestamp,
};

pub use input::{MAX_CHECKS, MAX_ID, findings_of_id, findings_of_run, inside};
pub use measures::{AttemptFacts, Measures, Recommendation, measure, score_of};

contract! {
    /// A file that imports names, and the file that must export them.
    #[derive(Eq)]
    #[serde(deny_unknown_fields)]
    pub struct ContractPair {
        /// The file that exports.
        pub exporter: String,
        /// The file that imports.
        pub importer: String,
    }

    /// The checks to run.
    #[derive(Eq)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    pub struct ValidateInput {
        /// Module whose attempts are counted.
        pub module_id: String,
        /// Separates the attempts of one run of a plan from those of others.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub run_id: Option<String>,
        /// The absolute path of the folder to check. When absent: the root of the project that is named, else
        /// `FORGE_CWD`, else the program's own folder.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub cwd: Option<String>,
        /// Shell commands that must pass.
        pub commands: Vec<String>,
        /// Files that must exist, and be well formed where their ending is known; relative to the folder.
        #[serde(default)]
        pub files: Vec<String>,
        /// Files that must export what others import from them.
        #[serde(default)]
        pub contract_checks: Vec<ContractPair>,
        /// The project whose root keeps the attempts; the one whose repository or worktree has the folder when
        /// absent.
        #[serde(rename = "project_id", default, skip_serializing_if = "Option::is_none")]
        pub project_id: Option<ProjectId>,
    }

    /// What a review checks besides its commands, in the task's worktree. Without any check it is no gate.
    #[derive(Default, Eq)]
    #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
    pub struct ValidateGate {
        /// Module whose attempts are counted; the task's id when absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub module_id: Option<String>,
        /// Separates the attempts of one run of a plan from those of others.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub run_id: Option<String>,
        /// Shell commands that must pass.
        pub commands: Vec<String>,
        /// Files that must exist and be well formed.
        pub files: Vec<String>,
        /// Files that must export what others import from them.
        pub contract_checks: Vec<ContractPair>,
    }
}

contract! {
    /// Result for a path to check that is not a folder.
    #[derive(Eq)]
    pub struct CwdCheck {
        /// Never.
        pub passed: bool,
        /// Its path.
        pub cwd: String,
        /// What is wrong with it.
        pub error: String,
    }

    /// Whether a file exists.
    #[derive(Eq)]
    pub struct FileCheck {
        /// Whether it is.
        pub passed: bool,
        /// Its path.
        pub file: String,
        /// Why not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub error: Option<String>,
    }

    /// Whether a file is well formed.
    #[derive(Eq)]
    pub struct SyntaxCheck {
        /// Whether it is well formed; null if it was not read, for example when too large; it then counts neither way.
        pub passed: Option<bool>,
        /// Its path.
        pub file: String,
        /// Why it is not well formed, or was not checked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub error: Option<String>,
        /// Where, from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub line: Option<u32>,
        /// Where on that line, from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub column: Option<u32>,
    }

    /// Whether one file exports what another imports from it.
    #[derive(Eq)]
    pub struct ContractCheck {
        /// Null if unknown: it then counts neither way.
        pub passed: Option<bool>,
        /// The file that exports.
        pub exporter: String,
        /// The file that imports.
        pub importer: String,
        /// What was found.
        pub result: ContractOutcome,
        /// Names that the exporter exports, as far as known.
        pub exported: Vec<String>,
        /// Names that the importer imports from it.
        pub imported: Vec<String>,
        /// Imported names that the exporter lacks.
        pub missing: Vec<String>,
        /// Why it did not pass.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reason: Option<String>,
    }

    /// How a command ended.
    #[derive(Eq)]
    #[serde(rename_all = "camelCase")]
    pub struct CommandCheck {
        /// Whether it exited with 0.
        pub passed: bool,
        /// The command.
        pub command: String,
        /// Null if a signal ended it, or it could not run.
        pub exit_code: Option<i32>,
        /// The signal that ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub signal: Option<i32>,
        /// Whether it timed out.
        pub timed_out: bool,
        /// The beginning and the end of its standard output.
        pub stdout: String,
        /// The beginning and the end of its standard error.
        pub stderr: String,
        /// How long it took.
        #[specta(type = u32)]
        pub duration_ms: u64,
        /// What it complained about in all of its output, as it is compared with other attempts; absent when it
        /// passed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub diagnoses: Option<String>,
    }

    /// Result of one check.
    #[derive(Eq)]
    #[serde(tag = "type", rename_all = "snake_case")]
    pub enum CheckResult {
        /// The folder itself.
        CwdCheck(CwdCheck),
        /// A file exists.
        FileCheck(FileCheck),
        /// A file is well formed.
        SyntaxCheck(SyntaxCheck),
        /// A file exports what another imports.
        ContractCheck(ContractCheck),
        /// A command passes.
        Command(CommandCheck),
    }
}

names! {
    /// Result of a contract check.
    pub enum ContractOutcome {
        /// All imported names are exported.
        Pass = "pass",
        /// An imported name is not exported.
        Fail = "fail",
        /// The result is unknown.
        Unknown = "unknown",
    }
}

contract! {
    /// Result of a call.
    #[serde(rename_all = "camelCase")]
    pub struct ValidateReport {
        /// Whether at least one check passed, and none failed.
        pub passed: bool,
        /// Passed checks of those that counted.
        #[specta(type = u32)]
        pub score: f64,
        /// Every check, in order.
        pub results: Vec<CheckResult>,
        /// The number of the attempt, from 1; 0 for a call that is not counted.
        pub attempt: u32,
        /// The measures.
        #[serde(flatten)]
        pub measures: Measures,
        /// What the caller should know besides, as that earlier attempts could not be read, or why this one is not
        /// counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub notice: Option<String>,
    }

    /// One stored attempt.
    #[serde(rename_all = "camelCase")]
    pub struct Attempt {
        /// Its number, from 1.
        pub attempt: u32,
        /// Identity of the call: a review's attempt counts once, however often its checks run.
        pub id: String,
        /// When it ended.
        pub at: Timestamp,
        /// Whether it passed.
        pub passed: bool,
        /// Its score.
        #[specta(type = u32)]
        pub score: f64,
        /// The failures by identity (check, subject and diagnoses), sorted.
        pub failures: Vec<String>,
        /// The measures.
        #[serde(flatten)]
        pub measures: Measures,
    }

    /// Stored attempts of a module.
    #[serde(rename_all = "camelCase")]
    pub struct IterationState {
        /// The module.
        pub module_id: String,
        /// The run.
        #[serde(default)]
        pub run_id: Option<String>,
        /// The attempts, oldest first; the latest two hundred.
        #[serde(default)]
        pub attempts: Vec<Attempt>,
        /// What was checked last.
        #[serde(default)]
        pub input: Option<ValidateInput>,
        /// Results of the latest attempt's checks.
        #[serde(default)]
        pub results: Vec<CheckResult>,
        /// Why the stored attempts cannot be read; null if they can.
        #[serde(default)]
        pub unreadable: Option<String>,
    }

    /// One line of a log of calls.
    pub struct LogEvent {
        /// When.
        pub at: Timestamp,
        /// `tool_call` or `validate`.
        #[serde(rename = "type")]
        pub kind: LogEventKind,
        /// The module.
        #[serde(rename = "moduleId")]
        pub module_id: String,
        /// The run.
        #[serde(rename = "runId", default)]
        pub run_id: Option<String>,
        /// The task whose worktree was checked.
        #[serde(rename = "taskId", default)]
        pub task_id: Option<TaskId>,
        /// The input of a call, the verdict of a validation.
        #[specta(type = specta_typescript::Unknown)]
        pub data: serde_json::Value,
    }
}

contract! {
    /// A page of a log of calls.
    pub struct LogEvents {
        /// The events, oldest first.
        pub items: Vec<LogEvent>,
        /// How many lines cannot be read.
        pub unreadable: u32,
    }
}

names! {
    /// Kind of a log entry.
    pub enum LogEventKind {
        /// A call was made.
        ToolCall = "tool_call",
        /// The call ended with a verdict.
        Validate = "validate",
    }
}

impl ValidateGate {
    /// Whether there is nothing to check.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.files.is_empty() && self.contract_checks.is_empty()
    }

    /// What is checked for a task, in its worktree.
    #[must_use]
    pub fn input(&self, project: &ProjectId, task: &TaskId, cwd: &str) -> ValidateInput {
        ValidateInput {
            module_id: self.module_id.clone().unwrap_or_else(|| task.0.clone()),
            run_id: self.run_id.clone(),
            cwd: Some(cwd.to_owned()),
            commands: self.commands.clone(),
            files: self.files.clone(),
            contract_checks: self.contract_checks.clone(),
            project_id: Some(project.clone()),
        }
    }
}

impl CheckResult {
    /// Whether it passed; none when it counts neither way.
    #[must_use]
    pub const fn passed(&self) -> Option<bool> {
        match self {
            Self::CwdCheck(check) => Some(check.passed),
            Self::FileCheck(check) => Some(check.passed),
            Self::SyntaxCheck(check) => check.passed,
            Self::ContractCheck(check) => check.passed,
            Self::Command(check) => Some(check.passed),
        }
    }

    /// What kind of check it is, as it is written.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::CwdCheck(_) => "cwd_check",
            Self::FileCheck(_) => "file_check",
            Self::SyntaxCheck(_) => "syntax_check",
            Self::ContractCheck(_) => "contract_check",
            Self::Command(_) => "command",
        }
    }

    /// What it is about.
    #[must_use]
    pub fn subject(&self) -> String {
        match self {
            Self::CwdCheck(check) => check.cwd.clone(),
            Self::FileCheck(check) => check.file.clone(),
            Self::SyntaxCheck(check) => check.file.clone(),
            Self::ContractCheck(check) => format!("{} <- {}", check.exporter, check.importer),
            Self::Command(check) => check.command.clone(),
        }
    }

    /// What it says about its failure, at most: the output of a command, the message of another check.
    #[must_use]
    pub fn complaint(&self) -> String {
        match self {
            Self::CwdCheck(check) => check.error.clone(),
            Self::FileCheck(check) => check.error.clone().unwrap_or_default(),
            Self::SyntaxCheck(check) => {
                let place = check.line.zip(check.column).map(|(line, column)| format!(" ({line}:{column})"));
                format!("{}{}", check.error.as_deref().unwrap_or_default(), place.unwrap_or_default())
            }
            Self::ContractCheck(check) => check.reason.clone().unwrap_or_default(),
            Self::Command(check) => {
                let tails = [check.stderr.trim_end(), check.stdout.trim_end()];
                tails.into_iter().filter(|tail| !tail.is_empty()).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// The checks of a call as lines for people: what passed, what did not, and what the latter said.
#[must_use]
pub fn told(results: &[CheckResult]) -> String {
    let mut lines = Vec::new();
    for result in results {
        let mark = match result.passed() {
            Some(true) => "ok     ",
            Some(false) => "FAILED ",
            None => "unknown",
        };
        lines.push(format!("{mark} {} {}", result.kind(), result.subject()));
        if result.passed() != Some(true) {
            lines.extend(result.complaint().lines().map(|line| format!("        {line}")));
        }
    }
    lines.join("\n")
}

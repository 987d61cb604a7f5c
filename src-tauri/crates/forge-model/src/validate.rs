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
    /// One file that takes names, and the one that must export them.
    #[derive(Eq)]
    #[serde(deny_unknown_fields)]
    pub struct ContractPair {
        /// The file that exports.
        pub exporter: String,
        /// The file that imports.
        pub importer: String,
    }

    /// What is to be checked.
    #[derive(Eq)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    pub struct ValidateInput {
        /// What the attempts are counted for.
        pub module_id: String,
        /// Keeps the attempts of one run of a plan apart from those of others.
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
        /// Files that must export what others take from them.
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
        /// What the attempts are counted for; the task's id when absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub module_id: Option<String>,
        /// Keeps the attempts of one run of a plan apart from those of others.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub run_id: Option<String>,
        /// Shell commands that must pass.
        pub commands: Vec<String>,
        /// Files that must exist and be well formed.
        pub files: Vec<String>,
        /// Files that must export what others take from them.
        pub contract_checks: Vec<ContractPair>,
    }
}

contract! {
    /// A folder that is to be checked and is none.
    #[derive(Eq)]
    pub struct CwdCheck {
        /// Never.
        pub passed: bool,
        /// Its path.
        pub cwd: String,
        /// What is wrong with it.
        pub error: String,
    }

    /// Whether a file is there.
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
        /// Whether it is; null when it was not read, being too large, say: then it counts neither way.
        pub passed: Option<bool>,
        /// Its path.
        pub file: String,
        /// Why not, or why it was not checked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub error: Option<String>,
        /// Where, from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub line: Option<u32>,
        /// Where on that line, from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub column: Option<u32>,
    }

    /// Whether one file exports what another takes from it.
    #[derive(Eq)]
    pub struct ContractCheck {
        /// Null when it cannot be known: then it counts neither way.
        pub passed: Option<bool>,
        /// The file that exports.
        pub exporter: String,
        /// The file that imports.
        pub importer: String,
        /// What was found.
        pub result: ContractOutcome,
        /// What the exporter offers, as far as it is known.
        pub exported: Vec<String>,
        /// What the importer takes from it.
        pub imported: Vec<String>,
        /// What of that is not there.
        pub missing: Vec<String>,
        /// Why it is no pass.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reason: Option<String>,
    }

    /// How a command ended.
    #[derive(Eq)]
    #[serde(rename_all = "camelCase")]
    pub struct CommandCheck {
        /// Whether it ended by itself, with 0.
        pub passed: bool,
        /// The command.
        pub command: String,
        /// Null when a signal ended it, or it could not be run.
        pub exit_code: Option<i32>,
        /// The signal that ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub signal: Option<i32>,
        /// Whether its time ran out.
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

    /// What one check found.
    #[derive(Eq)]
    #[serde(tag = "type", rename_all = "snake_case")]
    pub enum CheckResult {
        /// The folder itself.
        CwdCheck(CwdCheck),
        /// A file is there.
        FileCheck(FileCheck),
        /// A file is well formed.
        SyntaxCheck(SyntaxCheck),
        /// A file exports what another takes.
        ContractCheck(ContractCheck),
        /// A command passes.
        Command(CommandCheck),
    }
}

names! {
    /// What was found about a contract.
    pub enum ContractOutcome {
        /// All that is taken is there.
        Pass = "pass",
        /// Something is not.
        Fail = "fail",
        /// It cannot be known.
        Unknown = "unknown",
    }
}

contract! {
    /// What came of a call.
    #[serde(rename_all = "camelCase")]
    pub struct ValidateReport {
        /// Whether no check failed, and one was there to say so.
        pub passed: bool,
        /// Passed checks of those that counted.
        #[specta(type = u32)]
        pub score: f64,
        /// Every check, in the order in which they were made.
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

    /// One attempt, as it is kept.
    #[serde(rename_all = "camelCase")]
    pub struct Attempt {
        /// Its number, from 1.
        pub attempt: u32,
        /// Which call it was: a review's attempt is counted once, however often its checks are run.
        pub id: String,
        /// When it ended.
        pub at: Timestamp,
        /// Whether it passed.
        pub passed: bool,
        /// Its score.
        #[specta(type = u32)]
        pub score: f64,
        /// What failed, each by its identity (check, subject and diagnoses); sorted.
        pub failures: Vec<String>,
        /// The measures.
        #[serde(flatten)]
        pub measures: Measures,
    }

    /// What is kept of a module's attempts.
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
        /// What the latest attempt's checks found.
        #[serde(default)]
        pub results: Vec<CheckResult>,
        /// Why what is kept cannot be read; null when it can.
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
    /// A stretch of a log of calls.
    pub struct LogEvents {
        /// The events, oldest first.
        pub items: Vec<LogEvent>,
        /// How many lines cannot be read.
        pub unreadable: u32,
    }
}

names! {
    /// What a line of a log is about.
    pub enum LogEventKind {
        /// Somebody called.
        ToolCall = "tool_call",
        /// The call came to a verdict.
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

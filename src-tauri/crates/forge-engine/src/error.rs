//! Errors of the engine: why a command is refused or fails, and why an engine does not start.

use crate::InstanceError;
use forge_exec::LoginError;
use forge_git::GitError;
use forge_model::offer::Offer;
use forge_model::storage::StorageTrouble;
use forge_model::time::Timestamp;
use forge_model::trust::TrustFile;
use forge_model::words::counted;
use forge_model::workflow::{Action, Finding, IllegalTransition};
use forge_store::{StoreError, trouble_of_io};
use serde_json::Value;

/// How many files a sentence names.
pub(crate) const NAMED: usize = 20;

/// A state of affairs that a command does not fit; each has a code that callers branch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each name is its own code, see `ConflictCode::as_str`")]
pub enum ConflictCode {
    NotAwaiting,
    NotClaimable,
    NotOffered,
    AgentBusy,
    Paused,
    DependencyOpen,
    DependencyCycle,
    NameTaken,
    InUse,
    NothingToUndo,
    NothingRunning,
    NothingToContinue,
    WorkspaceMissing,
    BackupInTheWay,
    BackupUnusable,
    StatesInUse,
    WorkflowInRepository,
    WorkspaceLocked,
    RoleConflict,
    SubtaskManagedByParent,
    ParentWorkspaceRequired,
    NotAnOrphan,
    AlreadySent,
    ReviewerRunning,
    NoCodeHost,
    HostUnavailable,
    NothingToResolve,
    KeychainUnavailable,
    TaskOpen,
    RaceEntry,
    FixDecided,
    FixOutdated,
    FixBlocked,
    LessonDecided,
    LessonNeedsPullRequest,
    TargetCheckoutDirty,
    TargetUnstable,
    Cancelled,
    Stopping,
    WorkChangedSinceReview,
    CommitRefused,
    PersonRequired,
    TrustChanged,
    ServiceElsewhere,
    ServicesFull,
    TerminalAway,
    TerminalBusy,
    TerminalElsewhere,
    TerminalEnded,
    TerminalsFull,
}

impl ConflictCode {
    /// The code as callers see it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotAwaiting => "not_awaiting",
            Self::NotClaimable => "not_claimable",
            Self::NotOffered => "not_offered",
            Self::AgentBusy => "agent_busy",
            Self::Paused => "paused",
            Self::DependencyOpen => "dependency_open",
            Self::DependencyCycle => "dependency_cycle",
            Self::NameTaken => "name_taken",
            Self::InUse => "in_use",
            Self::NothingToUndo => "nothing_to_undo",
            Self::NothingRunning => "nothing_running",
            Self::NothingToContinue => "nothing_to_continue",
            Self::WorkspaceMissing => "workspace_missing",
            Self::BackupInTheWay => "backup_in_the_way",
            Self::BackupUnusable => "backup_unusable",
            Self::StatesInUse => "states_in_use",
            Self::WorkflowInRepository => "workflow_in_repository",
            Self::WorkspaceLocked => "workspace_locked",
            Self::RoleConflict => "role_conflict",
            Self::SubtaskManagedByParent => "SUBTASK_MANAGED_BY_PARENT",
            Self::ParentWorkspaceRequired => "PARENT_WORKSPACE_REQUIRED",
            Self::NotAnOrphan => "not_an_orphan",
            Self::AlreadySent => "already_sent",
            Self::ReviewerRunning => "reviewer_running",
            Self::NoCodeHost => "no_code_host",
            Self::HostUnavailable => "host_unavailable",
            Self::NothingToResolve => "nothing_to_resolve",
            Self::KeychainUnavailable => "keychain_unavailable",
            Self::RaceEntry => "race_entry",
            Self::FixDecided => "fix_decided",
            Self::FixOutdated => "fix_outdated",
            Self::FixBlocked => "fix_blocked",
            Self::TaskOpen => "task_open",
            Self::LessonDecided => "lesson_decided",
            Self::LessonNeedsPullRequest => "lesson_needs_pull_request",
            Self::TargetCheckoutDirty => "target_checkout_dirty",
            Self::TargetUnstable => "target_unstable",
            Self::Cancelled => "cancelled",
            Self::Stopping => "stopping",
            Self::WorkChangedSinceReview => "work_changed_since_review",
            Self::CommitRefused => "commit_refused",
            Self::PersonRequired => "person_required",
            Self::TrustChanged => "trust_changed",
            Self::ServiceElsewhere => "service_elsewhere",
            Self::ServicesFull => "services_full",
            Self::TerminalAway => "terminal_away",
            Self::TerminalBusy => "terminal_busy",
            Self::TerminalElsewhere => "terminal_elsewhere",
            Self::TerminalEnded => "terminal_ended",
            Self::TerminalsFull => "terminals_full",
        }
    }
}

/// Why writes fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageFailure {
    /// The kind of trouble.
    pub trouble: StorageTrouble,
    /// The reason in SQLite's or the system's words.
    pub detail: String,
    /// Since when.
    pub since: Timestamp,
}

/// A panic that was caught.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Internal error at {place}: {message}")]
pub struct Panic {
    /// What it says.
    pub message: String,
    /// The file and the line.
    pub place: String,
}

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// There is no such thing.
    #[error("no {what} `{id}`")]
    NotFound {
        /// The kind of thing.
        what: &'static str,
        /// How it was named.
        id: String,
    },
    /// The input is wrong; every field that is.
    #[error("the input is not valid: {}", list(.0))]
    Invalid(Vec<Finding>),
    /// The task, or the project, changed since it was read.
    #[error("version {expected} is out of date, the current one is {actual}: read it again")]
    VersionConflict {
        /// What the caller believed.
        expected: u32,
        /// What is true.
        actual: u32,
    },
    /// The workflow has no such move.
    #[error(transparent)]
    IllegalTransition(#[from] IllegalTransition),
    /// A guard refused the move; nothing changed.
    #[error("{reason}")]
    GuardRejected {
        /// The guard.
        action: Action,
        /// Why.
        reason: String,
        /// Its result.
        details: Value,
    },
    /// What is asked is not offered now.
    #[error("`{verb}` is not offered for this task now")]
    NotOffered {
        /// What was asked.
        verb: String,
        /// What is offered.
        offers: Vec<Offer>,
    },
    /// A task is to be raced where races are switched off.
    #[error("races are off in this project: turn on `innerLoop.competitive.enabled` first")]
    RaceDisabled,
    /// It does not fit the state of affairs.
    #[error("{message}")]
    Conflict {
        /// The code.
        code: ConflictCode,
        /// What does not fit, and what to do.
        message: String,
        /// Facts.
        details: Value,
    },
    /// A path that was given leads out of where it must stay.
    #[error("{field}: could not {source}")]
    Escape {
        /// The field it was given in.
        field: String,
        /// What is wrong with it.
        source: forge_git::guard::GuardError,
    },
    /// A program would start with files that a person has not trusted.
    #[error("{0}")]
    TrustRequired(Box<Untrusted>),
    /// The profile of a login shell does not run to its end.
    #[error("{0}\n{LOGIN_REMEDY}")]
    Login(#[from] LoginError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database takes no writes now.
    #[error("Could not use the database: {}", .0.detail)]
    Storage(StorageFailure),
    /// git failed.
    #[error("Could not {0}")]
    Git(#[from] GitError),
    /// A worktree cannot be sent to a machine, or fetched from it.
    #[error("Could not work on another machine: {0}")]
    Transfer(forge_keeper::TransferError),
    /// The same of a machine that a task is on.
    #[error("Could not work on the machine `{name}`: {error}")]
    Machine {
        /// Display name.
        name: String,
        /// Why not.
        error: forge_keeper::TransferError,
    },
    /// A person gave up the machine that was waited for.
    #[error("The machine was given up")]
    MachineGivenUp,
    /// A log cannot be read or written.
    #[error(transparent)]
    Log(#[from] forge_agents::LogError),
    /// The file system failed.
    #[error("Could not {doing}: {source}")]
    Io {
        /// What was tried.
        doing: String,
        /// Why not.
        source: std::io::Error,
    },
    /// Forge made a mistake.
    #[error(transparent)]
    Panicked(#[from] Panic),
    /// A stored definition does not read back.
    #[error("the project's stored {what} is not valid: {}", list(.findings))]
    Stored {
        /// `workflow` or `settings`.
        what: &'static str,
        /// What is wrong with it.
        findings: Vec<Finding>,
    },
}

/// What to do when a profile fails.
const LOGIN_REMEDY: &str = "Run the shell by hand and fix its profile, or set `shell_mode` to `login_each`.";

fn list(findings: &[Finding]) -> String {
    let each: Vec<String> = findings
        .iter()
        .map(|f| if f.path.is_empty() { f.message.clone() } else { format!("{}: {}", f.path, f.message) })
        .collect();
    each.join("; ")
}

impl EngineError {
    /// Whether it failed because too many files are open.
    #[must_use]
    pub fn is_out_of_files(&self) -> bool {
        // SQLite says only that it cannot open a file.
        if self.storage_trouble() == Some(StorageTrouble::CannotOpen) && forge_exec::has_no_file_left() {
            return true;
        }
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(self);
        while let Some(error) = cause {
            if error.downcast_ref().is_some_and(forge_exec::is_out_of_files) {
                return true;
            }
            cause = error.source();
        }
        false
    }

    pub(crate) fn not_found(what: &'static str, id: impl std::fmt::Display) -> Self {
        Self::NotFound { what, id: id.to_string() }
    }

    pub(crate) fn invalid(path: &str, message: impl Into<String>) -> Self {
        Self::Invalid(vec![Finding { path: path.to_owned(), message: message.into() }])
    }

    pub(crate) fn conflict(code: ConflictCode, message: impl Into<String>) -> Self {
        Self::Conflict { code, message: message.into(), details: Value::Null }
    }

    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}

/// What the functions of the engine return.
pub(crate) type Result<T, E = EngineError> = std::result::Result<T, E>;

/// An error with everything that it came from, as one sentence.
pub(crate) fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let said = cause.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        source = cause.source();
    }
    text
}

/// The startup files that a person has to trust first.
#[derive(Debug, Clone)]
pub struct Untrusted {
    /// Names exactly these contents.
    pub digest: String,
    /// The files.
    pub files: Vec<TrustFile>,
}

impl std::fmt::Display for Untrusted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = self.files.len();
        let mut named: Vec<String> =
            self.files.iter().take(NAMED).map(|file| format!("`{}` ({})", file.path, file.state)).collect();
        if count > NAMED {
            named.push(format!("and {} more", count - NAMED));
        }
        let files = counted(count as u64, "file", "files");
        let verb = if count == 1 { "is" } else { "are" };
        write!(
            f,
            "{files} {verb} not trusted: {}. Programs run code from them when they start",
            named.join(", ")
        )
    }
}

impl EngineError {
    /// What is wrong with the disk or the database, if that is the reason.
    #[must_use]
    pub fn storage_trouble(&self) -> Option<StorageTrouble> {
        match self {
            Self::Store(error) => error.trouble(),
            Self::Storage(failure) => Some(failure.trouble),
            Self::Io { source, .. } | Self::Log(forge_agents::LogError::Io { source, .. }) => {
                trouble_of_io(source)
            }
            Self::Git(error) => trouble_of_git(&error.to_string()),
            _ => None,
        }
    }
}

/// git and the system libraries say it in words alone, in English (Forge's git runs in the C locale).
fn trouble_of_git(said: &str) -> Option<StorageTrouble> {
    const WORDS: [(&str, StorageTrouble); 5] = [
        ("No space left on device", StorageTrouble::Full),
        ("Disk quota exceeded", StorageTrouble::Full),
        ("Read-only file system", StorageTrouble::ReadOnly),
        ("Input/output error", StorageTrouble::Io),
        ("File too large", StorageTrouble::Io),
    ];
    WORDS.iter().find(|(words, _)| said.contains(words)).map(|(_, trouble)| *trouble)
}

/// Why an engine cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data folder is taken or cannot be used.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// The database cannot be opened.
    #[error(transparent)]
    Open(#[from] forge_store::OpenError),
    /// git is missing or too old.
    #[error("Could not {0}")]
    Git(#[from] GitError),
    /// What an earlier process left cannot be settled.
    #[error("Could not recover the state of an earlier process: {0}")]
    Recovery(#[from] EngineError),
}

impl StartError {
    /// What is wrong with the disk or the database, if that is the reason. A damaged database needs a copy, the others
    /// pass.
    #[must_use]
    pub fn storage_trouble(&self) -> Option<StorageTrouble> {
        match self {
            Self::Open(error) => error.trouble(),
            Self::Recovery(error) => error.storage_trouble(),
            Self::Instance(InstanceError::Io { source, .. }) => trouble_of_io(source),
            Self::Instance(InstanceError::Taken(_)) | Self::Git(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_git_tell_a_full_disk_from_a_refusal() {
        assert_eq!(trouble_of_git("fatal: write error: No space left on device"), Some(StorageTrouble::Full));
        assert_eq!(trouble_of_git("fatal: bad object HEAD"), None);
    }
}

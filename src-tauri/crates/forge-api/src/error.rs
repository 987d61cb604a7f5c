//! The one boundary error: code, message, hints, details. Codes exist where somebody branches on them.

use forge_engine::{ConflictCode, EngineError, Panic};
use forge_model::storage::StorageTrouble;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{MisfitError, TokenError};

/// Why an operation did not do what it was asked.
#[derive(
    Debug, Clone, PartialEq, Serialize, Deserialize, specta::Type, schemars::JsonSchema, thiserror::Error,
)]
#[error("{code}: {message}")]
pub struct ApiError {
    /// What callers branch on.
    pub code: String,
    /// What happened, for people.
    pub message: String,
    /// Remedy.
    pub hints: Vec<String>,
    /// Facts: findings with their paths, allowed targets, offers.
    #[specta(type = specta_typescript::Unknown)]
    pub details: Value,
    /// The HTTP status that says the same.
    #[serde(skip)]
    #[specta(skip)]
    #[schemars(skip)]
    pub status: u16,
}

impl ApiError {
    pub(crate) fn new(status: u16, code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
            hints: Vec::new(),
            details: Value::Null,
            status,
        }
    }

    /// There is no such thing.
    #[must_use]
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(404, "not_found", message)
    }

    /// A field is wrong.
    #[must_use]
    pub fn invalid(path: &str, message: &str) -> Self {
        let text = if path.is_empty() { message.to_owned() } else { format!("{path}: {message}") };
        let mut error = Self::new(400, "invalid", text);
        error.details = json!({ "findings": [{ "path": path, "message": message }] });
        error
    }

    /// Something is wrong with Forge itself.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "internal", message)
    }

    /// Forge panicked while it did what was asked.
    #[must_use]
    pub fn panicked(panic: &Panic) -> Self {
        Self::internal(panic.to_string())
            .hint("Try again. If the problem persists, report it with the engine's log.")
            .details(json!({ "place": panic.place }))
    }

    /// Whoever asked no longer wants to know.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::new(499, "cancelled", "the call was cancelled")
    }

    /// The same with one more fact.
    #[must_use]
    pub fn with_fact(mut self, name: &str, fact: Value) -> Self {
        if !self.details.is_object() {
            self.details = json!({});
        }
        self.details[name] = fact;
        self
    }

    fn hint(mut self, hint: &str) -> Self {
        self.hints.push(hint.to_owned());
        self
    }

    fn details(mut self, details: Value) -> Self {
        self.details = details;
        self
    }
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        let message = error.to_string();
        match error {
            EngineError::NotFound { .. } => Self::not_found(message),
            EngineError::RaceDisabled => Self::new(400, "race_disabled", message),
            EngineError::Invalid(findings) => {
                Self::new(400, "invalid", message).details(json!({ "findings": findings }))
            }
            EngineError::VersionConflict { expected, actual } => Self::new(409, "version_conflict", message)
                .hint("Read the task again, then decide.")
                .details(json!({ "expected": expected, "actual": actual })),
            EngineError::IllegalTransition(illegal) => Self::new(422, "illegal_transition", message)
                .hint(&match illegal.allowed.as_slice() {
                    [] => "No state can be reached from here.".to_owned(),
                    states => format!("Allowed states: {}.", states.join(", ")),
                })
                .details(json!({ "from": illegal.from, "to": illegal.to, "allowed": illegal.allowed })),
            EngineError::GuardRejected { action, reason, details } => {
                // A guard that is branched on has a code of its own among what it found.
                let code = details.get("code").cloned().unwrap_or_default();
                Self::new(412, "guard_rejected", message).details(json!({
                    "action": action, "phase": "before_exit", "reason": reason, "code": code, "details": details,
                }))
            }
            EngineError::NotOffered { offers, .. } => {
                Self::new(409, "not_offered", message).details(json!({ "offers": offers }))
            }
            EngineError::Conflict { code, details, .. } => {
                let refused = Self::new(409, code.as_str(), message).details(details);
                match code {
                    ConflictCode::TargetCheckoutDirty => {
                        refused.hint("Commit, move or undo them there, then try again. Nothing was changed.")
                    }
                    ConflictCode::TerminalBusy => refused
                        .hint("End the program in its terminal, then try again.")
                        .hint("Or try again with `--end-terminals`; to close one terminal, with `--end-program`.")
                        .hint("Over HTTP, these are the fields `end_terminals` and `end_program`."),
                    ConflictCode::TrustChanged => refused.hint("Review the files again, then trust them."),
                    _ => refused,
                }
            }
            EngineError::Escape { field, source } => Self::new(400, "path_escape", message)
                .details(json!({ "findings": [{ "path": field, "message": source.to_string() }] })),
            ref error if error.is_out_of_files() => Self::new(
                503,
                "too_many_open_files",
                format!("Could not continue: too many files are open. {message}"),
            )
            .hint("Close unused programs, or start Forge with a higher limit (`ulimit -n`)."),
            ref error if let Some(trouble) = error.storage_trouble().filter(|_| is_of_database(error)) => {
                Self::from_storage(trouble, &message)
            }
            EngineError::Panicked(panic) => Self::panicked(&panic),
            ref error @ EngineError::Git(ref git) => Self::from_git(git, error.storage_trouble(), message),
            EngineError::TrustRequired(untrusted) => Self::new(409, "trust_required", message)
                .hint("Review and trust the files in the window, or with `forge project trust`.")
                .details(json!({ "digest": untrusted.digest, "files": untrusted.files })),
            EngineError::Login(_) => Self::new(409, "login_environment", message),
            EngineError::Transfer(_) | EngineError::Machine { .. } => {
                Self::new(409, "machine_refused", message)
            }
            EngineError::MachineGivenUp => Self::new(409, "machine_given_up", message),
            EngineError::Store(_)
            | EngineError::Storage(_)
            | EngineError::Log(_)
            | EngineError::Io { .. }
            | EngineError::Stored { .. } => Self::new(500, "internal", message).hint("See the engine's log."),
        }
    }
}

impl From<MisfitError> for ApiError {
    fn from(error: MisfitError) -> Self {
        Self::internal(error.to_string())
    }
}

impl From<TokenError> for ApiError {
    fn from(error: TokenError) -> Self {
        Self::new(500, "token", error.to_string())
    }
}

/// Whether an error is the database's or a file's of the data folder, and not a repository's.
const fn is_of_database(error: &EngineError) -> bool {
    matches!(
        error,
        EngineError::Store(_) | EngineError::Storage(_) | EngineError::Log(_) | EngineError::Io { .. }
    )
}

impl ApiError {
    /// Whether the disk or the database refused it.
    pub(crate) fn is_storage(&self) -> bool {
        self.details.get("storage").is_some()
    }

    /// The disk or the database refuses, for now or until a copy is restored. Nothing was done.
    fn from_storage(trouble: StorageTrouble, cause: &str) -> Self {
        let (status, code, reason) = match trouble {
            StorageTrouble::Full => (507, "storage_full", "the disk is full"),
            StorageTrouble::ReadOnly => (503, "storage_unavailable", "the data folder is read-only"),
            StorageTrouble::Io => (503, "storage_unavailable", "the disk reports an error"),
            StorageTrouble::Memory => (503, "storage_unavailable", "there is not enough memory"),
            StorageTrouble::CannotOpen => (503, "storage_unavailable", "the database cannot be opened"),
            StorageTrouble::Busy => (503, "storage_unavailable", "another program has the database locked"),
            StorageTrouble::Damaged => (503, "database_damaged", "the database is damaged"),
        };
        Self::new(status, code, format!("Could not use the database: {reason}. Nothing was changed."))
            .hint(trouble.remedy())
            .details(json!({ "storage": trouble, "cause": cause }))
    }

    /// The disk of a repository refuses what git writes.
    fn from_repository_disk(trouble: StorageTrouble, cause: &str) -> Self {
        let (what, remedy) = match trouble {
            StorageTrouble::Full => ("the disk is full", "Free some space on the disk of the repository"),
            StorageTrouble::ReadOnly => ("it is read-only", "Make the repository writable again"),
            _ => ("the disk reports an error", "Check the disk of the repository and its connection"),
        };
        let mut refused = Self::from_storage(trouble, cause);
        refused.message = format!("Could not write to the repository: {what}.");
        refused.hints = vec![format!("{remedy}, then try again.")];
        refused
    }

    fn from_git(error: &forge_engine::GitError, trouble: Option<StorageTrouble>, message: String) -> Self {
        use forge_engine::GitError as G;
        match error {
            G::IndexLocked { .. } => Self::new(409, "git_locked", message)
                .hint("Wait until the other program finishes, or remove a stale lock."),
            G::RepositoryChanged { change, .. } => {
                let files: Vec<Value> =
                    change.files.iter().map(|file| json!({ "path": file.path, "diff": file.diff })).collect();
                let details = json!({ "digest": change.digest, "files": files });
                Self::new(409, "repository_changed", message)
                    .hint(error.remedy().unwrap_or_default())
                    .details(details)
            }
            G::SigningFailed { .. } | G::SigningTimedOut { .. } => {
                Self::new(409, "signing_failed", message).hint(error.remedy().unwrap_or_default())
            }
            G::BranchCheckedOut { .. }
            | G::NotOurWorktree { .. }
            | G::PathOccupied { .. }
            | G::NotAFolder { .. } => Self::new(409, ConflictCode::InUse.as_str(), message),
            G::PathEscape(_) => Self::new(400, "path_escape", message),
            G::NotARepository { .. } | G::NoCommit { .. } => Self::new(409, "repository_missing", message)
                .hint("If the repository was moved, remove the project and add it again."),
            _ => match trouble {
                Some(trouble) => Self::from_repository_disk(trouble, &message),
                None => Self::new(500, "git_failed", message),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disk_that_git_meets_is_told_with_its_remedy() {
        let met = |said: &str| {
            let failed = forge_engine::GitError::Failed {
                args: "commit-tree".to_owned(),
                exit: Some(128),
                stderr: said.to_owned(),
            };
            ApiError::from(EngineError::Git(failed))
        };
        let full = met("fatal: write error: No space left on device");
        assert_eq!((full.status, full.code.as_str()), (507, "storage_full"), "{full}");
        assert!(full.message.contains("repository") && full.hints[0].contains("Free some space"), "{full:?}");
        let read_only = met("error: unable to create file: Read-only file system");
        assert_eq!((read_only.status, read_only.code.as_str()), (503, "storage_unavailable"), "{read_only}");
        assert_eq!(met("fatal: bad object HEAD").code, "git_failed");
    }

    #[test]
    fn failure_for_want_of_open_files_is_told_as_such() {
        let source = || std::io::Error::from_raw_os_error(24);
        let io = EngineError::Io { doing: "read a file".to_owned(), source: source() };
        let git = EngineError::Git(forge_engine::GitError::Missing { program: None, source: source() });
        for error in [io, git] {
            let refused = ApiError::from(error);
            assert_eq!((refused.status, refused.code.as_str()), (503, "too_many_open_files"), "{refused}");
            assert!(refused.message.contains("too many files are open"), "{refused}");
            assert_eq!(refused.hints.len(), 1);
        }
        let other = std::io::Error::from_raw_os_error(2);
        let other = EngineError::Io { doing: "read a file".to_owned(), source: other };
        assert_eq!(ApiError::from(other).code, "internal");
    }
}

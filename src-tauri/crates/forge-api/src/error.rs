//! The one boundary error: code, message, hints, details. Codes exist where somebody branches on them.

use forge_engine::{ConflictCode, EngineError};
use serde::Serialize;
use serde_json::{Value, json};

use crate::TokenError;

/// Why an operation did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Serialize, specta::Type, schemars::JsonSchema, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ApiError {
    /// What callers branch on.
    pub code: String,
    /// What happened, for people.
    pub message: String,
    /// What to do about it.
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
                .hint("Read the task again and decide anew.")
                .details(json!({ "expected": expected, "actual": actual })),
            EngineError::IllegalTransition(illegal) => Self::new(422, "illegal_transition", message)
                .hint(&match illegal.allowed.as_slice() {
                    [] => "From here it can go nowhere.".to_owned(),
                    states => format!("From here it can go to: {}.", states.join(", ")),
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
                        refused.hint("Commit, move or undo them there, then try again. Nothing has changed.")
                    }
                    _ => refused,
                }
            }
            EngineError::Escape { field, source } => Self::new(400, "path_escape", message)
                .details(json!({ "findings": [{ "path": field, "message": source.to_string() }] })),
            EngineError::Git(git) => Self::from_git(&git, message),
            EngineError::Store(_)
            | EngineError::Log(_)
            | EngineError::Io { .. }
            | EngineError::Stored { .. } => {
                Self::new(500, "internal", message).hint("The log of the engine says more.")
            }
        }
    }
}

impl From<TokenError> for ApiError {
    fn from(error: TokenError) -> Self {
        Self::new(500, "token", error.to_string())
    }
}

impl ApiError {
    fn from_git(error: &forge_engine::GitError, message: String) -> Self {
        use forge_engine::GitError as G;
        match error {
            G::IndexLocked { .. } => Self::new(409, "git_locked", message)
                .hint("Wait until the other program is done, or remove a lock that was left behind."),
            G::BranchCheckedOut { .. }
            | G::NotOurWorktree { .. }
            | G::PathOccupied { .. }
            | G::NotAFolder { .. } => Self::new(409, ConflictCode::InUse.as_str(), message),
            G::PathEscape(_) => Self::new(400, "path_escape", message),
            G::NotARepository { .. } | G::NoCommit { .. } => Self::new(409, "repository_missing", message)
                .hint("Was the repository moved? Remove the project and add it again."),
            _ => Self::new(500, "git_failed", message),
        }
    }
}

//! Why a task cannot continue, and how errors become such a reason.

use forge_git::{GitError, RepositoryChange};
use forge_model::hook::HookRef;
use forge_model::ids::ExecutionId;
use forge_model::project::{RepositoryDifference, RepositoryFileChange};
use forge_model::task::{AnnotationType, ErrorAnnotation, Evidence};
use forge_model::time::Timestamp;
use forge_model::trust::TrustState;
use serde_json::Value;
use serde_json::json;

use crate::{
    EngineError,
    error::{NAMED, Untrusted, whole},
};

/// How much of the changes stands in the evidence.
const EVIDENCE_BYTES: usize = 16 * 1024;
/// What to do about files that are not trusted.
const REMEDY: &str = "Review the files and trust them, or remove them from the branch, then try again.";

/// BlockReason to be recorded on a task.
#[derive(Debug, Clone)]
pub(crate) struct BlockReason {
    pub kind: AnnotationType,
    pub message: String,
    pub details: Value,
    pub execution: Option<ExecutionId>,
    pub hook: Option<HookRef>,
    pub evidence: Option<Evidence>,
}

impl BlockReason {
    pub(crate) fn new(kind: AnnotationType, message: impl Into<String>) -> Self {
        let details = Value::Null;
        Self { kind, message: message.into(), details, execution: None, hook: None, evidence: None }
    }

    pub(crate) fn annotation(self, from_state: &str, at: Timestamp) -> ErrorAnnotation {
        ErrorAnnotation {
            kind: self.kind,
            from_state: from_state.to_owned(),
            message: self.message,
            details: self.details,
            execution_id: self.execution,
            hook: self.hook,
            evidence: self.evidence,
            at,
        }
    }
}

/// What files that are not trusted mean for a task.
pub(crate) fn block_reason_of_trust(untrusted: &Untrusted) -> BlockReason {
    let mut trouble = BlockReason::new(AnnotationType::TrustRequired, format!("{untrusted}. {REMEDY}"));
    let files = untrusted.files.iter().take(NAMED);
    let files: Vec<_> = files.map(|file| json!({ "path": file.path, "state": file.state })).collect();
    trouble.details = json!({ "digest": untrusted.digest, "count": untrusted.files.len(), "files": files });
    let mut output = String::new();
    for file in &untrusted.files {
        let lines = match file.state {
            TrustState::New | TrustState::Accepted => file.content.clone().unwrap_or_default(),
            TrustState::Changed | TrustState::Removed => file.diff.clone(),
        };
        output.push_str(&format!("{} ({}):\n{}\n", file.path, file.state, lines.trim_end()));
    }
    output.truncate(output.floor_char_boundary(EVIDENCE_BYTES));
    trouble.evidence = Some(Evidence { command: None, exit_code: None, output, log_id: None });
    trouble
}

/// What a failure means for a task; `otherwise` is its kind when the error does not say.
pub(crate) fn block_reason_of(error: &EngineError, otherwise: AnnotationType) -> BlockReason {
    if let EngineError::TrustRequired(untrusted) = error {
        return block_reason_of_trust(untrusted);
    }
    if error.is_out_of_files() {
        let message = format!(
            "Could not continue: too many files are open. {error}. Close other programs, or start Forge with a higher limit \
             (`ulimit -n`), then retry."
        );
        return BlockReason::new(otherwise, message);
    }
    let EngineError::Git(git) = error else { return BlockReason::new(otherwise, error.to_string()) };
    let kind = match git {
        GitError::RepositoryChanged { .. } => AnnotationType::RepositoryChanged,
        GitError::SigningFailed { .. } | GitError::SigningTimedOut { .. } => {
            AnnotationType::EnvironmentNotReady
        }
        GitError::HooksTimedOut { .. } => AnnotationType::CommitRefused,
        _ => otherwise,
    };
    let message = match git.remedy() {
        Some(remedy) => format!("Could not {}. {remedy}", whole(git)),
        None => error.to_string(),
    };
    let mut trouble = BlockReason::new(kind, message);
    if let GitError::RepositoryChanged { change, .. } = git {
        trouble.details = json!(told(change));
        let files = change.files.iter().map(|file| format!("{}:\n{}", file.path, file.diff));
        let output = files.collect::<Vec<_>>().join("\n");
        trouble.evidence = Some(Evidence { command: None, exit_code: None, output, log_id: None });
    }
    trouble
}

/// A difference as callers see it.
pub(crate) fn told(change: &RepositoryChange) -> RepositoryDifference {
    let file = |file: &forge_git::ChangedFile| RepositoryFileChange {
        path: file.path.clone(),
        diff: file.diff.clone(),
    };
    RepositoryDifference { digest: change.digest.clone(), files: change.files.iter().map(file).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signing_that_fails_or_waits_and_hooks_that_wait_each_have_their_kind_and_remedy() {
        let after = std::time::Duration::from_secs(60);
        let cases = [
            (GitError::SigningFailed { output: "no key".into() }, "environment_not_ready", "signing program"),
            (GitError::SigningTimedOut { after }, "environment_not_ready", "Unlock the signing key"),
            (GitError::HooksTimedOut { after }, "commit_refused", "Run the hooks"),
        ];
        for (error, kind, remedy) in cases {
            let trouble = block_reason_of(&EngineError::Git(error), AnnotationType::RecoveryRequired);
            assert_eq!(trouble.kind.as_str(), kind);
            assert!(trouble.message.contains(remedy), "{}", trouble.message);
        }
    }
}

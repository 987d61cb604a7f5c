//! What a repository may have git run: recorded before the first run of an agent in it, asked about when it changed.

use std::path::PathBuf;

use forge_git::{Fingerprint, FingerprintFile, GitError, Repo, RepositoryChange};
use forge_model::project::{RepositoryDifference, RepositoryFileChange};
use forge_model::task::{AnnotationType, Evidence};
use forge_store::table::{accepted, accepted::AcceptedFile, tasks::TaskRow};
use serde_json::json;

use crate::{
    Engine, EngineError,
    core::{context::ProjectContext, transition::Trouble},
    error::{Result, whole},
    trust::trouble_of_trust,
};

/// Has git run only what the repository names now, unless that was settled before. To be called before an agent
/// starts: nothing that it plants counts then.
pub(crate) async fn require_accepted(engine: &Engine, context: &ProjectContext, repo: &Repo) -> Result<()> {
    if repo.accepted().is_none() {
        let now = repo.fingerprint().await?;
        store_accepted(engine, context, &now).await?;
        repo.accept(now);
    }
    Ok(())
}

/// Has an opened repository hold to what was accepted of it.
pub(crate) async fn recall_accepted(engine: &Engine, path: &str, repo: &Repo) -> Result<()> {
    let stored = accepted::get(&mut *engine.store().read().await?, path).await?;
    if let Some(files) = stored {
        repo.accept(Fingerprint { files: files.into_iter().map(from_row).collect() });
    }
    Ok(())
}

/// Records what Forge itself changed among the accepted files.
pub(crate) async fn keep_own_changes(engine: &Engine, context: &ProjectContext, repo: &Repo) -> Result<()> {
    let Some(now) = repo.accepted() else { return Ok(()) };
    let stored = accepted::get(&mut *engine.store().read().await?, &context.project.repo_path).await?;
    let rows: Vec<AcceptedFile> = now.files.iter().cloned().map(to_row).collect();
    if stored.as_ref() == Some(&rows) { Ok(()) } else { store_accepted(engine, context, &now).await }
}

pub(crate) async fn store_accepted(
    engine: &Engine,
    context: &ProjectContext,
    now: &Fingerprint,
) -> Result<()> {
    let rows: Vec<AcceptedFile> = now.files.iter().cloned().map(to_row).collect();
    let mut tx = engine.store().write().await?;
    accepted::put(&mut tx, &context.project.repo_path, &rows, engine.now()).await?;
    tx.commit().await?;
    Ok(())
}

/// Where things are kept that were moved out of a task's worktree, or out of its repository.
pub(crate) fn kept_folder(engine: &Engine, task: &TaskRow) -> PathBuf {
    engine.data_dir().join("kept").join(task.project_id.as_str()).join(task.id.as_str())
}

/// What a failure means for a task; `otherwise` is its kind when the error does not say.
pub(crate) fn trouble_of(error: &EngineError, otherwise: AnnotationType) -> Trouble {
    if let EngineError::TrustRequired(untrusted) = error {
        return trouble_of_trust(untrusted);
    }
    if error.is_out_of_files() {
        let message = format!(
            "Could not go on: too many files are open. {error}. Close other programs, or start Forge with a higher limit \
             (`ulimit -n`), then retry."
        );
        return Trouble::new(otherwise, message);
    }
    let EngineError::Git(git) = error else { return Trouble::new(otherwise, error.to_string()) };
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
    let mut trouble = Trouble::new(kind, message);
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

fn to_row(file: FingerprintFile) -> AcceptedFile {
    let FingerprintFile { path, executable, sha256, content } = file;
    AcceptedFile { path, executable, sha256, content }
}

fn from_row(row: AcceptedFile) -> FingerprintFile {
    let AcceptedFile { path, executable, sha256, content } = row;
    FingerprintFile { path, executable, sha256, content }
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
            let trouble = trouble_of(&EngineError::Git(error), AnnotationType::RecoveryRequired);
            assert_eq!(trouble.kind.as_str(), kind);
            assert!(trouble.message.contains(remedy), "{}", trouble.message);
        }
    }
}

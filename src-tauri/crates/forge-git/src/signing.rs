//! Signed commits: whether signing works is found out apart from the hooks, since git ends alike for both.

use std::time::{Duration, Instant};

use crate::bytes;
use crate::command::Kind;
use crate::error::GitError;
use crate::worktree::Worktree;

/// Time for one signature. A program that takes longer waits for somebody to type a passphrase.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
/// How long a signature that was made shows that the next one can be.
const TRUSTED: Duration = Duration::from_secs(5 * 60);

impl Worktree {
    /// Whether commits in it are signed.
    pub(crate) async fn signs(&self) -> Result<bool, GitError> {
        Ok(self.settings().await?.is_on("commit.gpgsign"))
    }

    /// Fails when commits cannot be signed now. One that could be a short while ago is not tried again.
    pub(crate) async fn require_signing(&self) -> Result<(), GitError> {
        let known = *self.repo().last_signed();
        if known.is_some_and(|at| at.elapsed() < TRUSTED) {
            return Ok(());
        }
        self.try_signing(LIMIT).await
    }

    /// Makes a signed commit that no ref names, within a limit.
    pub(crate) async fn try_signing(&self, limit: Duration) -> Result<(), GitError> {
        *self.repo().last_signed() = None;
        let tree = self.repo().tree_of(&self.head().await?).await?;
        let tried = self
            .command(Kind::User)
            .envs(self.identity(None).await?)
            .args(["commit-tree", "--gpg-sign", &tree])
            .input("Forge tries whether commits can be signed\n")
            .blind(true)
            .timeout(limit)
            .run()
            .await;
        match tried {
            Ok(output) if output.exit == Some(0) => {
                *self.repo().last_signed() = Some(Instant::now());
                Ok(())
            }
            Ok(output) => {
                let said = bytes::text(&output.stderr).trim().to_owned();
                Err(GitError::SigningFailed { output: said })
            }
            Err(GitError::Timeout { after, .. }) => Err(GitError::SigningTimedOut { after }),
            Err(other) => Err(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::Repo;
    use crate::testing::Sandbox;

    /// A repository whose commits a script signs.
    async fn signed_by(script: &str) -> (Sandbox, Repo) {
        let sandbox = Sandbox::new().await;
        let program = sandbox.script("signer", script);
        sandbox.git(&["config", "gpg.program", &program]);
        sandbox.git(&["config", "user.signingKey", "key"]);
        sandbox.git(&["config", "commit.gpgSign", "true"]);
        let repo = sandbox.repo().await;
        (sandbox, repo)
    }

    const SIGNS: &str = "cat >/dev/null; echo '[GNUPG:] SIG_CREATED ' >&2; echo 'a signature'";

    #[tokio::test]
    async fn commit_with_failing_signer_names_the_signer_not_the_hooks() {
        let (sandbox, repo) = signed_by("echo 'no secret key' >&2; exit 2").await;
        sandbox.hook("pre-commit", "exit 0");
        sandbox.write("a", "changed");
        match repo.main_worktree().commit_all("try", None).await {
            Err(GitError::SigningFailed { output }) => assert!(output.contains("no secret key"), "{output}"),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn refusing_hook_in_signing_repository_is_named_as_a_hook() {
        let (sandbox, repo) = signed_by(SIGNS).await;
        sandbox.hook("pre-commit", "echo 'no tabs' >&2; exit 1");
        sandbox.write("a", "changed");
        match repo.main_worktree().commit_all("try", None).await {
            Err(GitError::CommitRefused { output }) => assert_eq!(output, "no tabs"),
            other => panic!("{other:?}"),
        }
        sandbox.hook("pre-commit", "exit 0");
        assert!(repo.main_worktree().commit_all("try", None).await.unwrap().is_some());
        assert!(sandbox.git_out(&["cat-file", "commit", "HEAD"]).contains("gpgsig a signature"));
    }

    #[tokio::test]
    async fn signer_that_waits_is_ended_at_its_limit() {
        let (_sandbox, repo) = signed_by("sleep 1000").await;
        let tried = repo.main_worktree().try_signing(Duration::from_millis(300)).await;
        assert!(matches!(tried, Err(GitError::SigningTimedOut { .. })), "{tried:?}");
    }

    #[tokio::test]
    async fn signer_finds_neither_terminal_nor_screen() {
        let (sandbox, repo) = signed_by(
            "if (: </dev/tty) 2>/dev/null; then echo terminal >&2; exit 1; fi; \
             test -z \"$GPG_TTY$DISPLAY$WAYLAND_DISPLAY\" || exit 1; \
             cat >/dev/null; echo '[GNUPG:] SIG_CREATED ' >&2; echo signature",
        )
        .await;
        let git = repo.git().clone().with_env("GPG_TTY", "/dev/pts/0").with_env("DISPLAY", ":0");
        let repo = Repo::open(&git, &sandbox.path("")).await.unwrap();
        repo.main_worktree().try_signing(LIMIT).await.unwrap();
    }
}

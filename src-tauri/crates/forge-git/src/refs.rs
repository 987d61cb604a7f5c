//! Moving and deleting refs, always by compare and swap.

use crate::command::Kind;
use crate::error::GitError;
use crate::repo::Repo;

impl Repo {
    /// Moves a full ref name from `old` to `new`; an all-zero or empty `old` means that it must not exist yet.
    /// [`GitError::RefMoved`] when it is elsewhere.
    pub async fn update_ref(
        &self,
        name: &str,
        new: &str,
        old: &str,
        reflog_message: &str,
    ) -> Result<(), GitError> {
        let command =
            self.write().args(["update-ref", "--create-reflog", "-m", reflog_message, name, new, old]);
        self.swap(command, name, old).await
    }

    /// Deletes a branch when its tip is the expected one and no worktree has it checked out.
    pub async fn delete_branch(&self, branch: &str, expected_tip: &str) -> Result<(), GitError> {
        let name = format!("refs/heads/{branch}");
        if let Some(user) = self.checkouts_of(branch).await?.into_iter().next() {
            return Err(GitError::BranchCheckedOut { branch: branch.to_owned(), worktree: user.path });
        }
        self.swap(self.write().args(["update-ref", "-d", &name, expected_tip]), &name, expected_tip).await
    }

    /// Deletes a full ref name when it is where it is expected.
    pub async fn delete_ref(&self, name: &str, expected: &str) -> Result<(), GitError> {
        self.swap(self.write().args(["update-ref", "-d", name, expected]), name, expected).await
    }

    /// Whether any worktree has the branch checked out, or is in the middle of rebasing it.
    pub async fn is_checked_out(&self, branch: &str) -> Result<bool, GitError> {
        Ok(!self.checkouts_of(branch).await?.is_empty())
    }

    /// How many commits `tip` has that `base` does not have.
    pub async fn commits_beyond(&self, base: &str, tip: &str) -> Result<u32, GitError> {
        let range = format!("{base}..{tip}");
        let command = self.read().args(["rev-list", "--count", "--end-of-options", &range]);
        let args = command.shown();
        let said = command.text().await?;
        said.parse().map_err(|_| GitError::Unexpected { args, what: format!("{said:?}") })
    }

    /// How many commits `tip` has that none of `others` has; names that lead to no commit count for nothing.
    pub async fn commits_outside(&self, tip: &str, others: &[String]) -> Result<u32, GitError> {
        let mut known = Vec::with_capacity(others.len());
        for other in others {
            if let Some(commit) = self.resolve(other).await? {
                if self.is_ancestor(tip, &commit).await? {
                    return Ok(0);
                }
                known.push(commit);
            }
        }
        known.sort_unstable();
        known.dedup();
        if let ([other], Some(tip)) = (known.as_slice(), self.resolve(tip).await?) {
            let other = other.clone();
            if let Some(count) = self.locally(move |local| local.count_after(&tip, &other)).await {
                return Ok(count);
            }
        }
        let known: Vec<String> = known.into_iter().map(|commit| format!("^{commit}")).collect();
        let command = self.read().args(["rev-list", "--count", "--end-of-options", tip]).args(known);
        let args = command.shown();
        let said = command.text().await?;
        said.parse().map_err(|_| GitError::Unexpected { args, what: format!("{said:?}") })
    }

    async fn swap(
        &self,
        command: crate::command::GitCommand,
        name: &str,
        expected: &str,
    ) -> Result<(), GitError> {
        let args = command.shown();
        let output = command.run().await?;
        if output.exit == Some(0) {
            return Ok(());
        }
        let found = self.ref_value(name).await?;
        let must_not_exist = expected.bytes().all(|b| b == b'0');
        let as_expected = if must_not_exist { found.is_none() } else { found.as_deref() == Some(expected) };
        if as_expected {
            return Err(output.failed(args));
        }
        Err(GitError::RefMoved { name: name.to_owned(), expected: expected.to_owned(), found })
    }

    /// The object a full ref name holds, whatever its type.
    pub(crate) async fn ref_value(&self, name: &str) -> Result<Option<String>, GitError> {
        let wanted = name.to_owned();
        if let Some(known) = self.locally(move |local| local.reference(&wanted)).await {
            return Ok(known);
        }
        let output = self
            .bare(Kind::Read)
            .args(["rev-parse", "-q", "--verify", "--end-of-options", name])
            .run()
            .await?;
        Ok((output.exit == Some(0)).then(|| crate::bytes::line(&output.stdout)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sandbox;

    #[tokio::test]
    async fn refs_move_by_compare_and_swap() {
        let sandbox = Sandbox::new().await;
        let repo = sandbox.repo().await;
        let first = sandbox.head();
        let second = sandbox.commit("second", &[("b", "b")]);
        let zero = "0".repeat(40);
        let name = "refs/heads/topic";
        repo.update_ref(name, &first, &zero, "made").await.unwrap();
        let again = repo.update_ref(name, &first, &zero, "made").await;
        assert!(matches!(again, Err(GitError::RefMoved { found: Some(f), .. }) if f == first));
        repo.update_ref(name, &second, &first, "moved").await.unwrap();
        let stale = repo.update_ref(name, &second, &first, "moved").await;
        assert!(matches!(stale, Err(GitError::RefMoved { found: Some(f), .. }) if f == second));
        let stale = repo.delete_branch("topic", &first).await;
        assert!(matches!(stale, Err(GitError::RefMoved { .. })));
        repo.delete_branch("topic", &second).await.unwrap();
        assert_eq!(repo.resolve(name).await.unwrap(), None);
        let gone = repo.delete_branch("topic", &second).await;
        assert!(matches!(gone, Err(GitError::RefMoved { found: None, .. })));
        let in_use = repo.delete_branch("main", &second).await;
        assert!(matches!(in_use, Err(GitError::BranchCheckedOut { .. })));
    }

    #[tokio::test]
    async fn a_branch_in_use_is_known_also_while_it_is_rebased() {
        let sandbox = Sandbox::new().await;
        let repo = sandbox.repo().await;
        sandbox.git(&["branch", "free"]);
        sandbox.git(&["switch", "-qc", "topic"]);
        sandbox.commit("ours", &[("a", "ours")]);
        sandbox.git(&["switch", "-q", "main"]);
        sandbox.commit("theirs", &[("a", "theirs")]);
        sandbox.git(&["switch", "-q", "topic"]);
        assert!(!sandbox.try_git_at(repo.root(), &["rebase", "-q", "main"]).0);
        assert!(repo.is_checked_out("topic").await.unwrap());
        assert!(!repo.is_checked_out("free").await.unwrap());
        assert!(!repo.is_checked_out("nothing").await.unwrap());
    }
}

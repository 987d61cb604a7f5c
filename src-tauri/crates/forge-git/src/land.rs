//! Moving a branch to a commit that was computed beforehand.
//!
//! Invariants: the branch moves from the expected commit or not at all; where it is checked out, work tree,
//! index and ref move together, by git's own fast-forward, or not at all. Local changes are never stashed,
//! overwritten or thrown away; those in the way are named.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::bytes;
use crate::command::Kind;
use crate::error::{GitError, LockHolder};
use crate::lock::{self, Purpose, turn};
use crate::repo::{Repo, operation_in};
use crate::worktree::WorktreeEntry;

/// What became of a landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landing {
    /// The branch is at the commit.
    Landed,
    /// The branch was not where it was expected; nothing moved.
    Moved {
        /// Where it is, `None` when it is gone.
        now: Option<String>,
    },
    /// A checkout of the branch has local changes in the way, or is in the middle of something; nothing moved.
    CheckoutInTheWay {
        /// The checkout.
        worktree: PathBuf,
        /// The files in the way; empty when it is an unfinished merge or rebase alone.
        files: Vec<String>,
    },
    /// Another program has the checkout's index; nothing moved.
    IndexLocked {
        /// The lock file.
        path: PathBuf,
        /// Who holds it, when that could be found.
        holder: Option<LockHolder>,
    },
}

impl Repo {
    /// Moves `branch` from `expected_before` to `commit`, its descendant. Repeating it is safe.
    ///
    /// Once begun it runs to its end also when nobody waits for it: git must not be stopped between files.
    pub async fn land(
        &self,
        branch: &str,
        commit: &str,
        expected_before: &str,
        reason: &str,
    ) -> Result<Landing, GitError> {
        let repo = self.clone();
        let [branch, commit, before, reason] = [branch, commit, expected_before, reason].map(str::to_owned);
        tokio::spawn(async move { repo.land_to_the_end(&branch, &commit, &before, &reason).await }).await?
    }

    async fn land_to_the_end(
        &self,
        branch: &str,
        commit: &str,
        expected_before: &str,
        reason: &str,
    ) -> Result<Landing, GitError> {
        let _turn = turn(self.common_dir(), Purpose::Landing).await;
        let name = format!("refs/heads/{branch}");
        let users = self.checkouts_of(branch).await?;
        match users.as_slice() {
            [] => match self.update_ref(&name, commit, expected_before, reason).await {
                Ok(()) => Ok(Landing::Landed),
                Err(GitError::RefMoved { found, .. }) => Ok(landed_or_moved(commit, found)),
                Err(error) => Err(error),
            },
            [user] => self.fast_forward(user, &name, commit, expected_before, reason).await,
            // git can move one of them along; the others would show the difference as changes of their own.
            [_, other, ..] => {
                Ok(Landing::CheckoutInTheWay { worktree: other.path.clone(), files: Vec::new() })
            }
        }
    }

    async fn fast_forward(
        &self,
        user: &WorktreeEntry,
        name: &str,
        commit: &str,
        expected_before: &str,
        reason: &str,
    ) -> Result<Landing, GitError> {
        let now = self.ref_value(name).await?;
        if now.as_deref() != Some(expected_before) {
            return Ok(landed_or_moved(commit, now));
        }
        let git_dir = self.git_dir(&user.path).await?;
        if operation_in(&git_dir).is_some() {
            let files = self.tracked_changes(&user.path).await?;
            return Ok(Landing::CheckoutInTheWay { worktree: user.path.clone(), files });
        }
        let merge = self
            .at(&user.path, Kind::User)
            .env("GIT_REFLOG_ACTION", reason)
            .args(["merge", "--ff-only", "--quiet", "--no-stat"])
            // Configuration may ask for a stash around merges, or let ignored files be overwritten. The commit
            // is our own and need not be signed, whatever is asked of other people's.
            .args(["--no-autostash", "--no-overwrite-ignore", "--no-verify-signatures", commit]);
        let args = merge.shown();
        let output = merge.run().await?;
        let now = self.ref_value(name).await?;
        // The ref says what happened: a failing post-merge hook does not undo the merge.
        if now.as_deref() == Some(commit) {
            return Ok(Landing::Landed);
        }
        let lock = git_dir.join("index.lock");
        if lock.exists() {
            return Ok(Landing::IndexLocked { holder: lock::holder(&lock), path: lock });
        }
        if now.as_deref() != Some(expected_before) {
            return Ok(Landing::Moved { now });
        }
        let files = self.in_the_way(&user.path, expected_before, commit).await?;
        if files.is_empty() {
            Err(output.failed(args))
        } else {
            Ok(Landing::CheckoutInTheWay { worktree: user.path.clone(), files })
        }
    }

    /// Local changes, untracked and ignored files at the paths that differ between two commits.
    async fn in_the_way(&self, worktree: &Path, from: &str, to: &str) -> Result<Vec<String>, GitError> {
        let (differing, local) = tokio::try_join!(
            self.read().args(["diff-tree", "-r", "-z", "--no-renames", "--name-status", from, to]).ok(),
            self.raw_status(worktree, true)
        )?;
        let mut records = bytes::records(&differing);
        let mut wanted: HashMap<&Path, &[u8]> = HashMap::new();
        while let (Some(status), Some(path)) = (records.next(), records.next()) {
            wanted.insert(bytes::path(path), status);
        }
        let mut files = Vec::new();
        for change in local {
            // A file where a directory has to be, or the other way round, is in the way too.
            let above = change.path.ancestors().any(|path| wanted.contains_key(path));
            let below = || change.entry.untracked && wanted.keys().any(|path| path.starts_with(&change.path));
            if above || below() {
                files.push(change.entry.path);
            }
        }
        for (path, status) in wanted {
            let shown = path.to_string_lossy();
            if status == b"A"
                && worktree.join(path).symlink_metadata().is_ok()
                && !files.iter().any(|file| *file == shown || file.starts_with(&format!("{shown}/")))
            {
                files.push(shown.into_owned());
            }
        }
        files.sort();
        Ok(files)
    }
}

fn landed_or_moved(commit: &str, now: Option<String>) -> Landing {
    if now.as_deref() == Some(commit) { Landing::Landed } else { Landing::Moved { now } }
}

#[cfg(test)]
mod tests;

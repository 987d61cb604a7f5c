//! Moving a branch to a commit that was computed beforehand.
//!
//! Invariants: the branch moves from the expected commit or not at all; where it is checked out, work tree,
//! index and ref move together, by git's own fast-forward, or not at all. Local changes are never stashed,
//! overwritten or thrown away; those in the way are named.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::bytes;
use crate::command::Kind;
use crate::error::{GitError, LockHolder};
use crate::lock::{self, Purpose, turn};
use crate::repo::{Repo, operation_in};
use crate::scratch::ScratchDir;
use crate::worktree::Worktree;
use crate::worktree_entry::WorktreeEntry;

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
        let checkout = self.worktree_at(&user.path);
        let git_dir = checkout.git_dir().await?;
        if operation_in(&git_dir).is_some() {
            let files = checkout.tracked_changes().await?;
            return Ok(Landing::CheckoutInTheWay { worktree: user.path.clone(), files });
        }
        let staged_before = std::fs::read(git_dir.join("index")).unwrap_or_default();
        let merge = checkout
            .command(Kind::User)
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
        checkout.undo_landing(&git_dir, expected_before, commit, &staged_before).await?;
        let files = checkout.in_the_way(expected_before, commit).await?;
        if files.is_empty() {
            Err(output.failed(args))
        } else {
            Ok(Landing::CheckoutInTheWay { worktree: user.path.clone(), files })
        }
    }

    async fn changed_between(&self, from: &str, to: &str) -> Result<HashSet<PathBuf>, GitError> {
        let differing =
            self.read().args(["diff-tree", "-r", "-z", "--no-renames", "--name-only", from, to]).ok().await?;
        Ok(bytes::records(&differing).map(|path| bytes::path(path).to_owned()).collect())
    }
}

impl Worktree {
    /// Puts a checkout back after git moved its files and index, but not the branch, as when a hook refused that.
    ///
    /// What was staged before, at the very paths that the commit changes, is the user's own: then nothing is
    /// touched. Else git's own two-way merge goes back; it refuses where anything was changed since.
    async fn undo_landing(
        &self,
        git_dir: &Path,
        before: &str,
        commit: &str,
        index_before: &[u8],
    ) -> Result<(), GitError> {
        if std::fs::read(git_dir.join("index")).unwrap_or_default() == index_before {
            return Ok(());
        }
        let changed = self.repo().changed_between(before, commit).await?;
        let staged = self.command(Kind::Read).args(["diff-index", "--cached", "-z", "--name-only"]);
        let unlike_commit = staged.arg(commit).ok().await?;
        if bytes::records(&unlike_commit).any(|path| changed.contains(bytes::path(path))) {
            return Ok(());
        }
        let scratch = ScratchDir::new(self.repo().common_dir())?;
        let copy = scratch.path.join("index");
        std::fs::write(&copy, index_before).map_err(GitError::io("write", &copy))?;
        let staged = self.command(Kind::Read).env("GIT_INDEX_FILE", &copy);
        let staged = staged.args(["diff-index", "--cached", "-z", "--name-only", before]).ok().await?;
        if bytes::records(&staged).any(|path| changed.contains(bytes::path(path))) {
            return Ok(());
        }
        let back = self.command(Kind::User).args(["read-tree", "-m", "-u", commit, before]);
        self.run_in_index(git_dir, back).await.map(drop)
    }

    /// Local changes, untracked and ignored files at the paths that differ between two commits.
    async fn in_the_way(&self, from: &str, to: &str) -> Result<Vec<String>, GitError> {
        let (differing, local) = tokio::try_join!(
            self.repo()
                .read()
                .args(["diff-tree", "-r", "-z", "--no-renames", "--name-status", from, to])
                .ok(),
            self.raw_status(true)
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
                && self.path().join(path).symlink_metadata().is_ok()
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

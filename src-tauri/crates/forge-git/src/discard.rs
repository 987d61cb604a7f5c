//! Undoing what a guest did in a worktree: a reviewer may run and write what it likes, and leaves no trace.
//!
//! Tracked files, index and branch go back to a commit; untracked files that were not there before go. Ignored
//! files stay (dependencies, `.env`). Somebody else may have worked there, too: commits made meanwhile and what is
//! uncommitted are kept under refs, and nobody reaches the worktree between that and its reset.

use std::collections::HashSet;

use crate::command::Kind;
use crate::error::GitError;
use crate::guard::Root;
use crate::repo::Operation;
use crate::status::RawEntry;
use crate::worktree::Worktree;

/// What was undone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Discarded {
    /// Refs that keep commits made meanwhile, and what was uncommitted.
    pub kept: Vec<String>,
    /// Untracked files that were removed.
    pub removed: Vec<String>,
    /// Repositories made inside the worktree, and files that no backup can hold: they are left for a person to judge.
    pub left: Vec<String>,
}

impl Worktree {
    /// Puts the worktree back on `branch` at `commit`, with the untracked files it had before.
    ///
    /// What goes by this is kept under `ref_prefix`: commits that `commit` does not contain, and what was uncommitted.
    pub async fn discard_changes(
        &self,
        branch: &str,
        commit: &str,
        untracked_before: &[String],
        ref_prefix: &str,
    ) -> Result<Discarded, GitError> {
        let name = format!("refs/heads/{branch}");
        let before: HashSet<&str> = untracked_before.iter().map(String::as_str).collect();
        let mut discarded = Discarded::default();
        self.reveal_hidden().await?;
        if !self.has_something_to_discard(&before).await? && self.stands_at(&name, commit).await? {
            return Ok(discarded);
        }
        let withdrawn = self.repo().withdraw_worktree(self.path()).await?;
        let tree = withdrawn.worktree();
        let mut unsaved = Vec::new();
        if tree.has_something_to_discard(&before).await?
            && let Some(backup) = tree.back_up(ref_prefix, "forge: before it was discarded").await?
        {
            discarded.kept.push(backup.ref_name);
            unsaved = backup.skipped;
        }
        let mut tips = vec![tree.head().await?];
        tips.extend(self.repo().ref_value(&name).await?);
        tips.dedup();
        for tip in tips {
            if !self.repo().is_ancestor(&tip, commit).await? {
                discarded.kept.push(self.repo().keep(&tip, ref_prefix).await?);
            }
        }
        tree.end_rebase().await?;
        tree.attach(&name).await?;
        tree.reset_files(commit).await?;
        tree.remove_new_untracked(&before, &unsaved, &mut discarded).await?;
        withdrawn.put_back()?;
        Ok(discarded)
    }

    async fn has_something_to_discard(&self, before: &HashSet<&str>) -> Result<bool, GitError> {
        let goes = |raw: &RawEntry| !raw.entry.untracked || is_new(raw, before);
        Ok(self.raw_status(true).await?.iter().any(goes))
    }

    /// Whether the worktree is on a branch (a full name) that is at a commit, in the middle of nothing.
    async fn stands_at(&self, name: &str, commit: &str) -> Result<bool, GitError> {
        let git_dir = self.git_dir().await?;
        if crate::repo::operation_in(&git_dir).is_some() {
            return Ok(false);
        }
        let attached = self.repo().locally(move |local| local.attached_to(&git_dir)).await.flatten();
        Ok(attached.as_deref() == Some(name)
            && self.repo().ref_value(name).await? == self.repo().resolve(commit).await?)
    }

    /// Gives up a rebase or patches being applied, and leaves HEAD, index and files as they are.
    pub(crate) async fn end_rebase(&self) -> Result<(), GitError> {
        let git_dir = self.git_dir().await?;
        if crate::repo::operation_in(&git_dir) == Some(Operation::Rebase) {
            // Patches being applied are given up by the command of their own.
            let rebase = self.command(Kind::Write).args(["rebase", "--quit"]).run().await?;
            if rebase.exit != Some(0) {
                self.run_in_index(&git_dir, self.command(Kind::Write).args(["am", "--quit"])).await?;
            }
        }
        Ok(())
    }

    /// Has the worktree stand on a branch (a full name), whatever its index and files are.
    pub(crate) async fn attach(&self, name: &str) -> Result<(), GitError> {
        let attach = ["symbolic-ref", "-m", "forge: back to the task's branch", "HEAD", name];
        self.command(Kind::Write).args(attach).ok().await.map(drop)
    }

    /// Brings what the worktree stands on, its index and its tracked files to a commit; ends a merge, cherry-pick or revert.
    pub(crate) async fn reset_files(&self, commit: &str) -> Result<(), GitError> {
        let git_dir = self.git_dir().await?;
        let reset = self.command(Kind::User).args(["reset", "--quiet", "--hard", commit]);
        self.run_in_index(&git_dir, reset).await.map(drop)
    }

    async fn remove_new_untracked(
        &self,
        before: &HashSet<&str>,
        unsaved: &[String],
        discarded: &mut Discarded,
    ) -> Result<(), GitError> {
        let now = self.raw_status(true).await?;
        let new = now.into_iter().filter(|raw| is_new(raw, before));
        let (saved, left): (Vec<_>, Vec<_>) =
            new.partition(|raw| !raw.is_nested_repository() && !unsaved.contains(&raw.entry.path));
        discarded.left.extend(left.into_iter().map(|raw| raw.entry.path));
        let root = self.path().to_owned();
        let removed = tokio::task::spawn_blocking(move || {
            let root = Root::open(&root)?;
            saved
                .into_iter()
                .map(|raw| root.remove(&raw.path).map(|()| raw.entry.path))
                .collect::<Result<Vec<_>, _>>()
        })
        .await??;
        discarded.removed.extend(removed);
        Ok(())
    }
}

/// Whether a file, or a repository, came while the guest was there.
fn is_new(raw: &RawEntry, before: &HashSet<&str>) -> bool {
    raw.entry.untracked && !before.contains(raw.entry.path.as_str())
}

#[cfg(test)]
mod tests;

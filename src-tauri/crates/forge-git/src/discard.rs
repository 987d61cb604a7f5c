//! Undoing what a guest did in a worktree: a reviewer may run and write what it likes, and leaves no trace.
//!
//! Tracked files, index and branch go back to a commit; untracked files that were not there before go. Ignored
//! files stay (dependencies, `.env`). Commits made meanwhile are kept under refs, never lost.

use std::collections::HashSet;
use std::path::Path;

use crate::command::Kind;
use crate::error::GitError;
use crate::guard::Root;
use crate::repo::{Operation, Repo};

/// What was undone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Discarded {
    /// Refs that keep commits made meanwhile.
    pub kept: Vec<String>,
    /// Untracked files that were removed.
    pub removed: Vec<String>,
    /// Repositories made inside the worktree; they are left for a person to judge.
    pub left: Vec<String>,
}

impl Repo {
    /// Puts a worktree back on `branch` at `commit`, with the untracked files it had before.
    ///
    /// Uncommitted changes of tracked files are gone after this: back them up first when they may matter.
    /// Commits that `commit` does not contain are kept under `ref_prefix`.
    pub async fn discard_changes(
        &self,
        worktree: &Path,
        branch: &str,
        commit: &str,
        untracked_before: &[String],
        ref_prefix: &str,
    ) -> Result<Discarded, GitError> {
        let name = format!("refs/heads/{branch}");
        let mut discarded = Discarded::default();
        let mut tips = vec![self.head(worktree).await?];
        tips.extend(self.ref_value(&name).await?);
        tips.dedup();
        for tip in tips {
            if !self.is_ancestor(&tip, commit).await? {
                discarded.kept.push(self.next_number(ref_prefix, &tip).await?);
            }
        }
        let git_dir = self.git_dir(worktree).await?;
        if crate::repo::operation_in(&git_dir) == Some(Operation::Rebase) {
            // Leaves HEAD, index and files as they are; the rest is put back below. Patches being applied are
            // given up by the command of their own.
            let rebase = self.at(worktree, Kind::Write).args(["rebase", "--quit"]).run().await?;
            if rebase.exit != Some(0) {
                self.run_in_index(&git_dir, self.at(worktree, Kind::Write).args(["am", "--quit"])).await?;
            }
        }
        let attach = ["symbolic-ref", "-m", "forge: back to the task's branch", "HEAD", &name];
        self.at(worktree, Kind::Write).args(attach).ok().await?;
        // Also ends a merge, cherry-pick or revert.
        let reset = self.at(worktree, Kind::User).args(["reset", "--quiet", "--hard", commit]);
        self.run_in_index(&git_dir, reset).await?;
        self.remove_new_untracked(worktree, untracked_before, &mut discarded).await?;
        Ok(discarded)
    }

    async fn remove_new_untracked(
        &self,
        worktree: &Path,
        untracked_before: &[String],
        discarded: &mut Discarded,
    ) -> Result<(), GitError> {
        let before: HashSet<&str> = untracked_before.iter().map(String::as_str).collect();
        let now = self.raw_status(worktree, true).await?;
        let (inner, new): (Vec<_>, Vec<_>) = now
            .into_iter()
            .filter(|raw| raw.entry.untracked && !before.contains(raw.entry.path.as_str()))
            .partition(|raw| raw.is_nested_repository());
        discarded.left.extend(inner.into_iter().map(|raw| raw.entry.path));
        let root = worktree.to_owned();
        let removed = tokio::task::spawn_blocking(move || {
            let root = Root::open(&root)?;
            new.into_iter()
                .map(|raw| root.remove(&raw.path).map(|()| raw.entry.path))
                .collect::<Result<Vec<_>, _>>()
        })
        .await??;
        discarded.removed.extend(removed);
        Ok(())
    }
}

#[cfg(test)]
mod tests;

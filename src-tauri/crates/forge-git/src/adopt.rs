//! Giving a worktree another place and a branch of its own.

use std::path::Path;

use crate::command::Kind;
use crate::error::{ForeignReason, GitError};
use crate::lock::{Purpose, turn};
use crate::places::real_path;
use crate::repo::{Repo, operation_in};
use crate::worktree::Worktree;
use crate::worktrees::is_free;

impl Repo {
    /// Moves a worktree of this repository to `to`, on the new branch `branch` at the commit it stands on. Files,
    /// index and what is not committed stay as they are; the branch it had stays too, checked out nowhere by it.
    ///
    /// Refused for one that is not ours to move ([`GitError::NotOurWorktree`]), in the middle of a rebase or the
    /// like, and when something lies at `to`.
    pub async fn adopt_worktree(&self, from: &Path, to: &Path, branch: &str) -> Result<(), GitError> {
        let (from, to) = (real_path(from)?, real_path(to)?);
        let tree = turn(&from, Purpose::Tree).await;
        let list = turn(self.common_dir(), Purpose::Worktrees).await;
        let entry = self.require_ours(&from).await?;
        let busy = self.admin_dir(&from).is_none_or(|admin| operation_in(&admin).is_some());
        let (Some(head), Some(old), false) = (entry.head, entry.branch, busy || entry.locked.is_some())
        else {
            return Err(GitError::NotOurWorktree { path: from, reason: ForeignReason::Busy });
        };
        if !is_free(&to)? {
            return Err(GitError::PathOccupied { path: to });
        }
        if let Some(parent) = to.parent() {
            std::fs::create_dir_all(parent).map_err(GitError::io("create", parent))?;
        }
        let name = format!("refs/heads/{branch}");
        if self.resolve(&name).await?.as_deref() != Some(&head) {
            self.update_ref(&name, &head, "", "forge: adopted").await?;
        }
        let worktree = self.worktree_at(&from);
        worktree.stand_on(&name).await?;
        let move_there = self.write().during(&tree).during(&list).args(["worktree", "move", "--"]);
        if let Err(error) = move_there.arg(&from).arg(&to).ok().await {
            worktree.stand_on(&format!("refs/heads/{old}")).await?;
            self.delete_ref(&name, &head).await?;
            return Err(error);
        }
        Ok(())
    }
}

impl Worktree {
    /// Points `HEAD` at a branch whose commit it is on already.
    async fn stand_on(&self, name: &str) -> Result<(), GitError> {
        let point = self.command(Kind::Write).args(["symbolic-ref", "-m", "forge: adopted", "HEAD", name]);
        point.ok().await.map(drop)
    }
}

#[cfg(test)]
mod tests;

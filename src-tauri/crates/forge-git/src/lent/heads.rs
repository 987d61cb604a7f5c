//! The worktree's branch and its `HEAD`, as programs left them.

use super::LeftOut;
use super::plan::Head;
use super::taking::Taking;
use crate::command::Kind;
use crate::error::GitError;

impl Taking<'_> {
    /// The branch that programs made and that the worktree is on: it becomes one of the repository, unless that has
    /// another of the name.
    pub(super) async fn adopted(&self) -> Result<Option<String>, GitError> {
        let Some(Head::Branch(name)) = &self.plan.head_now else { return Ok(None) };
        if Some(name) == self.plan.own.as_ref() || self.plan.refs_was.get(name).is_some() {
            return Ok(None);
        }
        let tip = self.plan.refs_now.get(name);
        let found = self.worktree.repo().ref_value(name).await?;
        Ok((tip.is_some() && (found.is_none() || found == tip)).then(|| name.clone()))
    }

    /// Moves the worktree's branch; whether the repository's has what programs made of it.
    pub(super) async fn move_branch(&mut self) -> Result<bool, GitError> {
        let Some(change) = self.plan.own_change() else { return Ok(true) };
        let Some(name) = change.valid_name() else { return Ok(true) };
        let Some(now) = &change.now else {
            self.refuse(change);
            return Ok(true);
        };
        let repo = self.worktree.repo();
        let found = repo.ref_value(name).await?;
        if found.as_ref() == Some(now) {
            return Ok(true);
        }
        if found == change.was {
            let old = change.was.as_deref().unwrap_or_default();
            match repo.update_ref(name, now, old, "forge: from a sandbox").await {
                Ok(()) => return Ok(true),
                // No commit, or moved just now.
                Err(GitError::RefMoved { .. } | GitError::Failed { .. }) => {}
                Err(other) => return Err(other),
            }
        } else if let Some(found) = &found
            && repo.is_ancestor(now, found).await?
        {
            return Ok(true);
        }
        self.refuse(change);
        self.repo_keeps(&[(None, now)]).await?;
        Ok(false)
    }

    /// Has the worktree stand where programs left it.
    pub(super) async fn move_head(&mut self, tip: Option<String>) -> Result<(), GitError> {
        let plan = self.plan;
        if plan.head_now == plan.head_was {
            return Ok(());
        }
        let real = Head::read(self.admin)?;
        let Some(now) = &plan.head_now else {
            self.leave_out(LeftOut::Head);
            return Ok(());
        };
        let wanted = self.reachable(now, tip.clone()).await?;
        if wanted.is_some() && real == wanted {
            return Ok(());
        }
        if real != plan.head_was || wanted.is_none() {
            self.leave_out(LeftOut::Head);
            if let Some(tip) = &tip {
                self.repo_keeps(&[(None, tip)]).await?;
            }
            return Ok(());
        }
        let command = self.worktree.command(Kind::Write);
        let message = ["-m", "forge: from a sandbox"];
        let command = match wanted {
            Some(Head::Branch(name)) => command.arg("symbolic-ref").args(message).args(["HEAD", &name]),
            Some(Head::Detached(oid)) => {
                command.args(["update-ref", "--no-deref"]).args(message).args(["HEAD", &oid])
            }
            None => return Ok(()),
        };
        command.ok().await.map(drop)
    }

    /// What the worktree's `HEAD` can be: on a branch only where the repository has it as programs left it, and no other
    /// worktree is on it; else on the commit.
    async fn reachable(&self, now: &Head, tip: Option<String>) -> Result<Option<Head>, GitError> {
        let Head::Branch(name) = now else { return Ok(Some(now.clone())) };
        let repo = self.worktree.repo();
        let short = name.strip_prefix("refs/heads/").unwrap_or(name);
        let found = repo.ref_value(name).await?;
        if Some(name) == self.plan.own.as_ref() {
            return Ok(Some(now.clone()));
        }
        let Some(tip) = tip else {
            // A branch that is to begin.
            return Ok((found.is_none() && self.plan.refs_was.get(name).is_none()).then(|| now.clone()));
        };
        if found.is_none() && self.plan.refs_was.get(name).is_none() {
            match repo.update_ref(name, &tip, "", "forge: from a sandbox").await {
                Ok(()) => return Ok(Some(now.clone())),
                // Another branch is in its way.
                Err(GitError::RefMoved { .. } | GitError::Failed { .. }) => {}
                Err(other) => return Err(other),
            }
        }
        let users = repo.checkouts_of(short).await?;
        let is_free = users.iter().all(|user| crate::places::is_same(&user.path, self.worktree.path()));
        Ok(Some(if found.as_ref() == Some(&tip) && is_free { now.clone() } else { Head::Detached(tip) }))
    }
}

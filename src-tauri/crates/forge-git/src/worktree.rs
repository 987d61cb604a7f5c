//! A worktree of a repository: what it stands on, and commands in it.
//!
//! [`Repo`] answers about objects and refs, and makes, lists, moves and removes worktrees; what reads or changes the files,
//! the index or the `HEAD` of one worktree is a method of [`Worktree`], in the file of its subject.
//!
//! Invariant: the git directory comes from the repository's record; a worktree that is not registered is refused when it
//! is first asked something, not when its handle is made.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::bytes;
use crate::command::{GitCommand, Kind, read_settings};
use crate::error::{ForeignReason, GitError};
use crate::places::is_same;
use crate::repo::{Operation, Repo, operation_in};
use crate::settings::Settings;

/// A worktree of a repository, also the main one. Cheap to clone; nothing is looked up until it is asked something.
#[derive(Debug, Clone)]
pub struct Worktree {
    repo: Repo,
    path: PathBuf,
}

impl Repo {
    /// The worktree at a path.
    pub fn worktree_at(&self, path: impl Into<PathBuf>) -> Worktree {
        Worktree { repo: self.clone(), path: path.into() }
    }

    /// The worktree that the user works in: the one at the repository's top.
    pub fn main_worktree(&self) -> Worktree {
        self.worktree_at(self.root())
    }
}

impl Worktree {
    /// Its repository.
    #[must_use]
    pub fn repo(&self) -> &Repo {
        &self.repo
    }

    /// Its folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The commit it stands on.
    pub async fn head(&self) -> Result<String, GitError> {
        let git_dir = self.git_dir().await?;
        if let Some(known) = self.repo.locally(move |local| local.head(&git_dir)).await {
            return Ok(known);
        }
        let output =
            self.command(Kind::Read).args(["rev-parse", "-q", "--verify", "HEAD^{commit}"]).run().await?;
        if output.exit == Some(0) {
            Ok(bytes::line(&output.stdout))
        } else {
            Err(GitError::NoCommit { path: self.path().to_owned() })
        }
    }

    /// The ref that its `HEAD`, in this git directory, names; `None` when it is detached.
    pub(crate) async fn attached_to(&self, git_dir: &Path) -> Result<Option<String>, GitError> {
        let dir = git_dir.to_owned();
        if let Some(known) = self.repo.locally(move |local| local.attached_to(&dir)).await {
            return Ok(known);
        }
        let asked = self.command(Kind::Read).args(["symbolic-ref", "-q", "HEAD"]).run().await?;
        Ok((asked.exit == Some(0)).then(|| bytes::line(&asked.stdout)))
    }

    /// What it is in the middle of, if anything.
    pub async fn operation(&self) -> Result<Option<Operation>, GitError> {
        Ok(operation_in(&self.git_dir().await?))
    }

    /// Its git directory, by the repository's own record of it: the worktree's `.git` is believed
    /// only where both lead to each other.
    pub(crate) async fn git_dir(&self) -> Result<PathBuf, GitError> {
        let worktree = self.clone();
        let found = tokio::task::spawn_blocking(move || worktree.recorded_git_dir()).await?;
        found.ok_or_else(|| not_registered(self.path()))
    }

    /// The same, for those that may wait for a disk.
    pub(crate) fn recorded_git_dir(&self) -> Option<PathBuf> {
        if self.path() == self.repo.root() {
            return Some(self.repo.common_dir().to_owned());
        }
        self.repo
            .admin_dir(self.path())
            .or_else(|| self.repo.admin_that_leads_to(self.path()))
            .or_else(|| is_same(self.path(), self.repo.root()).then(|| self.repo.common_dir().to_owned()))
    }

    /// A command in it. A worktree that its repository has not registered is refused.
    pub(crate) fn command(&self, kind: Kind) -> GitCommand {
        match self.recorded_git_dir() {
            Some(git_dir) => {
                let location = self.repo.location();
                GitCommand::at(self.repo.git(), location, self.path(), &git_dir, kind)
                    .guarded(self.repo.guard())
            }
            None => GitCommand::new(self.repo.git(), self.path(), kind).refused(not_registered(self.path())),
        }
    }

    /// What git is set to in it.
    pub(crate) async fn settings(&self) -> Result<Arc<Settings>, GitError> {
        let (location, dir) = (Arc::clone(self.repo.location()), self.path().to_owned());
        let known = tokio::task::spawn_blocking(move || location.settings.recall(&dir)).await?;
        if let Some(known) = known {
            return Ok(known);
        }
        let git_dir = self.git_dir().await?;
        let guard = self.repo.guard();
        read_settings(self.repo.git(), guard.as_ref(), self.repo.location(), self.path(), &git_dir).await
    }
}

fn not_registered(worktree: &Path) -> GitError {
    GitError::NotOurWorktree { path: worktree.to_owned(), reason: ForeignReason::NotRegistered }
}

//! What only a worktree's record in the repository holds, and goes with it: the commit that its `HEAD` stands on, those
//! that it stood on and that were amended or reset away, what git put away for an operation that stands still, and what
//! is staged.
//!
//! A `HEAD` may name a branch that has no commit, because the branch was deleted or never began. The worktree's own log
//! of `HEAD` names the commit that it stood on last.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::bytes;
use crate::command::{GitCommand, Kind};
use crate::error::GitError;
use crate::repo::Repo;
use crate::worktree::Worktree;

/// Files of a worktree's record in which git names the commit that holds what it put away (`--autostash`).
const PUT_AWAY: [&str; 3] = ["MERGE_AUTOSTASH", "rebase-merge/autostash", "rebase-apply/autostash"];

/// What a worktree stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Head {
    /// A commit.
    Commit(String),
    /// A branch without a commit; with the commit that the worktree stood on last, where its log tells.
    Unborn(Option<String>),
}

impl Head {
    /// The commit that the work in the worktree follows from.
    pub(crate) fn commit(&self) -> Option<&String> {
        match self {
            Self::Commit(commit) => Some(commit),
            Self::Unborn(last) => last.as_ref(),
        }
    }
}

impl Repo {
    /// One of these commits that no ref leads to, nor another of them.
    async fn newest_unheld(&self, commits: &[String]) -> Result<Option<String>, GitError> {
        if commits.is_empty() {
            return Ok(None);
        }
        let unheld = self
            .bare(Kind::Read)
            .args(["rev-list", "--topo-order", "--ignore-missing", "--stdin", "--not", "--all"])
            .input(commits.join("\n").into_bytes())
            .text()
            .await?;
        Ok(unheld.lines().map(str::to_owned).find(|commit| commits.contains(commit)))
    }

    /// A command with the record of a worktree, whose folder it does not need.
    pub(crate) fn in_record(&self, git_dir: &Path, kind: Kind) -> GitCommand {
        let command = self.bare(kind).env("GIT_DIR", git_dir);
        match git_dir == self.common_dir() {
            true => command,
            false => command.env("GIT_COMMON_DIR", self.common_dir()),
        }
    }

    /// Whether a branch, a tag or a remote's branch holds a commit.
    async fn is_held(&self, commit: &str) -> Result<bool, GitError> {
        let asked = self
            .bare(Kind::Read)
            .args(["for-each-ref", "--count=1", "--format=%(refname)", "--contains", commit])
            .args(["refs/heads", "refs/tags", "refs/remotes"])
            .run()
            .await?;
        Ok(asked.exit == Some(0) && !asked.stdout.is_empty())
    }
}

impl Worktree {
    /// Keeps what only the record of the worktree holds, under the next numbers of a prefix: for one whose folder is
    /// gone or empty, before its record goes. Answers with the refs that keep it.
    ///
    /// # Errors
    /// [`GitError::NotOurWorktree`] without a record, git's errors.
    pub async fn keep_record(&self, ref_prefix: &str) -> Result<Vec<String>, GitError> {
        let mut kept = self.keep_put_away(ref_prefix).await?;
        kept.extend(self.keep_head(ref_prefix).await?);
        kept.extend(self.keep_left_behind(ref_prefix).await?);
        kept.extend(self.keep_staged(ref_prefix).await?);
        Ok(kept)
    }

    /// The same where the repository may have no record of the worktree, or its folder still holds files: nothing is
    /// kept then.
    ///
    /// # Errors
    /// git's errors.
    pub async fn keep_record_of_lost(&self, ref_prefix: &str) -> Result<Vec<String>, GitError> {
        let worktree = self.clone();
        let is_lost = tokio::task::spawn_blocking(move || {
            let dir = worktree.path();
            let has_no_files = dir.symlink_metadata().is_err() || crate::places::holds_nothing(dir);
            has_no_files
                && worktree.recorded_git_dir().is_some_and(|git_dir| git_dir != worktree.repo().common_dir())
        });
        if is_lost.await? { self.keep_record(ref_prefix).await } else { Ok(Vec::new()) }
    }

    /// Keeps the commit that the worktree stands on, or stood on last where its branch has none, unless a branch, a tag or a
    /// remote's branch holds it.
    pub(crate) async fn keep_head(&self, ref_prefix: &str) -> Result<Option<String>, GitError> {
        let git_dir = self.git_dir().await?;
        let head = self.head_or_last().await?;
        if matches!(head, Head::Commit(_)) && self.is_on_branch(&git_dir).await {
            return Ok(None);
        }
        match head.commit() {
            Some(commit) if !self.repo().is_held(commit).await? => {
                self.repo().keep(commit, ref_prefix).await.map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Keeps the commits that the worktree stood on and that no ref holds: an amended commit, one before a reset or a rebase.
    /// The log of its `HEAD` alone leads to them.
    pub(crate) async fn keep_left_behind(&self, ref_prefix: &str) -> Result<Vec<String>, GitError> {
        let git_dir = self.git_dir().await?;
        let mut stood = log_of_head(&git_dir)?;
        if let Some(head) = self.head_or_last().await?.commit().cloned() {
            // Most logs tell of a few commits on top of each other.
            let steps = 2 * stood.len() + 8;
            let below =
                self.repo().locally(move |local| local.newest_below(&head, steps)).await.unwrap_or_default();
            stood.retain(|commit| !below.contains(commit));
        }
        let mut kept = Vec::new();
        while let Some(commit) = self.repo().newest_unheld(&stood).await? {
            kept.push(self.repo().keep(&commit, ref_prefix).await?);
        }
        Ok(kept)
    }

    /// Keeps what git put away for an operation that stands still in the worktree.
    pub(crate) async fn keep_put_away(&self, ref_prefix: &str) -> Result<Vec<String>, GitError> {
        let git_dir = self.git_dir().await?;
        let mut kept = Vec::new();
        for name in PUT_AWAY {
            let named = fs::read_to_string(git_dir.join(name)).unwrap_or_default();
            let named = named.trim_end();
            if is_name(named)
                && let Some(commit) = self.repo().resolve(named).await?
            {
                kept.push(self.repo().keep(&commit, ref_prefix).await?);
            }
        }
        Ok(kept)
    }

    /// What the worktree stands on. Its folder need not be there.
    pub(crate) async fn head_or_last(&self) -> Result<Head, GitError> {
        let git_dir = self.git_dir().await?;
        let dir = git_dir.clone();
        if let Some(known) = self.repo().locally(move |local| local.head(&dir)).await {
            return Ok(Head::Commit(known));
        }
        let asked = self.repo().in_record(&git_dir, Kind::Read);
        let asked = asked.args(["rev-parse", "-q", "--verify", "HEAD^{commit}"]).run().await?;
        if asked.exit == Some(0) {
            return Ok(Head::Commit(bytes::line(&asked.stdout)));
        }
        self.last_in_log(&git_dir).await.map(Head::Unborn)
    }

    /// Has a worktree whose `HEAD` has no commit stand on its branch again. Index and files stay. A branch that is gone
    /// begins where the worktree stood last, else at `base`; a commit that no branch holds is kept under `ref_prefix`.
    /// Whether anything was done.
    ///
    /// # Errors
    /// git's errors.
    pub async fn revive_head(&self, branch: &str, base: &str, ref_prefix: &str) -> Result<bool, GitError> {
        let Head::Unborn(last) = self.head_or_last().await? else { return Ok(false) };
        let name = format!("refs/heads/{branch}");
        if self.repo().ref_value(&name).await?.is_none() {
            let Some(from) = self.repo().resolve(last.as_deref().unwrap_or(base)).await? else {
                return Ok(false);
            };
            self.repo().update_ref(&name, &from, "", "forge: the branch was gone").await?;
        }
        self.keep_head(ref_prefix).await?;
        self.attach(&name).await?;
        if !self.git_dir().await?.join("index").exists() {
            // Nothing would be tracked, and what is ignored besides would be missing from the next commit.
            self.command(Kind::Write).args(["reset", "--quiet", "--mixed"]).ok().await?;
        }
        Ok(true)
    }

    async fn is_on_branch(&self, git_dir: &Path) -> bool {
        let dir = git_dir.to_owned();
        let attached = self.repo().locally(move |local| local.attached_to(&dir)).await.flatten();
        attached.is_some_and(|name| name.starts_with("refs/heads/"))
    }

    /// The last commit that the log of the worktree's `HEAD` names and that is still there.
    async fn last_in_log(&self, git_dir: &Path) -> Result<Option<String>, GitError> {
        for name in log_of_head(git_dir)? {
            if let Some(commit) = self.repo().resolve(&name).await? {
                return Ok(Some(commit));
            }
        }
        Ok(None)
    }
}

/// The commits that the log of a worktree's `HEAD` names, each once, the last first.
fn log_of_head(git_dir: &Path) -> Result<Vec<String>, GitError> {
    let path = git_dir.join("logs/HEAD");
    let log = match fs::read(&path) {
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(Vec::new()),
        other => other.map_err(GitError::io("read", &path))?,
    };
    let (mut known, mut names) = (HashSet::new(), Vec::new());
    for line in log.split(|byte| *byte == b'\n').rev() {
        let line = bytes::text(line);
        let mut fields = line.split(' ');
        let (before, after) = (fields.next(), fields.next());
        for name in [after, before].into_iter().flatten().filter(|name| is_name(name)) {
            if known.insert(name.to_owned()) {
                names.push(name.to_owned());
            }
        }
    }
    Ok(names)
}

/// A full name of an object, other than the one that stands for none.
fn is_name(name: &str) -> bool {
    matches!(name.len(), 40 | 64)
        && name.bytes().all(|byte| byte.is_ascii_hexdigit())
        && name.bytes().any(|byte| byte != b'0')
}

#[cfg(test)]
mod tests;

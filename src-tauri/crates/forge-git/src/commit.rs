//! Committing what an agent left in its worktree, by the user's own git: hooks, filters, LFS and signing apply.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::bytes;
use crate::command::{GitCommand, Kind};
use crate::error::GitError;
use crate::guard::{Entry, Root};
use crate::index::{self, PrivateIndex};
use crate::lock;
use crate::repo::Operation;
use crate::signing;
use crate::status::{RawEntry, Uncommitted};
use crate::worktree::Worktree;

/// Hooks that can refuse a commit.
const REFUSING_HOOKS: [&str; 3] = ["pre-commit", "prepare-commit-msg", "commit-msg"];
/// Files beyond this are not looked through for conflict markers.
const MARKER_CAP: u64 = 32 << 20;
/// Up to so many changes are staged by their paths.
const FEW: usize = 256;

impl Worktree {
    /// Commits everything that is not ignored; `None` when there is nothing to commit.
    ///
    /// `author` is (name, email). What the user's configuration does not say about the identity is filled in
    /// with "Forge <forge@localhost>". [`GitError::CommitRefused`] carries the hooks' output.
    pub async fn commit_all(
        &self,
        message: &str,
        author: Option<(&str, &str)>,
    ) -> Result<Option<String>, GitError> {
        let seen = self.uncommitted().await?;
        self.commit_everything(&seen, message, author, None).await
    }

    /// The same for a caller that looked just now; what is staged and was changed since is kept at the next free number
    /// below `ref_prefix` first, because the commit replaces it in the index.
    pub async fn commit_all_keeping_staged(
        &self,
        seen: &Uncommitted,
        message: &str,
        author: Option<(&str, &str)>,
        ref_prefix: &str,
    ) -> Result<Option<String>, GitError> {
        self.commit_everything(seen, message, author, Some(ref_prefix)).await
    }

    async fn commit_everything(
        &self,
        seen: &Uncommitted,
        message: &str,
        author: Option<(&str, &str)>,
        keep_staged_below: Option<&str>,
    ) -> Result<Option<String>, GitError> {
        let git_dir = self.git_dir().await?;
        // A resolved merge is committed even when its result equals our side: it records the other parent.
        let merging = crate::repo::operation_in(&git_dir) == Some(Operation::Merge);
        let Uncommitted { changes, checked_out } = seen;
        if changes.is_empty() && !merging {
            return Ok(None);
        }
        if let Some(prefix) = keep_staged_below
            && changes.iter().any(|raw| raw.entry.is_staged_and_changed())
        {
            self.keep_staged(prefix).await?;
        }
        // Who commits does not depend on what: both are asked at once.
        let (added, identity) =
            tokio::join!(self.stage_all(&git_dir, None, changes, checked_out), self.identity(author));
        let everything_staged = added?;
        if !everything_staged && !merging {
            let staged = ["diff", "--cached", "--quiet", "--no-ext-diff", "--ignore-submodules=none"];
            if self.command(Kind::Read).args(staged).yes().await? {
                return Ok(None);
            }
        }
        let signs = self.signs().await?;
        if signs {
            self.require_signing().await?;
        }
        let commit = self
            .command(Kind::User)
            .envs(identity?)
            .blind(signs)
            // The configured clean-up could drop lines that start with `#`.
            .args(["commit", "--quiet", "--no-status", "--cleanup=whitespace", "--file=-"])
            .input(message.as_bytes());
        let args = commit.shown();
        let output = match commit.run().await {
            Err(GitError::Timeout { after, .. }) => {
                if signs {
                    self.try_signing(signing::LIMIT).await?;
                }
                return Err(GitError::HooksTimedOut { after });
            }
            other => other?,
        };
        if output.exit != Some(0) {
            let lock = git_dir.join("index.lock");
            if lock.exists() {
                return Err(GitError::IndexLocked { holder: lock::holder(&lock), path: lock });
            }
            if signs {
                // git ends alike when a hook refuses and when the signing program does.
                self.try_signing(signing::LIMIT).await?;
            }
            if self.has_refusing_hook().await? {
                let said = [bytes::text(&output.stdout), bytes::text(&output.stderr)].concat();
                return Err(GitError::CommitRefused { output: said.trim().to_owned() });
            }
            return Err(output.failed(args));
        }
        self.head().await.map(Some)
    }

    /// A commit of everything that is not ignored, on top of its `HEAD`, as [`Self::commit_all`] would make it but
    /// for the hooks; `None` when there is nothing to commit. No ref names it, and the worktree's files and what is staged stay.
    pub async fn snapshot(
        &self,
        message: &str,
        author: Option<(&str, &str)>,
    ) -> Result<Option<String>, GitError> {
        self.reveal_hidden().await?;
        let head = self.head().await?;
        let git_dir = self.git_dir().await?;
        let index = match PrivateIndex::copy_of(self).await? {
            Some(copy) => copy,
            None => PrivateIndex::empty(self.repo().common_dir()),
        };
        let checked_out = self.checked_out_links().await?;
        let changes = self.status_beside(true, &checked_out).await?;
        self.stage_all(&git_dir, Some(&index), &changes, &checked_out).await?;
        let tree = index.with(self.command(Kind::Write)).arg("write-tree").text().await?;
        if tree == self.repo().tree_of(&head).await? {
            return Ok(None);
        }
        self.repo()
            .write()
            .args(["commit-tree", "--no-gpg-sign", "-p", &head, &tree])
            .envs(self.identity(author).await?)
            .input(message.as_bytes())
            .text()
            .await
            .map(Some)
    }

    /// Stages everything that is not ignored, as `git add -A`, but for what lies in other repositories inside the
    /// worktree: git would make links of them, and run commands in them. Of a submodule the commit that it stands on is
    /// staged. Whether that was all of `changes`.
    pub(crate) async fn stage_all(
        &self,
        git_dir: &Path,
        index: Option<&PrivateIndex>,
        changes: &[RawEntry],
        checked_out: &[PathBuf],
    ) -> Result<bool, GitError> {
        let with = |command: GitCommand| match index {
            Some(index) => index.with(command),
            None => command,
        };
        let nested = changes.iter().filter(|raw| raw.is_nested_repository()).map(|raw| raw.path.as_path());
        let left_out: Vec<&Path> = nested.chain(checked_out.iter().map(PathBuf::as_path)).collect();
        if !self.stage_few(git_dir, with(self.command(Kind::User)), changes, &left_out).await? {
            self.stage_whole(git_dir, with(self.command(Kind::User)), &left_out).await?;
        }
        let moved = self.moved_submodules(changes, checked_out).await?;
        if !moved.is_empty() {
            let update = with(self.command(Kind::Write)).args(["update-index", "-z", "--index-info"]);
            self.run_in_index(git_dir, update.input(moved)).await?;
        }
        Ok(left_out.is_empty())
    }

    /// Stages what changed by its paths, so that git need not look at every file again; false where it has to, which is
    /// also so when one of them went meanwhile.
    async fn stage_few(
        &self,
        git_dir: &Path,
        command: GitCommand,
        changes: &[RawEntry],
        left_out: &[&Path],
    ) -> Result<bool, GitError> {
        if changes.is_empty() || changes.len() > FEW {
            return Ok(false);
        }
        let mut paths = Vec::new();
        for change in changes.iter().filter(|change| !left_out.contains(&change.path.as_path())) {
            paths.extend_from_slice(bytes::of(&change.path));
            paths.push(0);
        }
        if paths.is_empty() {
            return Ok(true);
        }
        let add = command
            .env("GIT_LITERAL_PATHSPECS", "1")
            .args(["add", "-A", "--pathspec-from-file=-", "--pathspec-file-nul"])
            .input(paths);
        match self.run_in_index(git_dir, add).await {
            Ok(_) => Ok(true),
            Err(GitError::Failed { .. }) => Ok(false),
            Err(other) => Err(other),
        }
    }

    async fn stage_whole(
        &self,
        git_dir: &Path,
        command: GitCommand,
        left_out: &[&Path],
    ) -> Result<(), GitError> {
        let mut add = command.args(["add", "-A"]);
        if !left_out.is_empty() {
            add = add.args(["--", "."]);
            for path in left_out {
                let mut pattern = std::ffi::OsString::from(":(top,exclude,literal)");
                pattern.push(bytes::path(bytes::of(path).strip_suffix(b"/").unwrap_or(bytes::of(path))));
                add = add.arg(pattern);
            }
        }
        self.run_in_index(git_dir, add).await.map(drop)
    }

    /// Of the given paths, those with a complete set of conflict markers left in them, in order.
    pub async fn conflict_markers(&self, paths: &[String]) -> Result<Vec<String>, GitError> {
        let (root, paths) = (self.path().to_owned(), paths.to_owned());
        tokio::task::spawn_blocking(move || {
            let root = Root::open(&root)?;
            let mut marked = Vec::new();
            for path in paths {
                match root.read(Path::new(&path), MARKER_CAP)? {
                    Some(Entry::File { content, .. }) if has_markers(&content) => marked.push(path),
                    _ => {}
                }
            }
            Ok(marked)
        })
        .await?
    }

    /// Runs a command that locks the worktree's index, and says so when somebody else has it.
    pub(crate) async fn run_in_index(
        &self,
        git_dir: &Path,
        command: GitCommand,
    ) -> Result<Vec<u8>, GitError> {
        let args = command.shown();
        let began = SystemTime::now();
        let output = command.run().await?;
        if output.exit == Some(0) {
            index::date_back(git_dir, began)?;
            return Ok(output.stdout);
        }
        let lock = git_dir.join("index.lock");
        if lock.exists() {
            return Err(GitError::IndexLocked { holder: lock::holder(&lock), path: lock });
        }
        Err(output.failed(args))
    }

    async fn has_refusing_hook(&self) -> Result<bool, GitError> {
        let hooks = self
            .command(Kind::Read)
            .args(["rev-parse", "--path-format=absolute", "--git-path", "hooks"])
            .text()
            .await?;
        Ok(REFUSING_HOOKS.iter().any(|hook| {
            use std::os::unix::fs::PermissionsExt;
            let found = Path::new(&hooks).join(hook).metadata();
            found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        }))
    }
}

/// `<<<<<<<`, `=======`, `>>>>>>>` at line starts, in this order. One alone is often legitimate text (a
/// heading's underline, a quoted mail), the three in order are not.
pub(crate) fn has_markers(content: &[u8]) -> bool {
    let mut wanted = [&b"<<<<<<<"[..], b"=======", b">>>>>>>"].into_iter().peekable();
    for line in content.split(|b| *b == b'\n') {
        let Some(marker) = wanted.peek() else { break };
        let is_marker =
            line.strip_prefix(*marker).is_some_and(|rest| matches!(rest.first(), None | Some(b' ' | b'\r')));
        if is_marker {
            wanted.next();
        }
    }
    wanted.peek().is_none()
}

#[cfg(test)]
mod tests;

//! What changed: the list of files, and the rows of one of them, a page at a time.
//!
//! Lists come from the git program, which compares work trees faster than libgit2; contents are compared in
//! this process. A file of a worktree is compared as git would store it (line endings and filters applied).

mod attributes;
mod content;
mod list;
mod memory;
mod patch;
mod rows;
mod side;
#[cfg(test)]
mod tests;
mod watch;

use std::path::{Path, PathBuf};

use forge_model::diff::{FileChange, FileChangeKind, FileDiff};

use crate::error::GitError;
use crate::repo::Repo;

pub(crate) use memory::ListMemory;
pub use side::FileSide;

/// Between which two states the difference is taken.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DiffScope {
    /// From a commit to the files of a worktree: everything since, committed or not, untracked files included.
    Worktree {
        /// The worktree.
        worktree: PathBuf,
        /// The commit.
        base: String,
    },
    /// From a worktree's last commit to its files.
    Uncommitted {
        /// The worktree.
        worktree: PathBuf,
    },
    /// Between two commits.
    Commits {
        /// Earlier one.
        base: String,
        /// Later one.
        head: String,
    },
}

impl DiffScope {
    fn worktree(&self) -> Option<&Path> {
        match self {
            Self::Worktree { worktree, .. } | Self::Uncommitted { worktree } => Some(worktree),
            Self::Commits { .. } => None,
        }
    }
}

/// How much changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffCounts {
    /// Changed files.
    pub files: u32,
    /// Lines that are new.
    pub added: u32,
    /// Lines that are gone.
    pub removed: u32,
}

/// Which rows of a file's diff are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffPage {
    /// First row; rows are the lines of all hunks, counted from 0.
    pub start_line: u32,
    /// At most this many rows.
    pub limit: u32,
    /// Unchanged lines around a change.
    pub context: u32,
    /// Also when the file is large.
    pub force: bool,
}

impl Default for DiffPage {
    fn default() -> Self {
        Self { start_line: 0, limit: 1000, context: 3, force: false }
    }
}

/// The two commits of a scope, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Ends {
    base: String,
    head: Option<String>,
}

impl Repo {
    async fn ends(&self, scope: &DiffScope) -> Result<Ends, GitError> {
        match scope {
            DiffScope::Worktree { base, .. } => Ok(Ends { base: self.named(base).await?, head: None }),
            DiffScope::Uncommitted { worktree } => Ok(Ends { base: self.head(worktree).await?, head: None }),
            DiffScope::Commits { base, head } => {
                Ok(Ends { base: self.named(base).await?, head: Some(self.named(head).await?) })
            }
        }
    }

    /// A full name needs no asking; git will say when it does not exist.
    async fn named(&self, rev: &str) -> Result<String, GitError> {
        if matches!(rev.len(), 40 | 64) && rev.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Ok(rev.to_owned());
        }
        self.must_resolve(rev).await
    }

    /// One page of the changes in one file; [`GitError::NotInDiff`] when it did not change.
    pub async fn diff_file(
        &self,
        scope: &DiffScope,
        path: &str,
        page: DiffPage,
    ) -> Result<FileDiff, GitError> {
        let ends = self.ends(scope).await?;
        let recalled = self.inner.lists.recall(scope, &ends).and_then(|(list, _)| list.get(path).cloned());
        let mut opened = None;
        if let Some(raw) = recalled.filter(|raw| still_fits(scope, raw)) {
            let pair = self.contents(scope, &ends, &raw, page.force).await?;
            // Changed back meanwhile: git has to say whether anything is left of the change.
            let undone = raw.change.kind == FileChangeKind::Modified
                && raw.change.old_mode == raw.change.new_mode
                && pair.is_same();
            opened = (!undone).then_some((raw, pair));
        }
        let (found, pair) = match opened {
            Some(opened) => opened,
            None => {
                let found = self.find_change(scope, &ends, path).await?;
                let pair = self.contents(scope, &ends, &found, page.force).await?;
                (found, pair)
            }
        };
        let mut change = found.change;
        tokio::task::spawn_blocking(move || {
            pair.describe(&mut change);
            rows::diff(change, &pair, page)
        })
        .await?
    }
}

/// A change with its path.
#[derive(Debug, Clone)]
struct RawChange {
    change: FileChange,
    /// As git has it, for asking again.
    path: PathBuf,
}

/// Whether a remembered change still fits what lies on the disk, as far as its kind goes. Contents are read
/// anew anyway.
fn still_fits(scope: &DiffScope, raw: &RawChange) -> bool {
    let Some(worktree) = scope.worktree() else { return true };
    let type_at = |path: &Path| worktree.join(path).symlink_metadata().ok().map(|found| found.file_type());
    let old_is_back = raw.change.kind == FileChangeKind::Renamed
        && raw.change.old_path.as_ref().is_some_and(|old| type_at(Path::new(old)).is_some());
    let now = type_at(&raw.path);
    let fits = match raw.change.new_mode.as_deref() {
        None => now.is_none(),
        Some("120000") => now.is_some_and(|kind| kind.is_symlink()),
        Some(mode) if mode.starts_with("100") => now.is_some_and(|kind| kind.is_file()),
        // A submodule: only git knows which commit it stands on.
        Some(_) => false,
    };
    fits && !old_is_back
}

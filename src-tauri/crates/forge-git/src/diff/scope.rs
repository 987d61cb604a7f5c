//! Between which states a difference is taken, and how much of it is wanted.

use super::key::ScopeKey;
use crate::command::{GitCommand, Kind};
use crate::repo::Repo;
use crate::worktree::Worktree;

/// Between which two states the difference is taken.
#[derive(Debug, Clone)]
pub enum DiffScope {
    /// From a commit to the files of a worktree: everything since, committed or not, untracked files included.
    Worktree {
        /// The worktree.
        worktree: Worktree,
        /// The commit.
        base: String,
    },
    /// From a worktree's last commit to its files.
    Uncommitted {
        /// The worktree.
        worktree: Worktree,
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
    /// Its worktree; `None` between two commits.
    #[must_use]
    pub fn worktree(&self) -> Option<&Worktree> {
        match self {
            Self::Worktree { worktree, .. } | Self::Uncommitted { worktree } => Some(worktree),
            Self::Commits { .. } => None,
        }
    }

    /// A reading command in its worktree; between two commits, in the main one.
    pub(super) fn read(&self, repo: &Repo) -> GitCommand {
        self.worktree().map_or_else(|| repo.read(), |worktree| worktree.command(Kind::Read))
    }

    pub(super) fn key(&self) -> ScopeKey {
        let (base, head) = match self {
            Self::Worktree { base, .. } => (Some(base), None),
            Self::Uncommitted { .. } => (None, None),
            Self::Commits { base, head } => (Some(base), Some(head)),
        };
        let worktree = self.worktree().map(|worktree| worktree.path().to_owned());
        ScopeKey { worktree, base: base.cloned(), head: head.cloned() }
    }
}

/// Size of the changes.
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

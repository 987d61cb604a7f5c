//! Between which states a difference is taken, and how much of it is wanted.

use std::path::{Path, PathBuf};

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
    pub(super) fn worktree(&self) -> Option<&Path> {
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
pub(super) struct Ends {
    pub(super) base: String,
    pub(super) head: Option<String>,
}

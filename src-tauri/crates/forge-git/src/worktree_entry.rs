//! A worktree that a repository knows.

use std::path::PathBuf;

/// A worktree the repository knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeEntry {
    /// Its directory.
    pub path: PathBuf,
    /// The commit it stands on; `None` of a bare repository or a branch without commits.
    pub head: Option<String>,
    /// The branch it has checked out (short name).
    pub branch: Option<String>,
    /// Its directory is gone.
    pub prunable: bool,
    /// It is the bare repository itself, without files.
    pub bare: bool,
    /// Somebody locked it; the reason may be empty.
    pub locked: Option<String>,
}

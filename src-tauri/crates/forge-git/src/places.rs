//! Where worktrees lie: their real paths, and where their `.git` files lead.

use std::path::{Path, PathBuf};

use crate::bytes;
use crate::error::GitError;

/// The path with links above it resolved; its last part need not exist and is not followed.
pub(crate) fn real_path(path: &Path) -> Result<PathBuf, GitError> {
    let mut missing = Vec::new();
    let mut at = path;
    while let (Some(parent), Some(name)) = (at.parent(), at.file_name()) {
        missing.push(name);
        if let Ok(real) = parent.canonicalize() {
            return Ok(missing.iter().rev().fold(real, |real, name| real.join(name)));
        }
        at = parent;
    }
    path.canonicalize().map_err(GitError::io("find", path))
}

/// Whether two paths are of one place.
pub(crate) fn is_same(a: &Path, b: &Path) -> bool {
    a == b || real_path(a).is_ok_and(|a| real_path(b).is_ok_and(|b| a == b))
}

/// Where a worktree's `.git` file leads.
pub(crate) fn dot_git_target(worktree: &Path) -> Option<PathBuf> {
    let dot_git = worktree.join(".git");
    if !dot_git.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let content = std::fs::read(&dot_git).ok()?;
    let target = content.strip_prefix(b"gitdir: ")?;
    Some(worktree.join(bytes::path(target.strip_suffix(b"\n").unwrap_or(target))))
}

/// Whether a worktree's folder holds no more than its `.git`.
pub(crate) fn holds_nothing(worktree: &Path) -> bool {
    std::fs::read_dir(worktree)
        .is_ok_and(|entries| entries.flatten().all(|entry| entry.file_name() == ".git"))
}

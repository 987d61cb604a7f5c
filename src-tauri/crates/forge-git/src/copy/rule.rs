//! Which files to bring, and how.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Which files to bring, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyRule {
    /// A line as in `.gitignore`, from the top of the repository: `.env`, `config/*.local`, `/vendor/`, `!.env.test`.
    /// The last rule that matches decides. One that could match at any depth is not looked for inside ignored
    /// folders.
    pub pattern: String,
    /// How.
    pub mode: CopyMode,
}

/// How a file comes into the worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyMode {
    /// A file of its own, sharing blocks with the original until changed where the file system can.
    Copy,
    /// The same file under a second name; a copy where that cannot be.
    Hardlink,
    /// A symbolic link to the user's own.
    Symlink,
}

/// A file or folder that a rule wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) path: PathBuf,
    pub(super) mode: CopyMode,
}

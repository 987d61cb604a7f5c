//! What was brought, and what was left out.

use serde::{Deserialize, Serialize};

/// How far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyProgress {
    /// What is being brought.
    pub path: String,
    /// Files made so far.
    pub files: u64,
    /// Their size so far, bytes.
    pub bytes: u64,
}

/// What was brought.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CopyReport {
    /// Files and links made.
    pub files: u64,
    /// Size of the files copied or hard linked, bytes.
    pub bytes: u64,
    /// Files that share blocks with the original until changed.
    pub reflinked: u64,
    /// Files that were copied.
    pub copied: u64,
    /// Second names of the user's files.
    pub hardlinked: u64,
    /// Symbolic links to the user's files and folders.
    pub symlinked: u64,
    /// Symbolic links copied as they are.
    pub links_kept: u64,
    /// Files inside of matched folders that were there already.
    pub already_there: u64,
    /// What was left out.
    pub skipped: Vec<Skipped>,
    /// Links that git would have taken for new files, and that were added to the repository's private ignore list.
    pub hidden: Vec<String>,
}

/// Something that was not brought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Its path, lossily as text.
    pub path: String,
    /// Why not.
    pub why: SkippedWhy,
}

/// Why something was not brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkippedWhy {
    /// The worktree has something there.
    Exists,
    /// git tracks the path in the worktree.
    Tracked,
    /// It is the inside of a repository.
    GitDirectory,
    /// A file is where its folder would be.
    InTheWay,
    /// A socket, pipe or device.
    Special,
    /// It was gone before it could be read.
    Gone,
}

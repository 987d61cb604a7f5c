//! What a list of changes is remembered by.

use std::path::PathBuf;

/// The two commits of a scope, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) base: String,
    pub(super) head: Option<String>,
}

/// What a list is remembered by. It holds no repository: the memory belongs to one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScopeKey {
    pub(super) worktree: Option<PathBuf>,
    pub(super) base: Option<String>,
    pub(super) head: Option<String>,
}

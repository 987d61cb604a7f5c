//! The location of a repository, and what its commands need to know of it.

use std::path::PathBuf;

use crate::settings::SettingsMemory;

/// What is found when a repository is opened.
#[derive(Debug)]
pub(crate) struct Location {
    /// Top of the main work tree; of a bare repository, its directory.
    pub(crate) root: PathBuf,
    /// The git directory that all worktrees share.
    pub(crate) common_dir: PathBuf,
    /// Without files of its own.
    pub(crate) bare: bool,
    /// Where the user's hooks are, when not in the common directory.
    pub(crate) hooks: Option<PathBuf>,
    /// What git is set to in its worktrees.
    pub(crate) settings: SettingsMemory,
}

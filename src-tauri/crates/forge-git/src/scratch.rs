//! Folders for the time of one operation.

use std::path::{Path, PathBuf};

use crate::error::GitError;

/// A directory of our own in the git directory, gone with its value.
#[derive(Debug)]
pub(crate) struct ScratchDir {
    pub(crate) path: PathBuf,
}

impl ScratchDir {
    pub(crate) fn new(common_dir: &Path) -> Result<Self, GitError> {
        let path = common_dir.join(format!("forge-scratch-{}", uuid::Uuid::new_v4().simple()));
        std::fs::create_dir(&path).map_err(GitError::io("create", &path))?;
        Ok(Self { path })
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "scratch directory left behind");
        }
    }
}

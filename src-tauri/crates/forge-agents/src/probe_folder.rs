//! The place in which a program is asked about itself.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use forge_model::environment::Variables;
use uuid::Uuid;

/// Where a program is asked about itself: an environment, and an empty folder that goes with this value. Programs read
/// settings from the folder that they start in and from those above it, so nobody else may write there.
#[derive(Debug)]
pub struct ProbeFolder {
    /// What the program inherits.
    pub variables: Arc<Variables>,
    folder: PathBuf,
}

impl ProbeFolder {
    /// Makes a folder below `parent`, which is made, too.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(variables: Arc<Variables>, parent: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        let folder = parent.join(format!("probe-{}", Uuid::new_v4()));
        DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Self { variables, folder })
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for ProbeFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            tracing::warn!(%error, folder = %self.folder.display(), "failed to remove the folder of a probe");
        }
    }
}

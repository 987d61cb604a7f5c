//! Why a copy cannot be made or restored, and what both do with files.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use forge_model::storage::StorageTrouble;

use crate::{StoreError, trouble};

/// Why a copy cannot be made or restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// There is no copy of this name.
    #[error("Could not find the backup `{0}`: no file of this name is among the backups.")]
    Unknown(String),
    /// The database itself, or the copy, is damaged.
    #[error("Could not use {}: the file is damaged ({detail}).", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What the check found.
        detail: String,
    },
    /// The copy holds no data of Forge.
    #[error("Could not use {}: it has no tables of Forge.", .0.display())]
    Foreign(PathBuf),
    /// SQLite refused.
    #[error("Could not copy the database: {0}.")]
    Store(#[from] StoreError),
    /// The system refused.
    #[error("Could not {what} {}: {source}.", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl BackupError {
    /// What is wrong with the disk or the database, if that is the reason.
    #[must_use]
    pub fn trouble(&self) -> Option<StorageTrouble> {
        match self {
            Self::Store(error) => error.trouble(),
            Self::Io { source, .. } => trouble::of_io(source),
            Self::Damaged { .. } => Some(StorageTrouble::Damaged),
            Self::Unknown(_) | Self::Foreign(_) => None,
        }
    }
}

impl From<sqlx::Error> for BackupError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

pub(super) fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BackupError {
    let path = path.to_owned();
    move |source| BackupError::Io { what, path, source }
}

pub(super) fn remove_if_there(path: &Path) -> Result<(), BackupError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", path)(error)),
        _ => Ok(()),
    }
}

pub(super) fn sync_folder(folder: &Path) -> Result<(), BackupError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("write", folder))
}

//! Index files of our own, so that a worktree's stays untouched.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::command::GitCommand;
use crate::error::GitError;
use crate::worktree::Worktree;

/// An index file that is gone with its value.
#[derive(Debug)]
pub(crate) struct PrivateIndex {
    path: PathBuf,
}

impl PrivateIndex {
    /// A new one.
    pub(crate) fn empty(common_dir: &Path) -> Self {
        Self { path: common_dir.join(format!("forge-index-{}", uuid::Uuid::new_v4().simple())) }
    }

    /// A copy of a worktree's index, `None` when it has none.
    pub(crate) async fn copy_of(worktree: &Worktree) -> Result<Option<Self>, GitError> {
        let own = worktree.git_dir().await?.join("index");
        let copy = Self::empty(worktree.repo().common_dir());
        let copied = fs::copy(&own, &copy.path).and_then(|_| {
            // git trusts a file's recorded time only when it is older than the index: a younger copy would
            // take a file changed right after the original was written for unchanged.
            let time = own.metadata()?.modified()?;
            fs::OpenOptions::new().write(true).open(&copy.path)?.set_modified(time)
        });
        match copied {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(GitError::Io { doing: "copy", path: own, source }),
            Ok(()) => Ok(Some(copy)),
        }
    }

    /// The command, working on this index.
    pub(crate) fn with(&self, command: GitCommand) -> GitCommand {
        command.env("GIT_INDEX_FILE", &self.path)
    }
}

impl Drop for PrivateIndex {
    fn drop(&mut self) {
        for path in [self.path.clone(), self.path.with_extension("lock")] {
            // Not made yet, or gone already.
            let _absent = fs::remove_file(path);
        }
    }
}

/// Dates a worktree's index back to when the command that wrote it began.
///
/// git takes a file for unchanged when its recorded second and size fit and the index is of a later second. Both are true of
/// a file that was written again while it was staged, when that second ended before the index was written.
///
/// # Errors
/// What the file system refuses, but for an index that is gone.
pub(crate) fn date_back(git_dir: &Path, began: SystemTime) -> Result<(), GitError> {
    let path = git_dir.join("index");
    let dated = fs::OpenOptions::new().write(true).open(&path).and_then(|index| {
        match index.metadata()?.modified()? > began {
            true => index.set_modified(began),
            false => Ok(()),
        }
    });
    match dated {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(GitError::io("date", path)),
    }
}

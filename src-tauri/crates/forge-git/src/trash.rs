//! Directories that are gone for everybody but the disk.
//!
//! Deleting a large tree takes long, so it is renamed first: its path is free at once, and the deletion can
//! be done later, in the background, and after a restart.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::GitError;

const PREFIX: &str = ".trash-";

/// A directory set aside to be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the directory stays on the disk until `delete` is called"]
pub struct Trash {
    /// Where it lies now, `None` when there was nothing to set aside.
    path: Option<PathBuf>,
}

impl Trash {
    /// What earlier runs set aside next to a worktree and did not get to delete.
    pub fn left_in(parent: &Path) -> Result<Vec<Trash>, GitError> {
        let entries = match fs::read_dir(parent) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(GitError::io("list", parent))?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(GitError::io("list", parent))?;
            // A link of that name is not ours.
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_dir && entry.file_name().to_string_lossy().starts_with(PREFIX) {
                found.push(Trash { path: Some(entry.path()) });
            }
        }
        Ok(found)
    }

    /// An empty directory in `parent`, for things to be put into.
    pub(crate) fn empty_in(parent: &Path) -> Result<Trash, GitError> {
        let path = parent.join(format!("{PREFIX}{}", uuid::Uuid::new_v4()));
        fs::create_dir(&path).map_err(GitError::io("create", &path))?;
        Ok(Trash { path: Some(path) })
    }

    /// Renames a directory to a sibling; `None` inside when it is not there.
    pub(crate) fn set_aside(path: &Path) -> Result<Trash, GitError> {
        let aside = path.with_file_name(format!("{PREFIX}{}", uuid::Uuid::new_v4()));
        match fs::rename(path, &aside) {
            Ok(()) => Ok(Trash { path: Some(aside) }),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Trash { path: None }),
            Err(source) => Err(GitError::Io { doing: "set aside", path: path.to_owned(), source }),
        }
    }

    /// Puts the directory back, when what followed the renaming did not work out.
    pub(crate) fn put_back(self, path: &Path) -> Result<(), GitError> {
        match &self.path {
            Some(aside) => fs::rename(aside, path).map_err(GitError::io("put back", path)),
            None => Ok(()),
        }
    }

    /// Where the directory lies until it is deleted.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Deletes it, read-only files and directories included.
    pub async fn delete(self) -> Result<(), GitError> {
        let Some(path) = self.path else { return Ok(()) };
        tokio::task::spawn_blocking(move || {
            let removed = match fs::remove_dir_all(&path) {
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                    make_writable(&path).and_then(|()| fs::remove_dir_all(&path))
                }
                other => other,
            };
            match removed {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    Err(GitError::Io { doing: "delete", path, source: e })
                }
                _ => Ok(()),
            }
        })
        .await?
    }
}

/// Lets the owner list and change every directory; files need no permission of their own to be deleted.
pub(crate) fn make_writable(dir: &Path) -> io::Result<()> {
    let mut mode = dir.symlink_metadata()?.permissions();
    mode.set_mode(mode.mode() | 0o700);
    fs::set_permissions(dir, mode)?;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        // The kind of the entry itself: a link is not followed.
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_read_only_tree_goes_and_links_out_of_it_stay() {
        let dir = tempfile::tempdir().unwrap();
        let kept = dir.path().join("kept");
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("file"), "x").unwrap();
        let tree = dir.path().join("tree");
        fs::create_dir_all(tree.join("sub")).unwrap();
        fs::write(tree.join("sub/file"), "x").unwrap();
        std::os::unix::fs::symlink(&kept, tree.join("sub/link")).unwrap();
        for path in [tree.join("sub/file"), tree.join("sub"), tree.clone()] {
            fs::set_permissions(path, PermissionsExt::from_mode(0o500)).unwrap();
        }
        let trash = Trash::set_aside(&tree).unwrap();
        assert!(!tree.exists());
        assert_eq!(Trash::left_in(dir.path()).unwrap(), std::slice::from_ref(&trash));
        make_writable(trash.path().unwrap()).unwrap();
        trash.delete().await.unwrap();
        assert_eq!(Trash::left_in(dir.path()).unwrap(), []);
        assert_eq!(fs::read_to_string(kept.join("file")).unwrap(), "x");
    }

    #[tokio::test]
    async fn nothing_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let trash = Trash::set_aside(&dir.path().join("gone")).unwrap();
        assert_eq!(trash.path(), None);
        trash.delete().await.unwrap();
        assert_eq!(Trash::left_in(&dir.path().join("gone")).unwrap(), []);
    }
}

//! Where a lent git directory lies, how the repository knows of it, and where the worktree's `.git` leads.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::files;
use crate::bytes;
use crate::error::GitError;
use crate::places::dot_git_target;
use crate::repo::Repo;

/// The file in a worktree's record that names the folder its git directory is lent in.
const RECORD: &str = "forge-lent";
/// The file of the snapshot that says that programs may have been in the lent folder.
const HANDED: &str = "handed";

/// The lent folder and those beside it, which programs cannot write.
#[derive(Debug, Clone)]
pub(super) struct Places {
    pub(super) folder: PathBuf,
    /// What was lent.
    pub(super) was: PathBuf,
    /// Either of both while it is made.
    pub(super) making: PathBuf,
    /// Objects and index while they are taken back.
    pub(super) taking: PathBuf,
    /// The lent folder when all was taken back.
    pub(super) gone: PathBuf,
}

impl Places {
    pub(super) fn of(folder: &Path) -> Self {
        let beside = |ending: &str| {
            let mut name = folder.file_name().map(OsString::from).unwrap_or_default();
            name.push(ending);
            folder.with_file_name(name)
        };
        Self {
            folder: folder.to_owned(),
            was: beside(".was"),
            making: beside(".making"),
            taking: beside(".taking"),
            gone: beside(".gone"),
        }
    }

    /// Where the folder is kept for somebody to rescue what is in it.
    pub(super) fn rescue(&self) -> PathBuf {
        let mut name = self.folder.file_name().map(OsString::from).unwrap_or_default();
        name.push(format!(".kept-{}", uuid::Uuid::now_v7().simple()));
        self.folder.with_file_name(name)
    }

    /// Whether programs may have been in the folder.
    pub(super) fn is_handed(&self) -> bool {
        self.was.join(HANDED).symlink_metadata().is_ok() && self.folder.symlink_metadata().is_ok()
    }

    pub(super) fn hand(&self) -> Result<(), GitError> {
        files::replace(&self.was.join(HANDED), b"")
    }

    /// Removes what an attempt that was cut short left, and what is not needed any more.
    pub(super) fn clear(&self) -> Result<(), GitError> {
        for path in [&self.making, &self.taking, &self.gone] {
            remove_folder(path)?;
        }
        Ok(())
    }
}

impl Repo {
    /// The record of a worktree whose `.git` leads to the folder that its git directory is lent in.
    pub(crate) fn admin_of_lent(&self, worktree: &Path) -> Option<PathBuf> {
        let target = dot_git_target(worktree)?;
        let admin = self.admin_that_leads_to(worktree)?;
        let folder = lent_in(&admin)?;
        (folder == target || folder.canonicalize().ok()? == target.canonicalize().ok()?).then_some(admin)
    }
}

/// The folder that the git directory of a worktree with this record is lent in.
pub(super) fn lent_in(admin: &Path) -> Option<PathBuf> {
    let said = fs::read(admin.join(RECORD)).ok()?;
    let said = said.strip_suffix(b"\n").unwrap_or(&said);
    (!said.is_empty()).then(|| bytes::path(said).to_owned())
}

/// Has a worktree's record name the folder.
pub(super) fn record(admin: &Path, folder: &Path) -> Result<(), GitError> {
    files::replace(&admin.join(RECORD), &[bytes::of(folder), b"\n"].concat())
}

/// Removes the folder's name from a worktree's record, when it is there.
pub(super) fn forget(admin: &Path, folder: &Path) -> Result<(), GitError> {
    match lent_in(admin) {
        Some(named) if named == folder => files::remove(&admin.join(RECORD)),
        _ => Ok(()),
    }
}

/// Whether the `.git` of a worktree is a file that leads to a git directory.
pub(super) fn leads_to(worktree: &Path, git_dir: &Path) -> bool {
    let Some(target) = dot_git_target(worktree) else { return false };
    let real = |path: &Path| path.canonicalize().ok();
    target == git_dir || real(&target).is_some_and(|target| real(git_dir) == Some(target))
}

/// Has the `.git` of a worktree lead to a git directory, at no moment nowhere.
pub(super) fn lead(worktree: &Path, git_dir: &Path) -> Result<(), GitError> {
    // Beside the worktree: in it, one that a kill left would be committed.
    let mut name = OsString::from(".");
    name.push(worktree.file_name().unwrap_or_default());
    name.push(".dot-git");
    let fresh = worktree.with_file_name(name);
    fs::write(&fresh, [b"gitdir: ", bytes::of(git_dir), b"\n"].concat())
        .map_err(GitError::io("write", &fresh))?;
    let dot_git = worktree.join(".git");
    fs::rename(&fresh, &dot_git).map_err(GitError::io("replace", dot_git))
}

/// Removes a folder that programs may have filled, read-only ones in it included; nothing there is fine.
pub(super) fn remove_folder(path: &Path) -> Result<(), GitError> {
    let removed = match fs::remove_dir_all(path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            crate::trash::make_writable(path).and_then(|()| fs::remove_dir_all(path))
        }
        other => other,
    };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(GitError::io("delete", path)(error)),
        _ => Ok(()),
    }
}

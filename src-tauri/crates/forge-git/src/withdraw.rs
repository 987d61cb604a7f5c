//! Worktrees that are about to lose files: renamed first, so that nobody reaches them by their path, and only then looked
//! through for what has to be kept. What is written while Forge looks would be lost otherwise.
//!
//! Invariant: a worktree that was withdrawn and neither pooled nor removed is back at its path when the [`Withdrawn`] is
//! dropped, and after a kill when [`return_withdrawn`] was called for its folder.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::bytes;
use crate::error::GitError;
use crate::lock::{Purpose, Turn, turn};
use crate::places::{dot_git_target, holds_nothing, real_path};
use crate::repo::Repo;
use crate::worktree::Worktree;
use crate::worktree_entry::WorktreeEntry;

const PREFIX: &str = ".withdrawn-";

/// A worktree that nobody reaches by its path. Dropped, it is put back.
#[derive(Debug)]
pub struct Withdrawn {
    repo: Repo,
    path: PathBuf,
    /// Where it lies; `None` when there was no directory, and once it is pooled or removed.
    pub(crate) aside: Option<PathBuf>,
    pub(crate) admin: Option<PathBuf>,
    pub(crate) entry: WorktreeEntry,
    _tree: Turn,
}

impl Withdrawn {
    /// The worktree, where it lies now.
    #[must_use]
    pub fn worktree(&self) -> Worktree {
        self.repo.worktree_at(self.path())
    }

    pub(crate) fn path(&self) -> &Path {
        self.aside.as_deref().unwrap_or(&self.path)
    }

    /// Puts it back at its path.
    ///
    /// # Errors
    /// [`GitError::PathOccupied`], and what the file system refuses. It stays where it is then, for [`return_withdrawn`].
    pub fn put_back(mut self) -> Result<(), GitError> {
        self.aside.take().map_or(Ok(()), |aside| put_back(&aside, &self.path))
    }

    /// Whether there is nothing in it to be kept.
    #[must_use]
    pub fn holds_nothing(&self) -> bool {
        holds_nothing(self.path())
    }
}

impl Drop for Withdrawn {
    fn drop(&mut self) {
        let Some(aside) = self.aside.take() else { return };
        if let Err(error) = put_back(&aside, &self.path) {
            tracing::error!(path = %self.path.display(), aside = %aside.display(), %error, "failed to put a worktree back; the next start tries again");
        }
    }
}

impl Repo {
    /// Renames a worktree of this repository, before it is looked through for the last time.
    ///
    /// # Errors
    /// [`GitError::NotOurWorktree`], and what the file system refuses. The worktree stays where it was then.
    pub async fn withdraw_worktree(&self, path: &Path) -> Result<Withdrawn, GitError> {
        let path = real_path(path)?;
        let tree = turn(&path, Purpose::Tree).await;
        let _list = turn(self.common_dir(), Purpose::Worktrees).await;
        let entry = match self.plainly_ours(&path).await {
            Some(entry) => entry,
            None => self.require_ours(&path).await?,
        };
        let admin = self.admin_dir(&path);
        let mut withdrawn = Withdrawn { repo: self.clone(), path, aside: None, admin, entry, _tree: tree };
        let Some(admin) = &withdrawn.admin else { return Ok(withdrawn) };
        let aside = aside_of(&withdrawn.path);
        if aside.symlink_metadata().is_ok() {
            return Err(GitError::PathOccupied { path: aside });
        }
        fs::rename(&withdrawn.path, &aside).map_err(GitError::io("set aside", &withdrawn.path))?;
        let admin = admin.clone();
        withdrawn.aside = Some(aside.clone());
        lead_back(&admin, &aside)?;
        Ok(withdrawn)
    }

    /// The entry of a worktree that this repository has registered and nobody locked; none where git has to say.
    async fn plainly_ours(&self, path: &Path) -> Option<WorktreeEntry> {
        let admin = self.admin_dir(path)?;
        let path = path.to_owned();
        self.locally(move |local| {
            if admin.join("locked").symlink_metadata().is_ok() {
                return None;
            }
            let attached = local.attached_to(&admin)?;
            let branch = attached.and_then(|name| name.strip_prefix("refs/heads/").map(str::to_owned));
            let head = Some(local.head(&admin)?);
            Some(WorktreeEntry { path, head, branch, prunable: false, bare: false, locked: None })
        })
        .await
    }
}

/// Puts back what a kill left withdrawn in a folder, and answers with the worktrees that are back.
///
/// # Errors
/// What the file system refuses.
pub fn return_withdrawn(folder: &Path) -> Result<Vec<PathBuf>, GitError> {
    let entries = match fs::read_dir(folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(GitError::io("list", folder))?,
    };
    let mut back = Vec::new();
    for entry in entries {
        let entry = entry.map_err(GitError::io("list", folder))?;
        let name = entry.file_name();
        let Some(name) = bytes::of(Path::new(&name)).strip_prefix(PREFIX.as_bytes()).map(bytes::path) else {
            continue;
        };
        // A link of that name is not ours.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let path = folder.join(name);
            put_back(&entry.path(), &path)?;
            back.push(path);
        }
    }
    Ok(back)
}

fn aside_of(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(PREFIX);
    name.push(path.file_name().unwrap_or_default());
    path.with_file_name(name)
}

fn put_back(aside: &Path, path: &Path) -> Result<(), GitError> {
    if path.symlink_metadata().is_ok() {
        return Err(GitError::PathOccupied { path: path.to_owned() });
    }
    fs::rename(aside, path).map_err(GitError::io("put back", path))?;
    match dot_git_target(path) {
        // Without the repository, which may have been moved away, there is nothing that leads here.
        Some(admin) if admin.is_dir() => lead_back(&admin, path),
        _ => Ok(()),
    }
}

/// Has an administrative directory name the place of its worktree, at no moment none.
pub(crate) fn lead_back(admin: &Path, worktree: &Path) -> Result<(), GitError> {
    let (back, fresh) = (admin.join("gitdir"), admin.join("gitdir.forge"));
    let line = [bytes::of(&worktree.join(".git")), b"\n"].concat();
    fs::write(&fresh, line).map_err(GitError::io("write", &fresh))?;
    fs::rename(&fresh, &back).map_err(GitError::io("replace", &back))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sandbox;
    use crate::worktrees::NewWorktree;

    async fn worktree(sandbox: &Sandbox) -> (Repo, PathBuf) {
        let (repo, path) = (sandbox.repo().await, sandbox.dir().join("task/tree"));
        let spec = NewWorktree { path: path.clone(), branch: "work".into(), base: "main".into() };
        repo.create_worktree(&spec).await.unwrap();
        fs::write(path.join("new"), "written before\n").unwrap();
        (repo, path)
    }

    #[tokio::test]
    async fn nobody_reaches_it_by_its_path_and_what_it_holds_can_be_kept() {
        let sandbox = Sandbox::new().await;
        let (repo, path) = worktree(&sandbox).await;
        let withdrawn = repo.withdraw_worktree(&path).await.unwrap();
        assert!(fs::write(path.join("late"), "nobody would keep it").is_err());
        let backup = withdrawn.worktree().back_up("refs/kept", "m").await.unwrap().unwrap();
        repo.remove_worktree(withdrawn).await.unwrap().delete().await.unwrap();
        let kept = repo.read().args(["show", &format!("{}:new", backup.ref_name)]);
        assert_eq!(kept.text().await.unwrap(), "written before");
        assert_eq!(repo.worktrees().await.unwrap().len(), 1);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn one_that_is_given_up_is_back_as_it_was() {
        let sandbox = Sandbox::new().await;
        let (repo, path) = worktree(&sandbox).await;
        drop(repo.withdraw_worktree(&path).await.unwrap());
        let status = repo.worktree_at(&path).status().await.unwrap();
        assert_eq!(status.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(), ["new"]);
        assert_eq!(repo.worktrees().await.unwrap()[1].path, path.canonicalize().unwrap());
    }

    #[tokio::test]
    async fn one_that_a_kill_left_is_put_back_whether_its_record_was_written_or_not() {
        for is_recorded in [true, false] {
            let sandbox = Sandbox::new().await;
            let (repo, path) = worktree(&sandbox).await;
            let folder = path.parent().unwrap();
            if is_recorded {
                std::mem::forget(repo.withdraw_worktree(&path).await.unwrap());
            } else {
                fs::rename(&path, aside_of(&path)).unwrap();
            }
            assert!(!path.exists());
            assert_eq!(return_withdrawn(folder).unwrap(), std::slice::from_ref(&path));
            assert_eq!(repo.worktree_at(&path).status().await.unwrap().len(), 1, "recorded: {is_recorded}");
            assert_eq!(return_withdrawn(folder).unwrap(), Vec::<PathBuf>::new());
        }
    }

    #[tokio::test]
    async fn what_took_its_place_is_left_alone() {
        let sandbox = Sandbox::new().await;
        let (repo, path) = worktree(&sandbox).await;
        std::mem::forget(repo.withdraw_worktree(&path).await.unwrap());
        fs::create_dir(&path).unwrap();
        let refused = return_withdrawn(path.parent().unwrap());
        assert!(matches!(refused, Err(GitError::PathOccupied { .. })), "{refused:?}");
        assert!(aside_of(&path).join("new").exists());
    }
}

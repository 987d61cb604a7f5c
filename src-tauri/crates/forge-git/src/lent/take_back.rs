//! Taking back what programs did in a lent git directory.
//!
//! In this order, so that each step finds what it needs and a repetition finds what is done: objects, refs that keep what
//! is not put in its place, the log of `HEAD`, the worktree's branch, `HEAD`, the index, the unfinished operation, the
//! worktree's `.git`, and at last the folder. A step is done where the repository is as it was when it was lent; where it
//! is as programs left it already, the step was done by a try that was cut short.

use std::fs;
use std::path::{Path, PathBuf};

use super::places::{self, Places};
use super::plan::Plan;
use super::taking::{Step, Stopped, Taking};
use super::{LeftOut, TakenBack, lfs};
use crate::error::GitError;
use crate::lock::{Purpose, turn};
use crate::places::real_path;
use crate::worktree::Worktree;

impl Worktree {
    /// Takes back what programs did in the git directory that was lent in `folder`. The `.git` of the worktree leads to
    /// the repository again, and the folder is gone. What is not put in its place is kept under
    /// `refs/forge/sandbox/<task_key>/`. The programs have ended.
    ///
    /// Nothing to do where nothing is lent. Repeating it, also after being cut short, leads to the same end. A `.git` that
    /// programs replaced stays for `rewrite_dot_git`.
    ///
    /// # Errors
    /// [`GitError::LentDamaged`] when the commits of the worktree's branch or `HEAD` are not whole: the repository is as it
    /// was, the `.git` leads to it, and the lent directory is kept where the error says. git's and the file system's
    /// errors; it can be repeated after them.
    pub async fn take_back(&self, folder: &Path, task_key: &str) -> Result<TakenBack, GitError> {
        self.take_back_until(folder, task_key, Step::All).await
    }

    pub(super) async fn take_back_until(
        &self,
        folder: &Path,
        task_key: &str,
        last: Step,
    ) -> Result<TakenBack, GitError> {
        let _turn = turn(&real_path(self.path())?, Purpose::Tree).await;
        let (worktree, places) = (self.clone(), Places::of(&real_path(folder)?));
        let read = tokio::task::spawn_blocking(move || {
            if !places.is_handed() {
                return worktree.clear_lent(&places).map(|()| None);
            }
            Plan::read(&places).map(|plan| Some((places, plan)))
        });
        let Some((places, plan)) = read.await?? else { return Ok(TakenBack::default()) };
        let admin = self.git_dir().await?;
        let mut taking = Taking {
            worktree: self,
            places: &places,
            admin: &admin,
            task_key,
            back: TakenBack { was_lent: true, ..TakenBack::default() },
            plan: &plan,
            last,
        };
        let done = if plan.is_unchanged() { Ok(()) } else { Box::pin(taking.take()).await };
        let mut back = taking.back;
        let damaged = match done {
            Ok(()) => None,
            Err(Stopped::Early) => return Ok(back),
            Err(Stopped::Failed(error)) => return Err(error),
            Err(Stopped::Damaged(reason)) => Some(reason),
        };
        if last < Step::DotGit {
            return Ok(back);
        }
        if !self.take_modules(&places.folder, &admin).await? {
            back.left_out.push(LeftOut::Submodules);
        }
        let is_kept = damaged.is_some() || !back.left_out.is_empty();
        let worktree = self.clone();
        back.rescue =
            tokio::task::spawn_blocking(move || worktree.finish(&places, &admin, is_kept, last)).await??;
        match (damaged, &back.rescue) {
            (Some(reason), Some(kept)) => {
                let (worktree, kept) = (self.path().to_owned(), kept.clone());
                Err(GitError::LentDamaged { worktree, kept, reason })
            }
            _ => Ok(back),
        }
    }

    /// Has `.git` lead to the repository, and puts the folder away; where it is kept.
    fn finish(
        &self,
        places: &Places,
        admin: &Path,
        is_kept: bool,
        last: Step,
    ) -> Result<Option<PathBuf>, GitError> {
        lfs::take_back(&places.folder, self.repo().common_dir())?;
        let is_missing = self.path().is_dir() && self.path().join(".git").symlink_metadata().is_err();
        if is_missing || places::leads_to(self.path(), &places.folder) {
            places::lead(self.path(), admin)?;
        }
        if last < Step::Folder {
            return Ok(None);
        }
        let rescue = is_kept.then(|| places.rescue());
        let target = rescue.as_ref().unwrap_or(&places.gone);
        if rescue.is_none() {
            places::remove_folder(&places.gone)?;
        }
        fs::rename(&places.folder, target).map_err(GitError::io("set aside", &places.folder))?;
        if last == Step::All {
            self.clear_lent(places)?;
        }
        Ok(rescue)
    }

    /// Removes what is left of a lending: of one that was taken back, or that no program was in.
    fn clear_lent(&self, places: &Places) -> Result<(), GitError> {
        if let Some(admin) = self.recorded_git_dir() {
            if places::leads_to(self.path(), &places.folder) {
                places::lead(self.path(), &admin)?;
            }
            places::forget(&admin, &places.folder)?;
        }
        if places.was.symlink_metadata().is_ok() {
            places::remove_folder(&places.folder)?;
            places::remove_folder(&places.was)?;
        }
        places.clear()
    }
}

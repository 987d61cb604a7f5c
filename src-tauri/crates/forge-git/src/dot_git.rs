//! A worktree's own `.git` file: written again when somebody removed, changed or replaced it.
//!
//! The repository keeps a record of each worktree beside it; that record, not the file, says what belongs together.
//! Whatever lies in the file's place is kept, since it may be a repository with commits of its own. When the record is
//! gone too, as after `git worktree prune`, a new one is made on the worktree's branch; the files stay as they are. One that
//! leads to the folder that the record names as lent (`lent`) is in order.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::bytes;
use crate::command::Kind;
use crate::error::GitError;
use crate::lock::{Purpose, turn};
use crate::places::{dot_git_target, is_same, real_path};
use crate::repo::Repo;
use crate::worktree::Worktree;

/// What was done about a worktree's `.git`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewritten {
    /// Where the thing that lay there is kept; `None` when nothing did.
    pub kept: Option<PathBuf>,
    /// Whether the repository did not know the worktree any more.
    pub registered_anew: bool,
}

impl Worktree {
    /// Makes its `.git` lead to this repository; `None` when it does. `branch` is the worktree's own, for the
    /// case that the repository forgot it; what lay there is moved into the folder `aside`.
    ///
    /// Repeating it, also after being cut short, leads to the same end.
    pub async fn rewrite_dot_git(&self, branch: &str, aside: &Path) -> Result<Option<Rewritten>, GitError> {
        let worktree = self.clone();
        let leads_here = tokio::task::spawn_blocking(move || {
            let dir = worktree.path();
            !dir.is_dir() || is_same(dir, worktree.repo().root()) || worktree.leads_to_its_record()
        });
        if leads_here.await? {
            return Ok(None);
        }
        let _turn = turn(self.repo().common_dir(), Purpose::Worktrees).await;
        let (aside, head) = (aside.to_owned(), format!("ref: refs/heads/{branch}\n"));
        let real = self.repo().worktree_at(real_path(self.path())?);
        let done = tokio::task::spawn_blocking(move || real.write_dot_git(&head, &aside)).await??;
        let (rewritten, admin) = done;
        let knows_branch = self.repo().resolve(&format!("refs/heads/{branch}")).await?.is_some();
        if knows_branch && !admin.join("index").exists() {
            // Of what is staged nothing is known any more; the files stay.
            self.command(Kind::Write).args(["reset", "--quiet", "--mixed"]).ok().await?;
        }
        Ok(Some(rewritten))
    }

    /// Also while it leads to the folder that the git directory is lent in.
    fn leads_to_its_record(&self) -> bool {
        self.repo()
            .admin_dir(self.path())
            .or_else(|| self.repo().admin_of_lent(self.path()))
            .is_some_and(|admin| admin.join("HEAD").exists() && admin.join("commondir").exists())
    }

    fn write_dot_git(&self, head: &str, aside: &Path) -> Result<(Rewritten, PathBuf), GitError> {
        let dot_git = self.path().join(".git");
        let recorded = self.repo().admin_that_leads_to(self.path()).or_else(|| self.named_by());
        let registered_anew = recorded.is_none();
        let admin = match recorded {
            Some(admin) => admin,
            None => self.repo().new_admin()?,
        };
        let write = |name: &str, content: &[u8]| {
            let path = admin.join(name);
            fs::write(&path, content).map_err(GitError::io("write", path))
        };
        if !admin.join("HEAD").exists() {
            write("HEAD", head.as_bytes())?;
        }
        write("commondir", b"../..\n")?;
        write("gitdir", &[bytes::of(&dot_git), b"\n"].concat())?;
        let line = [b"gitdir: ", bytes::of(&admin), b"\n"].concat();
        let is_file = dot_git.symlink_metadata().is_ok_and(|found| found.is_file());
        let kept = if is_file && fs::read(&dot_git).is_ok_and(|content| content == line) {
            None
        } else {
            let kept = set_aside(&dot_git, aside)?;
            fs::write(&dot_git, line).map_err(GitError::io("write", &dot_git))?;
            kept
        };
        Ok((Rewritten { kept, registered_anew }, admin))
    }

    /// The record that the file still names, when that one leads to no other worktree.
    fn named_by(&self) -> Option<PathBuf> {
        let admin = dot_git_target(self.path())?.canonicalize().ok()?;
        let ours = self.repo().common_dir().join("worktrees").canonicalize().ok()?;
        let back = fs::read(admin.join("gitdir")).unwrap_or_default();
        let back = admin.join(bytes::path(back.strip_suffix(b"\n").unwrap_or(&back)));
        (admin.parent() == Some(&ours) && !back.is_file()).then_some(admin)
    }
}

impl Repo {
    fn new_admin(&self) -> Result<PathBuf, GitError> {
        let folder = self.common_dir().join("worktrees");
        let admin = folder.join(format!("forge-{}", uuid::Uuid::new_v4().simple()));
        self.create_within(&folder)?;
        fs::create_dir(&admin).map_err(GitError::io("create", &admin))?;
        Ok(admin)
    }
}

/// Moves what lies at a path into a folder under a name of its own, or beside the worktree where the folder is on
/// another disk. Where it is then; `None` when nothing lay there.
pub(crate) fn set_aside(path: &Path, folder: &Path) -> Result<Option<PathBuf>, GitError> {
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    fs::create_dir_all(folder).map_err(GitError::io("create", folder))?;
    let name = format!("git-{}", uuid::Uuid::now_v7().simple());
    let kept = folder.join(&name);
    match fs::rename(path, &kept) {
        Ok(()) => Ok(Some(kept)),
        Err(e) if e.kind() == ErrorKind::CrossesDevices => {
            let worktree = path.parent().unwrap_or(path);
            let beside = worktree.with_file_name(&name);
            fs::rename(path, &beside).map_err(GitError::io("keep", path))?;
            Ok(Some(beside))
        }
        Err(source) => Err(GitError::Io { doing: "keep", path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests;

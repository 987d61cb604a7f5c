//! Git directories of submodules that programs added or filled while the worktree was lent.
//!
//! They come into the worktree's own git directory, where git would have made them. Each names its part of the worktree,
//! and that part names it; both are set anew. What their configuration says otherwise is nobody's to trust (`nested`).

use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use super::files;
use crate::bytes;
use crate::command::Kind;
use crate::error::GitError;
use crate::places::dot_git_target;
use crate::worktree::Worktree;

const NAME: &str = "modules";
const CONFIG_CAP: u64 = 1 << 20;
const DEEPEST: usize = 12;

/// A submodule whose git directory came over.
struct Module {
    git_dir: PathBuf,
    folder: PathBuf,
}

impl Worktree {
    /// Brings the git directories of submodules; whether all are there. They stay in the lent directory where the worktree
    /// has some of its own, or on another disk.
    pub(super) async fn take_modules(&self, lent: &Path, admin: &Path) -> Result<bool, GitError> {
        let (worktree, lent, to) = (self.path().to_owned(), lent.join(NAME), admin.join(NAME));
        let found = tokio::task::spawn_blocking(move || {
            let is_folder = lent.symlink_metadata().is_ok_and(|found| found.is_dir());
            if is_folder && fs::remove_dir(&lent).is_err() {
                match fs::rename(&lent, &to) {
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(_) => return Ok(None),
                    Ok(()) => {}
                }
            }
            let mut modules = Vec::new();
            if let Some(folder) = files::top(&to)? {
                drop(folder);
                find(&to, &lent, &worktree, DEEPEST, &mut modules)?;
            }
            Ok::<_, GitError>(Some(modules))
        });
        let Some(modules) = found.await?? else { return Ok(false) };
        for module in modules {
            self.repo()
                .bare(Kind::Write)
                .args(["config", "--file"])
                .arg(module.git_dir.join("config"))
                .arg("core.worktree")
                .arg(&module.folder)
                .ok()
                .await?;
            let dot_git = module.folder.join(".git");
            let line = [b"gitdir: ", bytes::of(&module.git_dir), b"\n"].concat();
            fs::write(&dot_git, line).map_err(GitError::io("write", dot_git))?;
        }
        Ok(true)
    }
}

/// Finds the git directories below `dir`, which was `was`, whose folder of the worktree still names the earlier place.
fn find(
    dir: &Path,
    was: &Path,
    worktree: &Path,
    depth: usize,
    found: &mut Vec<Module>,
) -> Result<(), GitError> {
    let Some(open) = files::top(dir)? else { return Ok(()) };
    let io = |error| GitError::io("read", dir)(error);
    let is_git_dir = ["HEAD", "config", "objects"].iter().all(|name| open.symlink_metadata(name).is_ok());
    if is_git_dir && let Some(config) = files::read(&open, "config", CONFIG_CAP).map_err(io)? {
        let said = crate::config_file::parse(&config).unwrap_or_default();
        let named = said.iter().rev().find(|(name, _)| name == "core.worktree").map(|(_, value)| value);
        if let Some(named) = named {
            let folder = plain(&was.join(named));
            let leads_there = dot_git_target(&folder).is_some_and(|target| plain(&target) == was);
            let is_inside = folder != worktree
                && folder.starts_with(worktree)
                && folder.canonicalize().is_ok_and(|real| real == folder);
            if leads_there && is_inside {
                found.push(Module { git_dir: dir.to_owned(), folder });
            }
        }
    }
    if depth == 0 {
        return Ok(());
    }
    for name in files::names(&open).map_err(io)? {
        // Names of submodules may have several parts; those inside a submodule lie in a folder of one name.
        if !is_git_dir || name == NAME {
            find(&dir.join(&name), &was.join(&name), worktree, depth - 1, found)?;
        }
    }
    Ok(())
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

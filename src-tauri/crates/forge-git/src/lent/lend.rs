//! Making a lent git directory.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use forge_transfer::quote::alternates;

use super::config::{self, Format};
use super::places::{self, Places};
use super::refs::Refs;
use super::state::State;
use super::{DirectReason, Lending, files, index};
use crate::bytes;
use crate::error::{ForeignReason, GitError};
use crate::lock::{Purpose, turn};
use crate::places::real_path;
use crate::worktree::Worktree;

/// Files of the repository that say what is tracked, and which history there is.
const SHARED: [&str; 4] = ["info/exclude", "info/attributes", "info/grafts", "shallow"];
/// How deep git follows object stores that borrow from others.
const DEEPEST_ALTERNATE: usize = 5;
const SMALL: u64 = 16 << 20;

impl Worktree {
    /// Makes the `.git` of the worktree lead to `folder`, a git directory that holds what its own one does, writable by
    /// programs. When it is lent there already, nothing is changed. Only `folder` may be writable by programs, and nothing
    /// beside it.
    ///
    /// Repeating it, also after being cut short, leads to the same end.
    ///
    /// # Errors
    /// [`GitError::NotOurWorktree`] for the main worktree, one that is not registered, one whose `.git` leads elsewhere
    /// (`rewrite_dot_git` puts that right), and one that is lent in another folder; what the file system refuses.
    pub async fn lend(&self, folder: &Path) -> Result<Lending, GitError> {
        let _turn = turn(&real_path(self.path())?, Purpose::Tree).await;
        let admin = self.git_dir().await?;
        if admin == self.repo().common_dir() {
            return Err(refusal(self, ForeignReason::MainWorktree));
        }
        let included = self.included_by_folder().await?;
        let (worktree, places) = (self.clone(), Places::of(&real_path(folder)?));
        tokio::task::spawn_blocking(move || worktree.lend_now(&places, &admin, &included)).await?
    }

    fn lend_now(&self, places: &Places, admin: &Path, included: &[PathBuf]) -> Result<Lending, GitError> {
        let common = self.repo().common_dir();
        let named = places::lent_in(admin);
        if named.as_ref().is_some_and(|named| *named != places.folder && Places::of(named).is_handed()) {
            return Err(refusal(self, ForeignReason::Lent));
        }
        let leads_to_folder = places::leads_to(self.path(), &places.folder);
        if !leads_to_folder && !places::leads_to(self.path(), admin) {
            return Err(refusal(self, ForeignReason::ForeignDotGit));
        }
        if !places.is_handed() {
            let format = Format::read(common)?;
            if let Some(reason) = self.must_be_direct(admin, &format)? {
                return Ok(Lending::Direct { writable: direct(common, admin), reason });
            }
            // Programs were in none of what lies there.
            places.clear()?;
            places::remove_folder(&places.folder)?;
            places::remove_folder(&places.was)?;
            if let Some(parent) = places.folder.parent() {
                fs::create_dir_all(parent).map_err(GitError::io("create", parent))?;
            }
            self.make(places, admin, &format, included)?;
        }
        places::record(admin, &places.folder)?;
        places.hand()?;
        if !leads_to_folder {
            places::lead(self.path(), &places.folder)?;
        }
        let mut readable = vec![common.to_owned()];
        add_alternates(&common.join("objects"), DEEPEST_ALTERNATE, &mut readable);
        Ok(Lending::Lent { writable: vec![places.folder.clone()], readable })
    }

    fn must_be_direct(&self, admin: &Path, format: &Format) -> Result<Option<DirectReason>, GitError> {
        let is_reftable = format.get("refstorage").is_some_and(|kind| !kind.eq_ignore_ascii_case("files"))
            || self.repo().common_dir().join("reftable").exists();
        let modules = admin.join("modules");
        let has_modules = match fs::read_dir(&modules) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => false,
            other => other.map_err(GitError::io("list", &modules))?.next().is_some(),
        };
        Ok(match (is_reftable, has_modules) {
            (true, _) => Some(DirectReason::Reftable),
            (false, true) => Some(DirectReason::Submodules),
            (false, false) => None,
        })
    }

    /// Makes the snapshot and the folder; each is complete when it comes to its place.
    fn make(
        &self,
        places: &Places,
        admin: &Path,
        format: &Format,
        included: &[PathBuf],
    ) -> Result<(), GitError> {
        let common = self.repo().common_dir();
        let refs = Refs::to_lend(Refs::read(common)?, Refs::read(admin)?);
        let state = State::read(admin)?;
        for target in [&places.was, &places.folder] {
            let making = &places.making;
            fs::create_dir(making).map_err(GitError::io("create", making))?;
            let head = small(admin, "HEAD")?.unwrap_or_default();
            write(&making.join("HEAD"), &head)?;
            index::copy(admin, making)?;
            refs.write(making)?;
            state.write(making)?;
            if target == &places.folder {
                self.complete(making, admin, format, included)?;
            }
            fs::rename(making, target).map_err(GitError::io("create", target))?;
        }
        Ok(())
    }

    /// Adds what makes a folder a repository.
    fn complete(
        &self,
        making: &Path,
        admin: &Path,
        format: &Format,
        included: &[PathBuf],
    ) -> Result<(), GitError> {
        let common = self.repo().common_dir();
        index::copy_shared(admin, making)?;
        for folder in ["objects", "objects/info", "objects/pack"].map(|folder| making.join(folder)) {
            fs::create_dir(&folder).map_err(GitError::io("create", folder))?;
        }
        write(&making.join("objects/info/alternates"), &alternates(&[common.join("objects")]))?;
        let sets_hooks = self.repo().hooks_elsewhere().is_some();
        let config = config::of(common, self.path(), format, included, sets_hooks);
        write(&making.join("config"), &config)?;
        for (from, name) in SHARED.map(|name| (common, name)).into_iter().chain([(admin, "config.worktree")])
        {
            if let Some(content) = small(from, name)? {
                write(&making.join(name), &content)?;
            }
        }
        Ok(())
    }
}

/// What programs have to write for a commit in the worktree's own git directory.
fn direct(common: &Path, admin: &Path) -> Vec<PathBuf> {
    let shared = ["objects", "refs", "logs", "reftable"].map(|name| common.join(name));
    let mut writable = vec![admin.to_owned()];
    writable.extend(shared.into_iter().filter(|path| path.is_dir()));
    writable
}

fn refusal(worktree: &Worktree, reason: ForeignReason) -> GitError {
    GitError::NotOurWorktree { path: worktree.path().to_owned(), reason }
}

/// A file of a git directory; `None` when there is none.
fn small(git_dir: &Path, name: &str) -> Result<Option<Vec<u8>>, GitError> {
    let path = git_dir.join(name);
    let (Some(parent), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Ok(None);
    };
    let Some(dir) = files::top(parent)? else { return Ok(None) };
    files::read(&dir, name, SMALL).map_err(GitError::io("read", &path))
}

fn write(path: &Path, content: &[u8]) -> Result<(), GitError> {
    fs::write(path, content).map_err(GitError::io("write", path))
}

/// Adds the object stores that one borrows from, as git finds them.
fn add_alternates(objects: &Path, depth: usize, known: &mut Vec<PathBuf>) {
    let Ok(list) = fs::read(objects.join("info/alternates")) else { return };
    for line in list.split(|byte| *byte == b'\n') {
        if line.is_empty() || line[0] == b'#' {
            continue;
        }
        let Ok(store) = objects.join(bytes::path(line)).canonicalize() else { continue };
        if !known.contains(&store) {
            known.push(store.clone());
            if depth > 0 {
                add_alternates(&store, depth - 1, known);
            }
        }
    }
}

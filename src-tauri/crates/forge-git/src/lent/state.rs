//! The unfinished operation of a worktree (a merge, rebase, cherry-pick, revert, bisection) and its sparse checkout, as
//! files.
//!
//! Only names that git itself gives are looked at, and of those only regular files of a bounded size. What an operation
//! would run when it is continued is looked at where that is done (`sequencer`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use forge_transfer::names::{STATE_FILES as FILES, STATE_FOLDERS as FOLDERS, is_plain};

use super::files;
use crate::bytes;
use crate::error::GitError;

/// Limits that no operation of a person reaches.
const FILE_CAP: u64 = 16 << 20;
const TOTAL_CAP: u64 = 256 << 20;
const MOST_FILES: usize = 20_000;

/// The files of an operation with their contents, by their paths in the git directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct State {
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// Folders of the operation, also empty ones.
    folders: BTreeSet<&'static str>,
    /// Something that git does not write has one of the names.
    pub(super) is_odd: bool,
}

impl State {
    /// Reads it from a git directory, or from one that programs filled.
    pub(super) fn read(git_dir: &Path) -> Result<Self, GitError> {
        let mut state = Self::default();
        let Some(top) = files::top(git_dir)? else { return Ok(state) };
        let io = GitError::io("read", git_dir);
        let mut total = 0;
        let info = files::folder(&top, "info");
        let mut read = || -> std::io::Result<()> {
            for path in FILES {
                let (dir, name) = match path.split_once('/') {
                    Some((_, name)) => (info.as_ref(), name),
                    None => (Some(&top), path),
                };
                let Some(dir) = dir else { continue };
                if dir.symlink_metadata(name).is_ok() {
                    state.add(path.into(), files::read(dir, name, FILE_CAP)?, &mut total);
                }
            }
            for name in FOLDERS {
                if top.symlink_metadata(name).is_err() {
                    continue;
                }
                let Some(folder) = files::folder(&top, name) else {
                    state.is_odd = true;
                    continue;
                };
                state.folders.insert(name);
                for file in files::names(&folder)? {
                    match file.to_str().filter(|file| is_plain(file)) {
                        Some(file) => {
                            let content = files::read(&folder, file, FILE_CAP)?;
                            state.add(Path::new(name).join(file), content, &mut total);
                        }
                        None => state.is_odd = true,
                    }
                }
            }
            Ok(())
        };
        read().map_err(io)?;
        Ok(state)
    }

    fn add(&mut self, path: PathBuf, content: Option<Vec<u8>>, total: &mut u64) {
        let Some(content) = content else {
            self.is_odd = true;
            return;
        };
        *total += content.len() as u64;
        if *total > TOTAL_CAP || self.files.len() >= MOST_FILES {
            self.is_odd = true;
        } else {
            self.files.insert(path, content);
        }
    }

    /// Writes it into a git directory that has none.
    pub(super) fn write(&self, git_dir: &Path) -> Result<(), GitError> {
        for folder in self.folders.iter().copied().chain(["info"]) {
            make(&git_dir.join(folder))?;
        }
        for (path, content) in &self.files {
            let path = git_dir.join(path);
            fs::write(&path, content).map_err(GitError::io("write", path))?;
        }
        Ok(())
    }

    /// Brings a git directory from `was` to this, file by file. Whether it did: nothing is changed where a file is neither
    /// as it was nor as it shall be, because then the repository's own was changed.
    pub(super) fn apply(&self, was: &Self, git_dir: &Path) -> Result<bool, GitError> {
        let now = Self::read(git_dir)?;
        let paths: BTreeSet<&PathBuf> =
            [&self.files, &was.files, &now.files].into_iter().flat_map(BTreeMap::keys).collect();
        let changed: Vec<&PathBuf> =
            paths.into_iter().filter(|path| self.files.get(*path) != was.files.get(*path)).collect();
        let is_known = |path: &PathBuf| {
            let found = now.files.get(path);
            found == was.files.get(path) || found == self.files.get(path)
        };
        if now.is_odd || !changed.iter().all(|path| is_known(path)) {
            return Ok(false);
        }
        for folder in &self.folders {
            make(&git_dir.join(folder))?;
        }
        for path in changed {
            let at = git_dir.join(path);
            match self.files.get(path) {
                Some(content) => {
                    if path.parent().is_some_and(|parent| parent == Path::new("info")) {
                        make(&git_dir.join("info"))?;
                    }
                    files::replace(&at, content)?;
                }
                None => files::remove(&at)?,
            }
        }
        for folder in was.folders.difference(&self.folders) {
            // One with a file of the repository's own stays.
            let _kept = fs::remove_dir(git_dir.join(folder));
        }
        Ok(true)
    }

    /// The branch that is being rebased, by its full name.
    pub(super) fn rebased_branch(&self) -> Option<String> {
        let named = |folder| self.files.get(&Path::new(folder).join("head-name"));
        let name = named("rebase-merge").or_else(|| named("rebase-apply"))?;
        let name = bytes::line(name);
        name.starts_with("refs/heads/").then_some(name)
    }

    /// Every full name of an object that the files hold.
    pub(super) fn oids(&self) -> Vec<String> {
        let mut oids = Vec::new();
        for (path, content) in &self.files {
            if path == Path::new("FETCH_HEAD") {
                continue;
            }
            let text = bytes::text(content);
            let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| files::is_oid(word));
            oids.extend(words.map(str::to_owned));
        }
        oids.sort_unstable();
        oids.dedup();
        oids
    }
}

fn make(folder: &Path) -> Result<(), GitError> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(GitError::io("create", folder)(error))
        }
        _ => Ok(()),
    }
}

//! The small files of a git directory that travel: `HEAD`, loose refs, logs, and the unfinished operation.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use rustix::fs::FileType;
use serde::{Deserialize, Serialize};

use crate::{
    Fault,
    names::{self, LOCKS, OTHER_FILES, STATE_FILES, STATE_FOLDERS, is_known, is_oid, is_plain, is_ref},
    safe::Folder,
};

/// Limits that no git directory of a person reaches. What is beyond them is left out.
const FILE_CAP: u64 = 16 << 20;
const TOTAL_CAP: usize = 256 << 20;
const MOST_FILES: usize = 250_000;
const DEEPEST: usize = 32;
/// What would have the git directory lead elsewhere or run programs. A lent directory has none of it at first.
const FOREIGN: [&str; 5] = ["commondir", "config.worktree", "gitdir", "hooks", "worktrees"];

/// The files by their paths in the git directory, and which folders of an operation there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) files: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(crate) folders: BTreeSet<String>,
}

impl State {
    /// Reads them from a git directory.
    pub(crate) fn read(git_dir: &Folder) -> io::Result<Self> {
        let mut state = Self::default();
        let mut total = 0;
        for path in STATE_FILES.into_iter().chain(OTHER_FILES) {
            if let Some(content) = read_at(git_dir, path.as_bytes())? {
                state.add(path.as_bytes().to_vec(), content, &mut total);
            }
        }
        for name in STATE_FOLDERS {
            let Some(folder) = git_dir.folder(name.as_bytes())? else { continue };
            state.folders.insert(name.to_owned());
            for entry in folder.entries()? {
                let is_of_git = std::str::from_utf8(&entry.name).is_ok_and(is_plain);
                if is_of_git && let Some(content) = folder.read(&entry.name, FILE_CAP)? {
                    state.add([name.as_bytes(), b"/", &entry.name].concat(), content, &mut total);
                }
            }
        }
        if let Some(refs) = git_dir.folder(b"refs")? {
            state.add_refs(&refs, b"refs", DEEPEST, &mut total)?;
        }
        Ok(state)
    }

    fn add_refs(
        &mut self,
        folder: &Folder,
        prefix: &[u8],
        depth: usize,
        total: &mut usize,
    ) -> io::Result<()> {
        for entry in folder.entries()? {
            let path = [prefix, b"/", &entry.name].concat();
            if !is_ref(&path) {
                continue;
            }
            if entry.kind == FileType::Directory {
                if depth > 0
                    && let Some(below) = folder.folder(&entry.name)?
                {
                    self.add_refs(&below, &path, depth - 1, total)?;
                }
            } else if let Some(content) = folder.read(&entry.name, 4096)? {
                self.add(path, content, total);
            }
        }
        Ok(())
    }

    fn add(&mut self, path: Vec<u8>, content: Vec<u8>, total: &mut usize) {
        *total += content.len();
        if *total <= TOTAL_CAP && self.files.len() < MOST_FILES {
            self.files.insert(path, content);
        }
    }

    /// Every full name of an object in the files and in a list of packed refs.
    pub(crate) fn oids(&self, packed: &[u8]) -> Vec<String> {
        let files = self.files.iter().filter(|(path, _)| path.as_slice() != b"FETCH_HEAD");
        let mut oids: Vec<String> = Vec::new();
        let mut known = BTreeSet::new();
        for content in files.map(|(_, content)| content.as_slice()).chain([packed]) {
            for word in content.split(|byte| !byte.is_ascii_alphanumeric()) {
                if let Some(word) = std::str::from_utf8(word).ok().filter(|word| is_oid(word))
                    && known.insert(word.to_owned())
                {
                    oids.push(word.to_owned());
                }
            }
        }
        oids
    }

    /// What came is not trusted.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        let odd = self.files.keys().find(|path| !is_known(path));
        match odd {
            Some(path) => {
                Err(Fault::damaged(format!("`{}` is no file of a git directory", path.escape_ascii())))
            }
            None if self.folders.iter().all(|name| STATE_FOLDERS.contains(&name.as_str())) => Ok(()),
            None => Err(Fault::damaged("a folder has an unknown name")),
        }
    }

    /// Has a git directory hold these files, and no others of these kinds.
    pub(crate) fn apply(&self, git_dir: &Folder) -> io::Result<()> {
        for name in LOCKS.into_iter().chain(FOREIGN) {
            git_dir.remove(name.as_bytes())?;
        }
        for path in STATE_FILES.into_iter().chain(OTHER_FILES) {
            if !self.files.contains_key(path.as_bytes()) && path != "HEAD" {
                remove_at(git_dir, path.as_bytes())?;
            }
        }
        for name in STATE_FOLDERS {
            if !self.folders.contains(name) {
                git_dir.remove(name.as_bytes())?;
                continue;
            }
            let folder = git_dir.make_folder(name.as_bytes())?;
            for entry in folder.entries()? {
                if !self.files.contains_key(&[name.as_bytes(), b"/", &entry.name].concat()) {
                    folder.remove(&entry.name)?;
                }
            }
        }
        for top in ["refs", "logs"] {
            let folder = git_dir.make_folder(top.as_bytes())?;
            self.clear(&folder, top.as_bytes(), DEEPEST)?;
        }
        git_dir.make_folder(b"info")?;
        for part in [b"heads", &b"tags"[..]] {
            git_dir.make_folder(b"refs")?.make_folder(part)?;
        }
        // HEAD last: with it the directory is a repository.
        let (head, rest): (Vec<_>, Vec<_>) =
            self.files.iter().partition(|(path, _)| path.as_slice() == b"HEAD");
        for (path, content) in rest.into_iter().chain(head) {
            git_dir.put(path, content)?;
        }
        Ok(())
    }

    /// Removes files below a folder that are none of these, and folders that are empty then.
    fn clear(&self, folder: &Folder, prefix: &[u8], depth: usize) -> io::Result<()> {
        for entry in folder.entries()? {
            let path = [prefix, b"/", &entry.name].concat();
            if entry.kind == FileType::Directory
                && depth > 0
                && let Some(below) = folder.folder(&entry.name)?
            {
                self.clear(&below, &path, depth - 1)?;
                folder.remove_empty(&entry.name);
            } else if !self.files.contains_key(&path) {
                folder.remove(&entry.name)?;
            }
        }
        Ok(())
    }
}

/// The packed refs and indexes of a git directory, by name.
pub(crate) fn large_names(git_dir: &Folder) -> io::Result<Vec<String>> {
    let mut large = Vec::new();
    for entry in git_dir.entries()? {
        let name = std::str::from_utf8(&entry.name).unwrap_or_default();
        if entry.kind == FileType::RegularFile
            && (matches!(name, "index" | "packed-refs") || names::is_shared_index(name))
        {
            large.push(name.to_owned());
        }
    }
    Ok(large)
}

fn read_at(git_dir: &Folder, path: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let mut parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    let name = parts.pop().unwrap_or_default();
    let mut below = None;
    for part in parts {
        match below.as_ref().unwrap_or(git_dir).folder(part)? {
            Some(folder) => below = Some(folder),
            None => return Ok(None),
        }
    }
    below.as_ref().unwrap_or(git_dir).read(name, FILE_CAP)
}

fn remove_at(git_dir: &Folder, path: &[u8]) -> io::Result<()> {
    let mut parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    let name = parts.pop().unwrap_or_default();
    let mut below = None;
    for part in parts {
        match below.as_ref().unwrap_or(git_dir).folder(part)? {
            Some(folder) => below = Some(folder),
            None => return Ok(()),
        }
    }
    below.as_ref().unwrap_or(git_dir).remove(name)
}

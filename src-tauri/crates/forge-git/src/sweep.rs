//! Takes out of a worktree what its index does not know.
//!
//! Directories are gone through by handle and links are never followed, so that nothing outside of the worktree is
//! touched whatever lies in it. What goes is renamed into one directory to be deleted later: a tree of dependencies
//! goes as fast as a single file.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirEntry};

use crate::bytes;
use crate::error::GitError;
use crate::guard::open_folder;
use crate::index_paths::{Marks, Paths};
use crate::trash::Trash;

/// What an index knows.
#[derive(Debug, Default)]
pub(crate) struct Tracked {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    marks: Marks,
    path: Vec<u8>,
}

impl Tracked {
    /// From an index that was read here.
    pub(crate) fn from_paths(paths: &Paths) -> Tracked {
        let entries =
            paths.iter().map(|listed| Entry { marks: listed.marks, path: listed.path.to_vec() }).collect();
        Tracked { entries }
    }

    /// From `ls-files -z -v --stage`: `H 100644 <name> 0<tab>path`, with small letters for files that git was told to take
    /// for unchanged, and an S for those that it was told not to look for.
    pub(crate) fn parse(output: &[u8]) -> Result<Tracked, String> {
        let parse = |record: &[u8]| {
            let tab = record.iter().position(|b| *b == b'\t')?;
            let (header, path) = (&record[..tab], &record[tab + 1..]);
            let (tag, mode) = (*header.first()?, header.get(2..8)?);
            let marks = Marks {
                submodule: mode == b"160000",
                assumed: tag.is_ascii_lowercase(),
                skipped: tag.eq_ignore_ascii_case(&b'S'),
            };
            Some(Entry { marks, path: path.to_vec() })
        };
        let entries = bytes::records(output)
            .map(|record| parse(record).ok_or_else(|| format!("{:?}", bytes::text(record))))
            .collect::<Result<_, _>>()?;
        Ok(Tracked { entries })
    }

    /// Paths, each with a NUL after it, of what git was told to take for unchanged.
    pub(crate) fn assumed(&self) -> Vec<u8> {
        self.list(|marks| marks.assumed)
    }

    /// Paths, each with a NUL after it, of what git was told not to look for.
    pub(crate) fn skipped(&self) -> Vec<u8> {
        self.list(|marks| marks.skipped)
    }

    fn list(&self, wanted: impl Fn(Marks) -> bool) -> Vec<u8> {
        let mut list = Vec::new();
        for entry in self.entries.iter().filter(|entry| wanted(entry.marks)) {
            list.extend_from_slice(&entry.path);
            list.push(0);
        }
        list
    }

    /// What may be there, and the directories it is in; the root is the empty path.
    fn known(&self) -> Known<'_> {
        let mut known = Known::default();
        known.dirs.insert(&[][..]);
        for entry in self.entries.iter().filter(|entry| !entry.marks.skipped) {
            if entry.marks.submodule {
                known.submodules.insert(&entry.path);
            } else {
                known.files.insert(&entry.path);
            }
            let mut path = entry.path.as_slice();
            while let Some(slash) = path.iter().rposition(|b| *b == b'/') {
                path = &path[..slash];
                if !known.dirs.insert(path) {
                    break;
                }
            }
        }
        known
    }
}

#[derive(Default)]
struct Known<'a> {
    files: HashSet<&'a [u8]>,
    submodules: HashSet<&'a [u8]>,
    dirs: HashSet<&'a [u8]>,
}

/// Leaves tracked files alone and nothing else: ignored ones, repositories, and what fills submodules go.
/// What went, put aside in `aside`.
pub(crate) fn all_but_tracked(root: &Path, tracked: &Tracked, aside: &Path) -> Result<Trash, GitError> {
    let sweep = Sweep::new(root, aside)?;
    let known = tracked.known();
    sweep.untracked(&sweep.root()?, &[], &known)?;
    Ok(sweep.trash)
}

/// Takes out what belongs to repositories of the earlier task inside this one: what fills submodules (their own
/// part of the repository is gone), `.git` beside tracked files, and files where a sparse checkout has none.
pub(crate) fn foreign_repositories(root: &Path, tracked: &Tracked, aside: &Path) -> Result<Trash, GitError> {
    let sweep = Sweep::new(root, aside)?;
    let top = sweep.root()?;
    let known = tracked.known();
    for path in &known.submodules {
        if let Some((dir, name)) = sweep.parent(&top, path)?
            && dir.symlink_metadata(name).is_ok_and(|found| found.is_dir())
        {
            sweep.empty(&sweep.io(open_folder(&dir, name))?)?;
        }
    }
    let dot_gits = known.dirs.iter().filter(|dir| !dir.is_empty()).map(|dir| joined(dir, OsStr::new(".git")));
    let skipped = tracked.entries.iter().filter(|entry| entry.marks.skipped).map(|entry| entry.path.clone());
    for path in dot_gits.chain(skipped) {
        if let Some((dir, name)) = sweep.parent(&top, &path)?
            && dir.symlink_metadata(name).is_ok()
        {
            sweep.evict(&dir, name)?;
        }
    }
    Ok(sweep.trash)
}

fn joined(dir: &[u8], name: &OsStr) -> Vec<u8> {
    if dir.is_empty() {
        return name.as_bytes().to_vec();
    }
    [dir, b"/", name.as_bytes()].concat()
}

struct Sweep<'a> {
    root: &'a Path,
    trash: Trash,
    into: Dir,
    count: std::cell::Cell<u64>,
}

impl<'a> Sweep<'a> {
    fn new(root: &'a Path, aside: &Path) -> Result<Self, GitError> {
        let trash = Trash::empty_in(aside)?;
        let into = match trash.path() {
            Some(path) => Dir::open_ambient_dir(path, ambient_authority()),
            None => Err(io::ErrorKind::NotFound.into()),
        };
        let into = into.map_err(GitError::io("open", aside))?;
        Ok(Self { root, trash, into, count: std::cell::Cell::new(0) })
    }

    fn io<T>(&self, done: io::Result<T>) -> Result<T, GitError> {
        done.map_err(GitError::io("clean", self.root))
    }

    fn root(&self) -> Result<Dir, GitError> {
        self.io(Dir::open_ambient_dir(self.root, ambient_authority()))
    }

    /// The directory that holds a path and the path's last part; `None` when there is no such directory.
    fn parent<'p>(&self, top: &Dir, path: &'p [u8]) -> Result<Option<(Dir, &'p OsStr)>, GitError> {
        let name = |bytes: &'p [u8]| OsStr::from_bytes(bytes);
        let Some(slash) = path.iter().rposition(|b| *b == b'/') else {
            return Ok(Some((self.io(top.try_clone())?, name(path))));
        };
        let mut dir = self.io(top.try_clone())?;
        for part in path[..slash].split(|b| *b == b'/') {
            dir = match open_folder(&dir, name(part)) {
                Ok(next) => next,
                // Not there, or no directory: nothing of ours is behind it.
                Err(_) => return Ok(None),
            };
        }
        Ok(Some((dir, name(&path[slash + 1..]))))
    }

    /// Goes through one directory; as many handles are open as it is deep.
    fn untracked(&self, dir: &Dir, at: &[u8], known: &Known<'_>) -> Result<(), GitError> {
        for entry in self.io(dir.entries())? {
            let entry = self.io(entry)?;
            let name = entry.file_name();
            let path = joined(at, &name);
            let is_dir = self.io(entry.file_type())?.is_dir();
            if at.is_empty() && path == b".git" {
                continue;
            }
            if is_dir && known.submodules.contains(path.as_slice()) {
                self.empty(&self.io(open_folder(dir, &name))?)?;
            } else if is_dir && known.dirs.contains(path.as_slice()) {
                self.untracked(&self.io(open_folder(dir, &name))?, &path, known)?;
            } else if is_dir || !known.files.contains(path.as_slice()) {
                self.evict(dir, &name)?;
            }
        }
        Ok(())
    }

    fn empty(&self, dir: &Dir) -> Result<(), GitError> {
        let entries: Vec<DirEntry> = self.io(self.io(dir.entries())?.collect())?;
        entries.iter().try_for_each(|entry| self.evict(dir, &entry.file_name()))
    }

    fn evict(&self, dir: &Dir, name: &OsStr) -> Result<(), GitError> {
        let number = self.count.get();
        self.count.set(number + 1);
        self.io(dir.rename(name, &self.into, number.to_string()))
    }
}

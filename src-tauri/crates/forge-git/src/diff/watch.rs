//! Whether anything a list depends on has changed since it was made, found out without asking git.
//!
//! Looked at are: the settings and what else outside of the worktree has a say, the index, every file in it, every
//! folder that is not ignored (a new file, or one gone, changes its folder), every untracked file of the list, and
//! whatever is named `.gitignore` or `.gitattributes`. A list is shown again only when each of these was last
//! changed before git was asked, surely (see `stamp`); from then on it is enough that none changed. Where this does not
//! tell everything nothing is remembered: repositories inside the worktree, an index of another kind.

use std::collections::HashSet;
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::change::{Changes, RawChange};
use crate::bytes;
use crate::index_paths::{Listed, Marks, Paths};
use crate::settings::Settings;
use crate::stamp::{Bound, Devices, Moment, Print, Stamps, Unproven, c_path};

mod begin;

/// More paths outside of the index are not watched.
const PATHS: usize = 20_000;
/// Files whose stamps are taken by one thread at a time.
const SHARE: usize = 500;
const RULES: [&str; 2] = [".gitignore", ".gitattributes"];

/// What was known before git was asked for a list.
#[derive(Debug, Clone)]
pub(super) struct Begun {
    moment: Moment,
    settings: Arc<Settings>,
    /// Of the settings: also what was not there.
    outside: Print,
}

/// What must stay as it is for a list to hold.
#[derive(Debug)]
pub(super) struct Watch {
    settings: Arc<Settings>,
    /// The worktree whose tracked files count.
    worktree: Option<PathBuf>,
    /// The index that lists them, by the repository's record: the worktree's `.git` may lead to a lent directory.
    index: Option<PathBuf>,
    /// Whatever else counts.
    paths: Vec<PathBuf>,
    print: Print,
    /// The files of the list, which most often are what changes next: then the rest need not be looked at.
    listed: Arc<Changes>,
    first: Print,
}

impl Watch {
    /// Whether all is as it was.
    pub(super) fn holds(&self) -> bool {
        std::thread::scope(|scope| {
            let index = scope.spawn(|| self.index());
            self.look_at_listed(None) == Ok(self.first)
                && self.look(None, index.join().unwrap_or(Err(Unproven))) == Ok(self.print)
        })
    }

    /// The worktree's index; none where none counts.
    fn index(&self) -> Result<Option<Paths>, Unproven> {
        let Some(index) = &self.index else { return Ok(None) };
        let paths = Paths::read(index).ok().flatten();
        paths.map(Some).ok_or(Unproven)
    }

    fn look_at_listed(&self, bound: Option<Bound>) -> Result<Print, Unproven> {
        let Some(worktree) = &self.worktree else { return Ok(Print::default()) };
        let root = File::open(worktree).map_err(|_| Unproven)?;
        let mut stamps = Stamps::new(bound, worktree);
        for raw in self.listed.values() {
            stamps.at(root.as_fd(), &c_path(bytes::of(&raw.path))?)?;
        }
        stamps.print()
    }

    /// The print of all that counts; with a bound, only when all of it is older.
    fn look(&self, bound: Option<Bound>, index: Result<Option<Paths>, Unproven>) -> Result<Print, Unproven> {
        let mut stamps = Stamps::new(bound, Path::new("/"));
        self.settings.stamp(&mut stamps)?;
        if let (Some(worktree), Some(paths)) = (&self.worktree, index?) {
            tracked(worktree, &paths, &mut stamps, bound)?;
        }
        let here = File::open("/").map_err(|_| Unproven)?;
        for path in &self.paths {
            let found = stamps.at(here.as_fd(), &c_path(bytes::of(path))?)?;
            // Of what is not there its folder says since when.
            if let (None, Some(bound), Some(folder)) = (found, bound, existing(path)) {
                Stamps::new(Some(bound), Path::new("/")).of(folder)?;
            }
        }
        stamps.print()
    }
}

fn existing(path: &Path) -> Option<&Path> {
    path.ancestors().skip(1).find(|folder| folder.symlink_metadata().is_ok())
}

/// Whether the changed files were last changed before a moment.
fn is_older(worktree: &Path, moment: Moment, changes: &Changes) -> Option<()> {
    let bound = moment.bound()?;
    let root = File::open(worktree).ok()?;
    let mut stamps = Stamps::new(Some(bound), worktree);
    let mut look = |raw: &RawChange| stamps.at(root.as_fd(), &c_path(bytes::of(&raw.path))?).map(drop);
    changes.values().try_for_each(&mut look).ok()
}

/// Takes the stamps of all tracked files and the folders that they lie in.
fn tracked(
    worktree: &Path,
    paths: &Paths,
    stamps: &mut Stamps,
    bound: Option<Bound>,
) -> Result<(), Unproven> {
    let root = File::open(worktree).map_err(|_| Unproven)?;
    stamps.of(worktree)?;
    let mut all: Vec<Listed<'_>> = paths.iter().collect();
    paths.folders(|path| all.push(Listed { path, marks: Marks::default() }));
    let shares: Vec<&[Listed<'_>]> = all.chunks(SHARE).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, 8);
    let each = shares.len().div_ceil(threads).max(1);
    let taken: Vec<Result<_, Unproven>> = std::thread::scope(|scope| {
        let work = |part: &[&[Listed<'_>]]| {
            part.iter().map(|share| take(worktree, root.as_fd(), share, bound)).collect()
        };
        let running: Vec<_> =
            shares.chunks(each).map(|part| scope.spawn(move || -> Vec<_> { work(part) })).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap_or_else(|_| vec![Err(Unproven)])).collect()
    });
    for share in taken {
        let (print, devices) = share?;
        stamps.add(print, devices);
    }
    Ok(())
}

fn take(
    worktree: &Path,
    root: BorrowedFd<'_>,
    share: &[Listed<'_>],
    bound: Option<Bound>,
) -> Result<(Print, Devices), Unproven> {
    let mut stamps = Stamps::new(bound, worktree);
    let mut name = Vec::new();
    for listed in share {
        name.clear();
        name.extend_from_slice(listed.path);
        name.push(0);
        let path = std::ffi::CStr::from_bytes_with_nul(&name).map_err(|_| Unproven)?;
        stamps.at(root, path)?;
        // Where a submodule stands only git can tell.
        if listed.marks.submodule
            && worktree.join(bytes::path(listed.path)).join(".git").symlink_metadata().is_ok()
        {
            return Err(Unproven);
        }
    }
    Ok(stamps.parts())
}

/// What lies in some folders.
#[derive(Default)]
struct Inside {
    /// Folders without tracked files.
    folders: Vec<PathBuf>,
    /// Files with rules about others.
    rules: Vec<PathBuf>,
}

/// `None` when there is a repository, or something cannot be read.
fn inside(worktree: &Path, folders: &[PathBuf], tracked: &HashSet<PathBuf>) -> Option<Inside> {
    let mut found = Inside::default();
    for folder in folders {
        let entries = match std::fs::read_dir(worktree.join(folder)) {
            Ok(entries) => entries,
            // Tracked files may be gone with their folder.
            Err(error) if tracked.contains(folder) && is_absence(error.kind()) => {
                continue;
            }
            Err(_) => return None,
        };
        for entry in entries {
            let entry = entry.ok()?;
            let name = entry.file_name();
            if name.as_bytes() == b".git" {
                if folder.as_os_str().is_empty() {
                    continue;
                }
                return None;
            }
            if entry.file_type().ok()?.is_dir() {
                let path = folder.join(&name);
                if !tracked.contains(&path) {
                    found.folders.push(path);
                }
            } else if RULES.iter().any(|rules| name.as_bytes() == rules.as_bytes()) {
                found.rules.push(folder.join(&name));
            }
        }
    }
    (found.folders.len() <= PATHS).then_some(found)
}

const fn is_absence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Where git looks for attributes of files that differ between commits: in the main work tree.
fn attribute_files(root: &Path, changes: &Changes) -> Vec<PathBuf> {
    let mut folders: HashSet<&Path> = HashSet::new();
    for raw in changes.values() {
        let old = raw.change.old_path.as_deref().map(Path::new);
        let both = [Some(raw.path.as_path()), old];
        folders.extend(both.into_iter().flatten().flat_map(|path| path.ancestors().skip(1)));
    }
    folders.into_iter().map(|folder| root.join(folder).join(".gitattributes")).collect()
}

#[cfg(test)]
mod tests;
